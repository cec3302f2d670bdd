"""Attributes, slots, classes and their classes."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import enum
import json
import operator
import sys
import types
import typing

import numpy as np
import scipy.interpolate
import scipy.sparse

import tape

from .kit import Holder, Plain, reading, simple

# ruff: noqa: PLC3002


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


@typing.runtime_checkable
class Weighed(typing.Protocol):
    weight: float

    def weigh(self): ...


def two_namespaces():
    return [types.SimpleNamespace(k=2.0, parts=[1.0]) for _ in range(2)]


def weighed(kind):
    """Let the objects of a class fit the protocol."""
    kind.weight = 1.0
    kind.weigh = lambda self: self.weight


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
simple(
    "metaclass_replaced", lambda: Meta("Own", (), {}), lambda k: k.scale,
    lambda k: setattr(k, "__class__", type("Other", (Meta,), {"scale": 5.0})),
)  # fmt: skip
simple("metaclass_len", lambda: Meta("Own", (), {}), len, lambda k: setattr(k, "scale", 5.0))
simple("instancecheck", lambda: Meta("Own", (), {}), lambda k: 1.0 + isinstance(1, k), lambda k: setattr(k, "scale", 5))
simple(
    "protocol", lambda: type("Own", (Plain,), {}), lambda k: 1.0 + isinstance(k(), Weighed), weighed,
)  # fmt: skip
simple(
    "instancecheck_of_several", lambda: Meta("Own", (), {}) | Slotted, lambda u: 1.0 + isinstance(1, u),
    lambda u: setattr(u.__args__[0], "scale", 5),
)  # fmt: skip
simple(
    "names_of_fields",
    lambda: np.dtype([("k", float)]),
    lambda d: len(d.names[0]),
    lambda d: setattr(d, "names", ("key",)),
)
simple(
    "names_of_inner_fields", lambda: np.dtype([("k", [("k", float)])]), lambda d: len(d["k"].names[0]),
    lambda d: setattr(d["k"], "names", ("key",)),
)  # fmt: skip
simple("descriptor", Holder, lambda h: h.described, lambda h: Holder.__dict__["described"].values.update(k=5.0))
simple("nested", lambda: [{"a": [Plain()]}], lambda t: t[0]["a"][0].k, lambda t: setattr(t[0]["a"][0], "k", 5.0))
simple("exception", lambda: ValueError(2.0), lambda e: e.args[0], lambda e: setattr(e, "args", (5.0,)))
simple("exception_attribute", lambda: KeyError(2.0), lambda e: getattr(e, "k", 1.0), lambda e: setattr(e, "k", 5.0))
simple("namespace", lambda: types.SimpleNamespace(k=2.0), lambda n: n.k, lambda n: setattr(n, "k", 5.0))
simple("arguments_of_a_command", lambda: argparse.Namespace(k=2.0), lambda n: n.k, lambda n: setattr(n, "k", 5.0))
simple("arguments_among", lambda: argparse.Namespace(k=2.0), lambda n: 2.0 + ("j" in n), lambda n: setattr(n, "j", 5.0))
simple("namespace_equal", two_namespaces, lambda n: 2.0 + (n[0] == n[1]), lambda n: setattr(n[1], "k", 5.0))
simple("namespace_among", two_namespaces, lambda n: 2.0 + (n[1] in n[:1]), lambda n: setattr(n[1], "k", 5.0))
simple("namespace_counted", two_namespaces, lambda n: n[:1].count(n[1]), lambda n: setattr(n[1], "k", 5.0))
simple("namespace_by_operator", two_namespaces, lambda n: 2.0 + operator.eq(*n), lambda n: setattr(n[1], "k", 5.0))
simple("namespace_inside", two_namespaces, lambda n: 2.0 + (n[0] == n[1]), lambda n: n[1].parts.append(5.0))
simple("namespace_text", two_namespaces, lambda n: len(repr(n[0])), lambda n: setattr(n[0], "k", "five times five"))
simple(
    "type_hints", lambda: type("Hinted", (), {"__annotations__": {"a": float}}),
    lambda c: len(typing.get_type_hints(c)), lambda c: c.__annotations__.update({f"b{len(c.__annotations__)}": int}),
)  # fmt: skip
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
