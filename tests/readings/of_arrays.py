"""Arrays and what holds their numbers."""

from __future__ import annotations

import numpy as np
import scipy.interpolate
import scipy.sparse

import tape

from .kit import reading, simple

# ruff: noqa: PLC3002

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


@reading
def what_a_view_is_of():
    whole = np.arange(1.0, 10.0)
    view = whole[2:5]
    return (lambda x: x * view.base[0]), lambda: whole.__setitem__(0, 5.0)


@reading
def beyond_a_view():
    whole = np.arange(1.0, 10.0)
    view = whole[2:5]
    return (lambda x: x * np.lib.stride_tricks.as_strided(view, (5,))[4]), lambda: whole.__setitem__(6, 5.0)


@reading
def what_a_buffer_is_of():
    whole = bytearray(b"\x02abc")
    view = memoryview(whole)[1:]
    return (lambda x: x * view.obj[0]), lambda: whole.__setitem__(0, 5)


@reading
def names_of_fields():
    held = np.zeros(2, [("a", float), ("b", float)])
    held["b"] = 3.0
    return (lambda x: x * (1 + held["a"][0])), lambda: setattr(held.dtype, "names", ("b", "a"))
