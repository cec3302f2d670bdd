"""Lists, dicts, sets, iterators, and values in them."""

from __future__ import annotations

import array
import collections
import contextvars
import ctypes
import datetime
import fractions
import itertools
import math
import re
import threading
import types
import weakref

from .kit import Plain, simple

# ruff: noqa: PLC3002

simple("list", lambda: [1.0, 2.0], lambda t: t[-1], lambda t: t.append(5.0))
simple("long_list", lambda: [2.0] * 5000, lambda t: t[4000], lambda t: t.__setitem__(4000, 5.0))
simple("very_long_list", lambda: [2.0] * 100_000, lambda t: t[99_000], lambda t: t.__setitem__(99_000, 5.0))
simple("list_of_lists", lambda: [[2.0]], lambda t: t[0][0], lambda t: t[0].__setitem__(0, 5.0))
simple(
    "type_of_number", lambda: [2], lambda t: 7 // t[0] if type(t[0]) is int else 9.0, lambda t: t.__setitem__(0, 2.0)
)
simple("zero", lambda: [0.0], lambda t: math.copysign(1.0, t[0]), lambda t: t.__setitem__(0, -0.0))
simple("dict", lambda: {"k": 2.0}, lambda t: t["k"], lambda t: t.update(k=5.0))
simple("dict_order", lambda: {"a": 2.0, "b": 5.0}, lambda t: next(iter(t.values())), lambda t: t.update(a=t.pop("a")))
simple("dict_key", lambda: {1: 2.0}, lambda t: t.get(2, 7.0), lambda t: t.__setitem__(2, 5.0))
simple("set", lambda: {2.0}, sum, lambda t: t.add(5.0))
simple("deque", lambda: collections.deque([2.0]), lambda t: t[-1], lambda t: t.append(5.0))
simple("user_dict", lambda: collections.UserDict(k=2.0), lambda t: t["k"], lambda t: t.update(k=5.0))
simple("user_list", lambda: collections.UserList([2.0]), lambda t: t[0], lambda t: t.__setitem__(0, 5.0))
simple("chain_map", lambda: collections.ChainMap({}, {"k": 2.0}), lambda t: t["k"], lambda t: t.update(k=5.0))
simple("default_dict", lambda: collections.defaultdict(float), lambda t: t.get("k", 2.0), lambda t: t.update(k=5.0))
simple("default_dict_factory", lambda: collections.defaultdict(lambda: 2.0), lambda t: t.default_factory(),
       lambda t: setattr(t, "default_factory", lambda: 5.0))  # fmt: skip
simple("counter", lambda: collections.Counter("aab"), lambda t: t["a"], lambda t: t.update("a"))
simple("ordered_dict", lambda: collections.OrderedDict(a=2.0, b=5.0), lambda t: next(iter(t.values())),
       lambda t: t.move_to_end("a"))  # fmt: skip
simple("proxy", lambda: (lambda d: (types.MappingProxyType(d), d))({"k": 2.0}), lambda t: t[0]["k"],
       lambda t: t[1].update(k=5.0))  # fmt: skip
simple("keys_view", lambda: (lambda d: (d.values(), d))({"k": 2.0}), lambda t: sum(t[0]), lambda t: t[1].update(k=5.0))
simple("array_array", lambda: array.array("d", [2.0]), lambda t: t[0], lambda t: t.__setitem__(0, 5.0))
simple("bytearray", lambda: bytearray(b"\x02"), lambda t: t[0], lambda t: t.__setitem__(0, 5))
simple("memoryview", lambda: memoryview(bytearray(b"\x02")), lambda t: t[0], lambda t: t.__setitem__(0, 5))
simple("list_subclass", lambda: type("Own", (list,), {})([2.0]), lambda t: t[0], lambda t: t.__setitem__(0, 5.0))
simple("dict_subclass", lambda: type("Own", (dict,), {})(k=2.0), lambda t: t["k"], lambda t: t.update(k=5.0))
simple("in_a_tuple", lambda: ([2.0],), lambda t: t[0][0], lambda t: t[0].__setitem__(0, 5.0))
simple("ctypes", lambda: ctypes.c_double(2.0), lambda t: t.value, lambda t: setattr(t, "value", 5.0))
simple("weak", lambda: (lambda p: (p, weakref.ref(p)))(Plain()), lambda t: t[1]().k, lambda t: setattr(t[0], "k", 5.0))
simple("weak_proxy", lambda: (lambda p: (p, weakref.proxy(p)))(Plain()), lambda t: t[1].k,
       lambda t: setattr(t[0], "k", 5.0))  # fmt: skip
simple("thread_local", threading.local, lambda t: getattr(t, "k", 2.0), lambda t: setattr(t, "k", 5.0))
simple("context_var", lambda: contextvars.ContextVar("k", default=2.0), lambda t: t.get(), lambda t: t.set(5.0))
simple("iterator", lambda: itertools.count(), lambda t: float(repr(t)[6:-1]), next)
simple(
    "fraction",
    lambda: [fractions.Fraction(2)],
    lambda t: float(t[0]),
    lambda t: t.__setitem__(0, fractions.Fraction(5)),
)
simple(
    "date",
    lambda: [datetime.date(2020, 1, 2)],
    lambda t: t[0].day,
    lambda t: t.__setitem__(0, datetime.date(2020, 1, 5)),
)
simple(
    "pattern",
    lambda: [re.compile("a+")],
    lambda t: len(t[0].match("aab")[0]),
    lambda t: t.__setitem__(0, re.compile("a")),
)
