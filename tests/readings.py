"""What a Python function can read from around itself, and what changes that: a list to be read as a hostile one.

Each entry makes a function of an array and something that changes what the function reads.
"""

from __future__ import annotations

import array
import builtins
import collections
import contextlib
import contextvars
import copy
import ctypes
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import gc
import inspect
import itertools
import json
import math
import operator
import os
import random
import re
import sys
import tempfile
import threading
import types
import warnings
import weakref
from pathlib import Path

import numpy as np
import scipy.interpolate
import scipy.sparse

import tape

# ruff: noqa: PLC3002, FURB192, E501
READINGS = {}
GLOBAL = 2.0
LATER = {"k": 2.0}


def reading(make):
    """Register a maker of a function and of its change."""
    READINGS[make.__name__] = make
    return make


def simple(name, thing, read, change):
    """Register what reads one thing, made by `thing`."""

    def make():
        held = thing()
        return (lambda x: x * read(held)), (lambda: change(held))

    READINGS[name] = make


class Plain:
    c = 2.0

    def __init__(self, k=2.0):
        self.k = k


class Slotted:
    __slots__ = ("__dict__", "k")

    def __init__(self):
        self.k = 2.0


class Meta(type):
    scale = 2.0

    def __getattr__(cls, name):
        return cls.scale

    def __len__(cls):
        return int(cls.scale)

    def __instancecheck__(cls, thing):
        return cls.scale > 3


class Data:
    """A descriptor."""

    def __init__(self):
        self.values = {}

    def __get__(self, thing, owner=None):
        return self.values.get("k", 2.0)


class Holder:
    """Special methods, each of which reads `c`."""

    described = Data()

    def __init__(self):
        self.c = [2.0, 3.0]
        self.inner = Plain()

    def first(self, *_):
        return self.c[0]

    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __truediv__ = __pow__ = __matmul__ = __rmatmul__ = first
    __neg__ = __abs__ = __float__ = __call__ = __enter__ = __missing__ = first
    __array_ufunc__ = None

    def __getitem__(self, key):
        return self.c[key]

    def __len__(self):
        return len(self.c)

    def __iter__(self):
        return iter(self.c)

    def __contains__(self, value):
        return value in self.c

    def __bool__(self):
        return self.c[0] < 3

    def __eq__(self, other):
        return self.c[0] == other

    def __lt__(self, other):
        return self.c[0] < other

    def __hash__(self):
        return int(self.c[0])

    def __index__(self):
        return int(self.c[0])

    def __round__(self, digits=0):
        return self.c[0]

    def __repr__(self):
        return str(self.c[0])

    def __format__(self, spec):
        return str(self.c[0])

    def __exit__(self, *_):
        return False

    def __reversed__(self):
        return iter(self.c[:1])

    @property
    def prop(self):
        return self.c[0]

    @classmethod
    def of_class(cls):
        return cls.described

    def __getattr__(self, name):
        if name.startswith("made_up"):
            return self.c[0]
        raise AttributeError(name)


def with_holder(read):
    def make():
        held = Holder()
        return (lambda x: x * read(held)), lambda: setattr(held, "c", [5.0, 2.0, 1.0])

    return make


def entered(held):
    with held as value:
        return value


for _name, _read in {
    "add": lambda h: h + 1, "radd": lambda h: 1 + h, "mul": lambda h: h * 1, "sub": lambda h: h - 1,
    "pow": lambda h: h**1, "matmul": lambda h: h @ 1, "neg": lambda h: -h, "abs": abs, "float": float,
    "call": lambda h: h(), "getitem": lambda h: h[0], "len": len, "iter": sum, "contains": lambda h: float(5.0 in h),
    "bool": lambda h: 1.0 if h else 2.0, "eq": lambda h: float(h == 5.0), "lt": lambda h: float(h < 3),
    "hash": hash, "index": lambda h: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0][h], "round": round, "repr": lambda h: float(repr(h)),
    "format": lambda h: float(f"{h}"), "str_format": lambda h: float(f"{h.inner.k}") * float(h),
    "enter": entered, "reversed": lambda h: sum(reversed(h)), "property": lambda h: h.prop,
    "getattr_method": lambda h: h.made_up, "getattr_by_name": lambda h: getattr(h, "made_up" + "_2"),
    "sorted_key": lambda h: sorted([1.0, 2.0], key=lambda v: abs(v - h.c[0]))[0], "map": lambda h: sum(map(h, [1])),
    "max_of": lambda h: max(h), "unpack": lambda h: (lambda a, *b: a)(*h), "array_of": lambda h: np.array(list(h))[0],
    "fsum": lambda h: math.fsum(h), "chain": lambda h: sum(itertools.chain(h, h)), "bound": lambda h: h.first(),
    "math_float": lambda h: math.sqrt(h), "np_of_object": lambda h: float(np.float64(h)), "reduce":
    lambda h: functools.reduce(operator.add, h), "dunder_call": lambda h: type(h).__len__(h), "any": lambda h: 1 + any(
        v > 4 for v in h), "attrgetter": lambda h: operator.attrgetter("prop")(h), "methodcaller":
    lambda h: operator.methodcaller("first")(h), "object_getattribute": lambda h: object.__getattribute__(h, "c")[0],
}.items():  # fmt: skip
    READINGS["special_" + _name] = with_holder(_read)


# Objects, classes, names.

simple("attribute", Plain, lambda p: p.k, lambda p: setattr(p, "k", 5.0))
simple("attribute_by_dict", Plain, lambda p: p.k, lambda p: p.__dict__.update(k=5.0))
simple("dict_replaced", Plain, lambda p: p.k, lambda p: setattr(p, "__dict__", {"k": 5.0}))
simple("vars", Plain, lambda p: sum(vars(p).values()), lambda p: setattr(p, "new", 5.0))
simple("dir", Plain, lambda p: len(dir(p)), lambda p: setattr(p, "new", 5.0))
simple("hasattr", Plain, lambda p: 1.0 + hasattr(p, "new"), lambda p: setattr(p, "new", 5.0))
simple("getattr_default", Plain, lambda p: getattr(p, "new", 2.0), lambda p: setattr(p, "new", 5.0))
simple("deleted", lambda: Plain(), lambda p: getattr(p, "k", 7.0), lambda p: vars(p).pop("k", 0))
simple("slots", Slotted, lambda p: p.k, lambda p: setattr(p, "k", 5.0))
simple("class_attribute", lambda: type("Own", (Plain,), {}), lambda k: k().c, lambda k: setattr(k, "c", 5.0))
simple("class_changed", Plain, lambda p: p.c, lambda p: setattr(p, "__class__", type("Own", (Plain,), {"c": 5.0})))
simple("metaclass", lambda: Meta("Own", (), {}), lambda k: k.anything, lambda k: setattr(k, "scale", 5.0))
simple("metaclass_len", lambda: Meta("Own", (), {}), len, lambda k: setattr(k, "scale", 5.0))
simple("instancecheck", lambda: Meta("Own", (), {}), lambda k: 1.0 + isinstance(1, k), lambda k: setattr(k, "scale", 5))
simple("descriptor", Holder, lambda h: h.described, lambda h: Holder.__dict__["described"].values.update(k=5.0))
simple("nested", lambda: [{"a": [Plain()]}], lambda t: t[0]["a"][0].k, lambda t: setattr(t[0]["a"][0], "k", 5.0))
simple("exception", lambda: ValueError(2.0), lambda e: e.args[0], lambda e: setattr(e, "args", (5.0,)))
simple("exception_attribute", lambda: KeyError(2.0), lambda e: getattr(e, "k", 1.0), lambda e: setattr(e, "k", 5.0))
simple("namespace", lambda: types.SimpleNamespace(k=2.0), lambda n: n.k, lambda n: setattr(n, "k", 5.0))
simple("deep", lambda: Plain(Plain(Plain(Plain()))), lambda p: p.k.k.k.k, lambda p: setattr(p.k.k.k, "k", 5.0))


@reading
def bases_changed():
    one, two = type("One", (), {"k": 2.0}), type("Two", (), {"k": 5.0})
    own = type("Own", (one,), {})
    thing = own()
    return (lambda x: x * thing.k), lambda: setattr(own, "__bases__", (two,))


@reading
def method_replaced():
    own = type("Own", (), {"k": lambda self: 2.0})
    thing = own()
    return (lambda x: x * thing.k()), lambda: setattr(own, "k", lambda self: 5.0)


@reading
def method_of_the_object():
    thing = Holder()
    return (lambda x: x * thing.first()), lambda: setattr(thing, "first", lambda: 5.0)


@reading
def getattribute():
    class Own:
        def __init__(self):
            self.values = [2.0]

        def __getattribute__(self, name):
            return object.__getattribute__(self, "values")[0] if name == "k" else object.__getattribute__(self, name)

    own = Own()
    return (lambda x: x * own.k), lambda: own.values.__setitem__(0, 5.0)


@reading
def dataclass_fields():
    own = dataclasses.make_dataclass("Own", [("k", float, 2.0)])()
    return (lambda x: x * dataclasses.astuple(own)[0]), lambda: setattr(own, "k", 5.0)


@reading
def default_factory():
    made = [2.0]
    own = dataclasses.make_dataclass("Own", [("k", float, dataclasses.field(default_factory=lambda: made[0]))])
    return (lambda x: x * own().k), lambda: made.__setitem__(0, 5.0)


@reading
def enum_value():
    class Own(enum.Enum):
        A = 2.0

    return (lambda x: x * Own.A.value), lambda: setattr(Own.A, "_value_", 5.0)


@reading
def match_class():
    own = dataclasses.make_dataclass("Own", [("k", float, 2.0)])()

    def f(x):
        match own:
            case Plain():
                return x
            case object(k=2.0):
                return x * 2
            case _:
                return x * 5

    return f, lambda: setattr(own, "k", 5.0)


@reading
def a_copy():
    held = Plain([2.0])
    return (lambda x: x * copy.deepcopy(held).k[0]), lambda: held.k.__setitem__(0, 5.0)


@reading
def as_json():
    held = {"k": [2.0]}
    return (lambda x: x * json.loads(json.dumps(held))["k"][0]), lambda: held["k"].__setitem__(0, 5.0)


@reading
def cause_of_an_exception():
    held = ValueError("a")
    held.__cause__ = ValueError(2.0)
    return (lambda x: x * held.__cause__.args[0]), lambda: setattr(held, "__cause__", ValueError(5.0))


@reading
def class_gets_a_special_method():
    own = type("Own", (), {})()
    return (lambda x: x * (2.0 if own else 5.0)), lambda: setattr(type(own), "__bool__", lambda self: False)


@reading
def metaclass_call():
    k = [2.0]
    meta = type("Meta", (type,), {"__call__": lambda cls: k[0]})
    own = meta("Own", (), {})
    return (lambda x: x * own()), lambda: k.__setitem__(0, 5.0)


@reading
def init_subclass():
    k = [2.0]

    class Own:
        def __init_subclass__(cls):
            cls.k = k[0]

    def f(x):
        class More(Own):
            pass

        return x * More.k

    return f, lambda: k.__setitem__(0, 5.0)


simple(
    "name_of_a_class",
    lambda: type("Own", (), {}),
    lambda k: len(k.__name__),
    lambda k: setattr(k, "__name__", "Longer"),
)
simple(
    "text_of_a_class",
    lambda: type("Own", (), {}),
    lambda k: len(str(k)),
    lambda k: setattr(k, "__qualname__", "Longer"),
)
simple("name_of_a_function", lambda: lambda: 0, lambda g: len(g.__name__), lambda g: setattr(g, "__name__", "g"))
simple(
    "annotations", lambda: Holder.first, lambda g: 1 + len(g.__annotations__), lambda g: g.__annotations__.update(k=1)
)
simple("writeable", lambda: np.ones(3), lambda a: 1 + a.flags.writeable, lambda a: a.setflags(write=False))
simple("module_attribute_added", lambda: sys, lambda m: 1 + hasattr(m, "readings"), lambda m: setattr(m, "readings", 1))
simple("spline", lambda: scipy.interpolate.CubicSpline(np.arange(4.0), np.arange(4.0) ** 2), lambda s: float(s(1.5)),
       lambda s: s.c.__imul__(2))  # fmt: skip
simple("program", lambda: (lambda w: (w, tape.record(lambda x: x * w, 1.0)))(np.array(2.0)), lambda t: t[1](1.0),
       lambda t: t[0].fill(5.0))  # fmt: skip


@reading
def custom_function():
    k = [2.0]

    class Own(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * k[0]

    return (lambda x: Own.apply(tape.tensor(np.asarray(x))).numpy()), lambda: k.__setitem__(0, 5.0)


simple("slice", lambda: slice([2.0]), lambda s: s.stop[0], lambda s: s.stop.__setitem__(0, 5.0))
simple("generic_alias", lambda: types.GenericAlias(list, ([2.0],)), lambda g: g.__args__[0][0],
       lambda g: g.__args__[0].__setitem__(0, 5.0))  # fmt: skip
simple("missing_key", lambda: type("Own", (dict,), {"v": [2.0], "__missing__": lambda self, key: self.v[0]})(),
       lambda d: d["k"], lambda d: d.v.__setitem__(0, 5.0))  # fmt: skip


# Functions.


@reading
def function_that_claims_to_be_a_library():
    space = {"__name__": "numpy.linalg", "k": [2.0]}
    exec("def g(): return k[0]", space)
    g = space["g"]
    return (lambda x: x * g()), lambda: space["k"].__setitem__(0, 5.0)


@reading
def getattr_under_another_name():
    held, functions = Plain(), [getattr]
    return (lambda x: x * functions[0](held, "".join(["k"]))), lambda: setattr(held, "k", 5.0)


@reading
def operator_call():
    k = [2.0]
    g = lambda: k[0]  # noqa: E731
    return (lambda x: x * operator.call(g)), lambda: k.__setitem__(0, 5.0)


@reading
def ufunc_of_python():
    k = [2.0]
    u = np.frompyfunc(lambda v: v * k[0], 1, 1)
    return (lambda x: x * float(u(1.0))), lambda: k.__setitem__(0, 5.0)


@reading
def global_name():
    return (lambda x: x * GLOBAL), lambda: globals().__setitem__("GLOBAL", GLOBAL + 1)


@reading
def global_deleted_and_builtin():
    globals()["abs"] = lambda v: 2.0
    return (lambda x: x * abs(-7.0)), lambda: globals().pop("abs", 0)


@reading
def builtin_shadowed():
    globals().pop("divmod", None)
    return (lambda x: x * divmod(7.0, 2.0)[0]), lambda: globals().__setitem__("divmod", lambda a, b: (9.0, 1.0))


@reading
def enclosed():
    k = 2.0

    def change():
        nonlocal k
        k = 5.0

    return (lambda x: x * k), change


@reading
def enclosed_deeper():
    k = 2.0

    def change():
        nonlocal k
        k = 5.0

    return (lambda x: (lambda: sum(k * v for v in x))()), change


@reading
def defaults():
    def f(x, k=2.0):
        return x * k

    return f, lambda: setattr(f, "__defaults__", (5.0,))


@reading
def mutable_default():
    def f(x, k=[2.0]):  # noqa: B006
        return x * k[0]

    return f, lambda: f.__defaults__[0].__setitem__(0, 5.0)


@reading
def keyword_defaults():
    def f(x, *, k=2.0):
        return x * k

    return f, lambda: f.__kwdefaults__.update(k=5.0)


@reading
def code_replaced():
    def g():
        return 2.0

    return (lambda x: x * g()), lambda: setattr(g, "__code__", (lambda: 5.0).__code__)


@reading
def own_code_replaced():
    def f(x):
        return x * 2.0

    return f, lambda: setattr(f, "__code__", (lambda x: x * 5.0).__code__)


@reading
def attribute_of_a_function():
    def g():
        return g.k

    g.k = 2.0
    return (lambda x: x * g()), lambda: setattr(g, "k", 5.0)


@reading
def partial_keywords():
    p = functools.partial(lambda x, k: x * k, k=2.0)
    return p, lambda: p.keywords.update(k=5.0)


@reading
def partial_state():
    p = functools.partial(lambda k: k, 2.0)
    return (lambda x: x * p()), lambda: p.__setstate__((lambda k: k + 1, (5.0,), {}, None))


@reading
def decorated():
    k = [2.0]

    def twice(g):
        @functools.wraps(g)
        def inner(x):
            return g(x) * k[0]

        return inner

    return twice(lambda x: x), lambda: k.__setitem__(0, 5.0)


@reading
def lru_cached():
    held = functools.lru_cache(None)(lambda: [2.0])
    return (lambda x: x * held()[0]), lambda: held().__setitem__(0, 5.0)


@reading
def cached_property():
    class Own:
        @functools.cached_property
        def k(self):
            return [2.0]

    own = Own()
    return (lambda x: x * own.k[0]), lambda: own.k.__setitem__(0, 5.0)


@reading
def single_dispatch():
    @functools.singledispatch
    def g(v):
        return 2.0

    return (lambda x: x * g(1)), lambda: g.register(int, lambda v: 5.0)


@reading
def context_manager():
    k = [2.0]

    @contextlib.contextmanager
    def managed():
        yield k[0]

    def f(x):
        with managed() as v:
            return x * v

    return f, lambda: k.__setitem__(0, 5.0)


@reading
def generator_function():
    k = [2.0, 3.0]

    def values():
        yield from k

    return (lambda x: x * sum(values())), lambda: k.append(5.0)


@reading
def handed_to_vectorize():
    k = [2.0]
    return (lambda x: x * np.vectorize(lambda v: v * k[0])(1.0)), lambda: k.__setitem__(0, 5.0)


@reading
def monkeypatched_numpy():
    own = types.ModuleType("numpy_like")
    own.sin = lambda v: v * 2.0
    return (lambda x: own.sin(x)), lambda: setattr(own, "sin", lambda v: v * 5.0)


# Containers.

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

# Arrays.

simple("array", lambda: np.full(3, 2.0), lambda a: a.max(), lambda a: a.fill(5.0))
simple("array_0d", lambda: np.array(2.0), float, lambda a: a.fill(5.0))
simple("large_array", lambda: np.full(300_000, 2.0), lambda a: a.max(), lambda a: a.__setitem__(777, 5.0))
simple("swapped_rows", lambda: np.eye(2048)[:256], lambda a: 1.0 + a.argmax(1)[0],
       lambda a: a.__setitem__([0, 1], a[[1, 0]]))  # fmt: skip
simple("strided", lambda: np.arange(40.0)[::2], lambda a: a.max(), lambda a: a.fill(5.0))
simple("array_shape", lambda: np.ones((2, 3)), lambda a: a.shape[0], lambda a: setattr(a, "shape", (3, 2)))
simple("read_only_view", lambda: (lambda a: (a, np.broadcast_to(a, 3)))(np.array([2.0])), lambda t: t[1].max(),
       lambda t: t[0].fill(5.0))  # fmt: skip
simple("object_array", lambda: np.array([2.0, "a"], object), lambda a: a[0], lambda a: a.__setitem__(0, 5.0))
simple("structured", lambda: np.zeros(2, [("k", float)]), lambda a: 1 + a["k"][0], lambda a: a.__setitem__(0, (5.0,)))
simple("record", lambda: np.zeros(2, [("k", float)])[0], lambda r: 1 + r["k"], lambda r: r.__setitem__("k", 5.0))
simple("text_array", lambda: np.array(["aa", "b"]), lambda a: len(a[0]), lambda a: a.__setitem__(0, "b"))
simple(
    "masked",
    lambda: np.ma.masked_array([2.0, 3.0], [0, 0]),
    lambda a: float(a.sum()),
    lambda a: a.__setitem__(0, np.ma.masked),
)
simple("matrix", lambda: np.asmatrix(np.eye(2)), lambda a: float(a.max()), lambda a: a.fill(5.0))
simple(
    "array_subclass",
    lambda: np.eye(2).view(type("Own", (np.ndarray,), {})),
    lambda a: float(a.max()),
    lambda a: a.fill(5),
)
simple("sparse", lambda: scipy.sparse.csr_matrix(np.eye(3)), lambda s: float(s.sum()), lambda s: s.data.fill(5.0))
simple(
    "sparse_dot", lambda: scipy.sparse.coo_matrix(np.eye(3)), lambda s: (s @ np.ones(3))[0], lambda s: s.data.fill(5.0)
)
simple("frombuffer", lambda: (lambda b: (b, np.frombuffer(b)))(bytearray(8)), lambda t: 1 + t[1][0],
       lambda t: t[0].__setitem__(slice(None), np.array([5.0]).tobytes()))  # fmt: skip
simple("poly1d", lambda: np.poly1d([2.0, 1.0]), lambda p: p(1.0), lambda p: p.coeffs.__setitem__(0, 5.0))
simple("flat", lambda: (lambda a: (a, a.flat))(np.full(2, 2.0)), lambda t: t[1][0], lambda t: t[0].fill(5.0))
simple(
    "both", lambda: np.full(20_000, 2.0), lambda a: a.max() + (a * tape.tensor(1.0)).sum().item(), lambda a: a.fill(5.0)
)


# The system.


@reading
def imported_inside():
    module = sys.modules["readings_settings"] = types.ModuleType("readings_settings")
    module.k = 2.0

    def f(x):
        import readings_settings

        return x * readings_settings.k

    return f, lambda: setattr(module, "k", 5.0)


@reading
def imported_from():
    module = sys.modules["readings_settings"] = types.ModuleType("readings_settings")
    module.k = 2.0

    def f(x):
        from readings_settings import k

        return x * k

    return f, lambda: setattr(module, "k", 5.0)


@reading
def module_replaced():
    sys.modules["readings_settings"] = one = types.ModuleType("readings_settings")
    two = types.ModuleType("readings_settings")
    one.k, two.k = 2.0, 5.0

    def f(x):
        import readings_settings as settings

        return x * settings.k

    return f, lambda: sys.modules.update(readings_settings=two)


@reading
def module_getattr():
    module, values = types.ModuleType("lazy"), {"k": 2.0}
    module.__getattr__ = lambda name: values[name]
    return (lambda x: x * module.k), lambda: values.update(k=5.0)


@reading
def module_by_name():
    module = types.ModuleType("settings")
    module.k = 2.0
    return (lambda x: x * getattr(module, "".join("k"))), lambda: setattr(module, "k", 5.0)


@reading
def scope_by_name():
    return (lambda x: x * globals()["LATER"]["k"]), lambda: LATER.update(k=LATER["k"] + 1)


@reading
def evaluated():
    return (lambda x: x * eval("LATER['k']")), lambda: LATER.update(k=LATER["k"] + 1)


@reading
def executed():
    def f(x):
        space = {"x": x, "LATER": LATER}
        exec("y = x * LATER['k']", space)
        return space["y"]

    return f, lambda: LATER.update(k=LATER["k"] + 1)


@reading
def frames():
    def f(x):
        return x * inspect.currentframe().f_globals["LATER"]["k"]

    return f, lambda: LATER.update(k=LATER["k"] + 1)


@reading
def scope_of_a_function():
    def g():
        return LATER

    return (lambda x: x * g.__globals__["LATER"]["k"]), lambda: LATER.update(k=LATER["k"] + 1)


@reading
def cell_by_hand():
    k = 2.0

    def g():
        return k

    cell = g.__closure__[0]
    return (lambda x: x * cell.cell_contents), lambda: setattr(cell, "cell_contents", 5.0)


@reading
def modules():
    return (lambda x: x * len([n for n in sys.modules if n.startswith("zz_")])), lambda: sys.modules.update(
        {f"zz_{len(sys.modules)}": types}
    )


@reading
def arguments_of_the_program():
    return (lambda x: x * len(sys.argv)), lambda: sys.argv.append("more")


@reading
def recursion_limit():
    return (lambda x: x * sys.getrecursionlimit()), lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 1)


@reading
def environment():
    os.environ["READINGS"] = "2"
    return (lambda x: x * float(os.environ["READINGS"])), lambda: os.environ.update(READINGS="5")


@reading
def environment_by_function():
    os.environ["READINGS"] = "2"
    return (lambda x: x * float(os.getenv("READINGS"))), lambda: os.environ.update(READINGS="5")


@reading
def file():
    path = Path(tempfile.mkdtemp(), "k")
    path.write_text("2")
    return (lambda x: x * float(path.read_text())), lambda: path.write_text("5")


@reading
def file_opened():
    path = Path(tempfile.mkdtemp(), "k")
    path.write_text("2")

    def f(x):
        with open(path) as stream:
            return x * float(stream.read())

    return f, lambda: path.write_text("5")


@reading
def file_of_numbers():
    path = Path(tempfile.mkdtemp(), "k.npy")
    np.save(path, np.array(2.0))
    return (lambda x: x * float(np.load(path))), lambda: np.save(path, np.array(5.0))


@reading
def mapped_file():
    path = Path(tempfile.mkdtemp(), "k.npy")
    held = np.memmap(path, float, "w+", shape=2)
    other = np.memmap(path, float, "r+", shape=2)
    return (lambda x: x * (1 + held[0])), lambda: other.fill(5.0)


@reading
def files_there():
    path = Path(tempfile.mkdtemp(), "k")
    return (lambda x: x * (1.0 + os.path.exists(path))), lambda: path.write_text("5")


@reading
def print_options():
    return (lambda x: x * len(np.array2string(np.array([1 / 3])))), lambda: np.set_printoptions(
        precision=np.get_printoptions()["precision"] % 8 + 1
    )


@reading
def print_options_of_text():
    held = np.array([1 / 3])
    return (lambda x: x * len(str(held))), lambda: np.set_printoptions(
        precision=np.get_printoptions()["precision"] % 8 + 1
    )


@reading
def error_state():
    def change():
        np.seterr(divide="ignore" if np.geterr()["divide"] == "warn" else "warn")

    return (lambda x: x * len(np.geterr()["divide"])), change


@reading
def decimal_context():
    return (lambda x: x * len(str(decimal.Decimal(1) / 3))), lambda: setattr(
        decimal.getcontext(), "prec", decimal.getcontext().prec % 20 + 2
    )


@reading
def warning_filters():
    return (lambda x: x * len(warnings.filters)), lambda: warnings.simplefilter("ignore", BytesWarning, append=True)


@reading
def garbage():
    return (lambda x: x * gc.get_threshold()[0]), lambda: gc.set_threshold(gc.get_threshold()[0] + 1)


@reading
def identity():
    held = [Plain(), Plain()]
    return (lambda x: x * (id(held[0]) % 9973)), lambda: held.reverse()


@reading
def reference_count():
    held, kept = Plain(), []
    return (lambda x: x * sys.getrefcount(held)), lambda: kept.append(held)


@reading
def subclasses():
    own, kept = type("Own", (), {}), []
    return (lambda x: x * len(own.__subclasses__())), lambda: kept.append(type("More", (own,), {}))


@reading
def registered():
    import abc

    own = abc.ABCMeta("Own", (), {})
    return (lambda x: x * (1.0 + isinstance(1.5, own))), lambda: own.register(float)


@reading
def traceback():
    def f(x):
        try:
            raise ValueError
        except ValueError as error:
            return x * error.__traceback__.tb_frame.f_globals["LATER"]["k"]

    return f, lambda: LATER.update(k=LATER["k"] + 1)


@reading
def patched_builtin():
    builtins.readings_k = 2.0
    return (lambda x: x * readings_k), lambda: setattr(builtins, "readings_k", 5.0)  # noqa: F821


@reading
def patched_math():
    before = math.erf

    def change():
        math.erf = lambda v: before(v) + 1

    math.erf = getattr(before, "plain", before)
    return (lambda x: x * math.erf(1.0)), change


@reading
def state_of_a_generator():
    rng = np.random.default_rng(0)
    return (lambda x: x * rng.bit_generator.state["state"]["state"] % 9973), lambda: rng.normal()


@reading
def default_dtype():
    return (lambda x: x + tape.ones(3).numpy().itemsize), lambda: tape.set_default_dtype("float32")


DRAWS = {
    "numpy": lambda x: x + np.random.rand(),  # noqa: NPY002
    "python": lambda x: x + random.random(),
    "own_generator": lambda x: x + GENERATOR.normal(),
    "bits": lambda x: x + np.random.Generator(BITS).normal(),
    "unseeded": lambda x: x + np.random.default_rng().normal(),
    "unseeded_python": lambda x: x + random.Random().random(),
    "unseeded_by_a_variable": lambda x, seed=None: x + random.Random(seed).random(),
    "system": lambda x: x + random.SystemRandom().random(),
    "shuffled": lambda x: x + sorted([1, 2, 3, 4, 5, 6, 7, 8, 9], key=lambda v: random.random())[0] + random.random(),
}
GENERATOR, BITS = np.random.default_rng(0), np.random.PCG64(3)
