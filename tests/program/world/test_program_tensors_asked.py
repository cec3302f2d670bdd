"""What Python asks of a tensor in a compiled function: its class, attributes, type; and who listens to it."""

from __future__ import annotations

import numpy as np
import pytest

import tape

W = tape.tensor([3.0, 4.0])
FLOAT = tape.tensor([1.0, 2.0, 3.0])


def on_tensors(f, *args):
    """What a function gives, as text, and the attributes that its arguments have then."""
    return str(f(*args)), [{k: v for k, v in vars(x).items() if k[0] != "_" or k == "_mine"} for x in args]


def named(x, name="scale"):
    z = x * 2
    setattr(z, name, 3)
    return z


def counted(x):
    COUNTER.n = getattr(COUNTER, "n", 0) + 1
    return x * COUNTER.n


COUNTER = tape.tensor([1.0])
ASKED = {
    "its class": lambda x, y: x * (2 if x.__class__ is tape.Tensor else 3),
    "the class of one from outside": lambda x, y: x * (2 if W.__class__ is tape.Tensor else 3),
    "its text": lambda x, y: f"{x}, {x!r}, {x!s}, %s" % x,
    "the text of one from outside": lambda x, y: f"{W}",
    "an attribute": lambda x, y: x * x.scale,
    "an attribute that it may have": lambda x, y: x * getattr(x, "scale", 1) * getattr(y, "other", 3),
    "whether it has one": lambda x, y: x * (2 if hasattr(x, "other") else 3),
    "its attributes": lambda x, y: x * ("scale" in vars(x)),
    "where it lies": lambda x, y: x * x.storage_offset() + x.untyped_storage().nbytes(),
    "its hash": lambda x, y: x * len({x, y}),
    "a value by it": lambda x, y: x * {x: 2}.get(y, 3),
    "the same in order": lambda x, y: x * (2 if x.contiguous() is x else 3),
    "shared memory": lambda x, y: x * (2 if np.shares_memory(x, y) else 3),
}


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("f", ASKED.values(), ids=ASKED)
def test_what_python_asks_of_a_tensor_is_its_own_answer(f):
    x, fast = FLOAT[1:], tape.compile(f)
    x.scale = 4
    assert on_tensors(fast, x, x) == on_tensors(f, x, x) == on_tensors(fast, x, x)


MARKED = {
    "an argument": lambda x: (setattr(x, "seen", True), x * 2)[1],
    "an argument, hidden": lambda x: (setattr(x, "_mine", True), x * 2)[1],
    "counted": lambda x: (tape.autograd.graph.increment_version(x), x * 2)[1],
}


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("f", MARKED.values(), ids=MARKED)
def test_what_a_function_gives_to_a_tensor_it_gives_in_every_call(f):
    fast, found = tape.compile(f), []
    for g in (f, fast, fast):
        x = tape.tensor([1.0, 2.0])
        found.append((on_tensors(g, x), x._version))
    assert found[0] == found[1] == found[2]


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_results_and_tensors_from_outside_keep_the_attributes_that_a_function_gives():
    fast = tape.compile(named)
    assert fast(FLOAT).scale == fast(FLOAT).scale == 3
    fast = tape.compile(counted)
    assert [fast(FLOAT).tolist() for _ in range(3)] == [(FLOAT * n).tolist() for n in (1, 2, 3)]
    assert COUNTER.n == 3


FRESH = tape.tensor([1.0, 2.0])
OF_OUTSIDE = {
    "an attribute": (lambda x, w: x * getattr(w, "scale", 1), lambda w: setattr(w, "scale", 9)),
    "changes": (lambda x, w: x * (w._version + 1), lambda w: w.add_(1)),
    "the base": (lambda x, w: x * float(w._base[2]), lambda w: w._base.fill_(7.0)),
    "attributes": (lambda x, w: x * len(vars(w)), lambda w: setattr(w, "scale", 9)),
}


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize(("f", "change"), OF_OUTSIDE.values(), ids=OF_OUTSIDE)
def test_a_tensor_from_outside_is_asked_anew(f, change):
    w = tape.tensor([1.0, 2.0, 3.0])[:2]

    def g(x):
        return f(x, w)

    fast = tape.compile(g)
    assert fast(FRESH).tolist() == fast(FRESH).tolist() == g(FRESH).tolist()
    change(w)
    assert fast(FRESH).tolist() == g(FRESH).tolist()


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_inference_mode_is_asked_anew():
    fast = tape.compile(lambda x: x * (2 if tape.is_inference_mode_enabled() else 3))
    assert fast(FRESH).tolist() == [3.0, 6.0]
    with tape.inference_mode():
        assert fast(FRESH).tolist() == [2.0, 4.0]


class Own(tape.Tensor):
    """A class of the user's."""

    def sum(self, *args, **kwargs):
        return tape.tensor(42.0)


def own(*values):
    x = tape.tensor(values)
    x.__class__ = Own
    return x


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_tensors_of_a_class_of_the_users_have_its_rules():
    fast, x = tape.compile(lambda x: x.sum()), tape.tensor([1.0, 2.0])
    assert [fast(x).item(), fast(own(1.0, 2.0)).item(), fast(x).item(), fast(own(1.0)).item()] == [3, 42, 3, 42]
    p = own(3.0, 4.0)
    for f in (lambda x: x * float(p[0]), lambda x: (p.add_(1), x * p)[1], lambda x: x * p.sum()):
        fast = tape.compile(f)
        p.fill_(-5.0)
        fast(x)
        p.fill_(2.0)
        found = fast(x).tolist(), p.tolist()
        p.fill_(2.0)
        assert found == (f(x).tolist(), p.tolist())


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("before", [False, True], ids=["first", "later"])
def test_hooks_see_what_a_compiled_function_saves(before):
    def hooked(c):
        x, saved = tape.tensor([1.0, 2.0], requires_grad=True), []
        if before:
            c(x)
        with tape.autograd.graph.saved_tensors_hooks(lambda t: (saved.append(t), t)[1], lambda t: t * 2):
            y = c(x)
        return tape.autograd.grad(y, x)[0].tolist(), len(saved), tape.autograd.grad(c(x), x)[0].tolist()

    def within(x):
        with tape.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 2):
            return (x * x).sum()

    def cubes(x):
        return (x * x * x).sum()

    for f in (cubes, within):
        assert hooked(tape.compile(f)) == hooked(f)


KINDS = {
    "its type": lambda x: x * (2 if type(x) is tape.Tensor else 3),
    "the type of one from outside": lambda x: x * (2 if type(W) is tape.Tensor else 3),
    "by name": lambda x: x * len(type(x * 2).__name__),
    "in a dict": lambda x: x * {tape.Tensor: 2}.get(type(x), 3),
    "of all": lambda x: x * (2 if all(kind is tape.Tensor for kind in map(type, [x, W])) else 3),
    "of others": lambda x: x * (2 if isinstance(int, type) and type(int) is type else 3),
}


@pytest.mark.filterwarnings("error:tape.compile runs")
@pytest.mark.parametrize("f", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("dtype", [tape.float64, tape.float16])
def test_the_type_of_a_tensor_is_told(f, dtype):
    x = tape.tensor([1.0, 2.0], dtype=dtype)
    assert tape.compile(f)(x).tolist() == f(x).tolist()
    assert "type" not in globals()


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("captured", [True, False], ids=["closure", "global"])
def test_a_tensor_around_that_gets_another_class_is_noticed(captured):
    inner, outer = tape.tensor([1.0, 2.0]), W

    def of_closure(x):
        return x * (inner.sum() if type(inner) is tape.Tensor else 5)

    def of_global(x):
        return x * (W.sum() if type(W) is tape.Tensor else 5)

    f, w = (of_closure, inner) if captured else (of_global, outer)
    fast = tape.compile(f)
    assert fast(FLOAT).tolist() == fast(FLOAT).tolist() == f(FLOAT).tolist()
    try:
        w.__class__ = Own
        assert fast(FLOAT).tolist() == fast(FLOAT).tolist() == f(FLOAT).tolist() == (FLOAT * 5).tolist()
    finally:
        w.__class__ = tape.Tensor
    assert fast(FLOAT).tolist() == f(FLOAT).tolist()


TOLD = {
    "shape": lambda t: t.shape[0],
    "size": lambda t: sum(t.size()),
    "numel": lambda t: t.numel(),
    "len": len,
    "ndim": lambda t: t.ndim,
    "dtype": lambda t: t.dtype.itemsize,
    "bytes": lambda t: t.nbytes,
    "shape of another": lambda t: t.reshape(-1).shape[0],
    "stride": lambda t: t.stride()[0],
    "contiguous": lambda t: 1 + t.is_contiguous(),
    "stride of a view": lambda t: t[:1].stride()[0],
}
BECOMES = {
    "longer": lambda t: setattr(t, "data", tape.ones(5, 2, dtype=tape.float64)),
    "shorter": lambda t: t.resize_(1, 2),
    "of another dtype": lambda t: setattr(t, "data", tape.ones(3, 2, dtype=tape.float32)),
    "of more axes": lambda t: t.unsqueeze_(0),
    "laid otherwise": lambda t: setattr(t, "data", tape.ones(2, 3, dtype=tape.float64).T),
    "with gaps": lambda t: setattr(t, "data", tape.ones(3, 4, dtype=tape.float64)[:, ::2]),
}


@pytest.mark.parametrize("ask", TOLD)
@pytest.mark.parametrize("change", BECOMES)
@pytest.mark.parametrize("x", [np.ones(3), tape.ones(3)], ids=["array", "tensor"])
@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_what_a_tensor_from_outside_is_when_it_was_given_other_data(ask, change, x):
    """Read of it alone, so that it is no operand whose shape a replay verifies."""
    t = tape.zeros(3, 2, dtype=tape.float64)
    f = lambda x: x * TOLD[ask](t)  # noqa: E731
    fast = tape.compile(f)
    for _ in range(2):
        for _ in range(3):
            assert np.array_equal(np.asarray(fast(x)), np.asarray(f(x)))
        BECOMES[change](t)
    assert np.array_equal(np.asarray(tape.compile(f)(x)), np.asarray(f(x)))
