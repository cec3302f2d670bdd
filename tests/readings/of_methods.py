"""What special methods read, each of which Python calls by itself."""

from __future__ import annotations

import functools
import itertools
import math
import operator

import numpy as np

from .kit import READINGS, Holder

# ruff: noqa: PLC3002, FURB192, E501


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
