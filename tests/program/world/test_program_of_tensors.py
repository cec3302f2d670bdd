"""Compiled functions of tensors are what the functions themselves are: their numbers, dtypes, gradients and errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

W = tape.tensor([3.0, 4.0])
FLOAT = tape.tensor([1.0, 2.0, 3.0])
COMPLEX = tape.tensor([1 + 2j, 3.0])


def outcome(f, *args):
    """What a call gives: the dtype and the numbers, or the class of the error."""
    try:
        z = f(*args)
    except Exception as error:
        return type(error)
    return z.dtype, z.requires_grad, z.detach().double().tolist() if z.dtype.kind != "c" else z.tolist()


HALVES = {
    "wider": lambda x: x.double() / 3 * 70000,
    "of integers": lambda x: x.to(tape.int32) / 7,
    "complex": lambda x: tape.complex(x.float(), x.float()).abs(),
    "with others": lambda x: x * W,
    "narrow": lambda x: x * x / 3,
    "back": lambda x: (x.double() * 1.01).to(x.dtype),
}


@pytest.mark.parametrize("dtype", [tape.float16, tape.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("f", HALVES.values(), ids=HALVES)
def test_halves_that_require_grad_are_rounded_where_the_function_rounds(f, dtype):
    x = tape.tensor([10.0, 2.0], dtype=dtype, requires_grad=True)
    expected = outcome(f, x)
    for g in (tape.compile(f), tape.record(f, x)):
        assert outcome(g, x) == expected
        if expected[1]:
            (found,), (wanted,) = (tape.autograd.grad((h(x) ** 2).double().sum(), x) for h in (g, f))
            assert found.dtype == wanted.dtype
            assert_allclose(found.double().numpy(), wanted.double().numpy(), rtol=0.01)


WITHOUT_MEANING = {
    "compared": lambda z: z > 2,
    "compared with another": lambda z: z < z * 2,
    "a real number compared": lambda z: z.real >= 2j,
    "greatest": lambda z: z.max(),
    "maximum": lambda z: tape.maximum(z, z),
    "sorted": lambda z: z.sort()[0],
    "softmax": lambda z: z.softmax(0),
    "rounded": lambda z: z.round(),
    "clamped": lambda z: z.clamp(0, 1),
    "in a loop of tensors": lambda z: sum(v.relu() for v in z),
    "tried": lambda z: tried(lambda: z.max(), lambda: z.sum()),
}


def tried(first, second):
    try:
        return first()
    except TypeError:
        return second()


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("f", WITHOUT_MEANING.values(), ids=WITHOUT_MEANING)
def test_what_has_no_meaning_for_complex_numbers_is_refused(f):
    expected = outcome(f, COMPLEX)
    assert outcome(tape.compile(f), COMPLEX) == expected == outcome(tape.compile(f), COMPLEX)


def test_numpy_orders_complex_arrays():
    z = COMPLEX.numpy()
    for f in (lambda z: z > 2, lambda z: np.sort(z), lambda z: np.maximum(z, z[::-1])):
        assert tape.compile(f)(z).tolist() == f(z).tolist()


V = tape.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)
REAL = tape.tensor([1.0, 2.0], requires_grad=True)
Z = tape.tensor([1 + 0.5j, 2 - 1j], requires_grad=True)
OF_COMPLEX = {
    "a complex number": (lambda x: x * (1 + 2j), REAL),
    "a complex tensor from outside": (lambda x: (x * V) ** 2, REAL),
    "a real one from outside": (lambda z: z * z * REAL, Z),
    "absolute": (lambda z: (z * z).abs(), Z),
    "conjugate": (lambda z: z.conj() * z.real, Z),
    "elementary": (lambda z: z.exp() * z.sqrt(), Z),
    "matmul": (lambda z: z @ z, Z),
}


def squares(z):
    return (z * z.conj()).real.sum() if z.dtype.kind == "c" else (z * z).sum()


@pytest.mark.filterwarnings("error:tape.compile runs")
@pytest.mark.parametrize(("f", "x"), OF_COMPLEX.values(), ids=OF_COMPLEX)
def test_programs_with_complex_numbers_are_differentiated_twice(f, x):
    inputs = [x, V, REAL]
    found = []
    for g in (f, tape.compile(f)):
        first = tape.autograd.grad(squares(g(x)) + g(x).real.sum(), inputs, create_graph=True, materialize_grads=True)
        second = tape.autograd.grad(sum(map(squares, first)), inputs, materialize_grads=True)
        tangent = tape.func.jvp(g, (x.detach(),), (x.detach() * 2 + 1,))
        found.append([t.detach().numpy() for t in (*first, *second, *tangent)])
    for a, b in zip(*found, strict=True):
        assert a.dtype == b.dtype
        assert_allclose(a, b, rtol=1e-12)


def put(index, value):
    def f(x):
        t = x * 2
        t[index] = value(x)
        return t

    return f


PUTS = {
    "a number with an axis": put((..., 0), lambda x: x[:1]),
    "a row": put(slice(0, 1), lambda x: x.reshape(1, 3)[:, :1]),
    "a row at places": put(np.array([0, 2]), lambda x: x.reshape(1, 3)[:, :2]),
    "spread": put(slice(None), lambda x: x.reshape(1, 1, 3)[:, :, :1]),
    "all": put(..., lambda x: x.reshape(1, 1, 3)),
}


@pytest.mark.filterwarnings("error:tape.compile runs")
@pytest.mark.parametrize("f", PUTS.values(), ids=PUTS)
def test_a_value_that_is_put_may_have_more_axes_than_its_place(f):
    x = FLOAT.detach().requires_grad_()
    found = []
    for g in (f, tape.compile(f)):
        (first,) = tape.autograd.grad((g(x) ** 3).sum(), x, create_graph=True)
        (second,) = tape.autograd.grad((first * first).sum(), x)
        found.append([first.tolist(), second.tolist(), tape.func.jacfwd(g)(x.detach()).tolist()])
    assert found[0] == found[1]


LANES = tape.tensor([[1.0, 2.0], [3.0, 4.0]])
WITHIN = {
    "vmap": lambda c: tape.func.vmap(lambda x: c(lambda z: (z * x * x).sum())(W))(LANES),
    "vmap of arrays": lambda c: tape.func.vmap(lambda x: c(lambda z: (z * x * x).sum())(W.numpy()))(LANES),
    "hessian": lambda c: tape.func.hessian(lambda x: c(lambda z: (z * x * x).sum())(W))(LANES[0]),
    "grad within": lambda c: tape.func.vmap(
        lambda x: c(lambda z: tape.func.grad(lambda q: (q * x * q).sum())(z))(W)
    )(LANES),
    "returned": lambda c: tape.func.vmap(lambda x: c(lambda z: x)(W))(LANES),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("f", WITHIN.values(), ids=WITHIN)
def test_a_compiled_function_within_a_transformation_runs_as_it_is_where_it_captures_its_values(f):
    assert f(tape.compile).tolist() == f(lambda g: g).tolist()


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


VIEWED = {
    "transposed": lambda x: x.view(2, 2).t().view(4),
    "as another": lambda x: x.view(2, 2).t().view_as(x),
    "spread": lambda x: x.view(1, 4).expand(2, 4).view(8),
    "made within": lambda x: (x * 2).view(2, 2).t().view(4),
}


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("f", VIEWED.values(), ids=VIEWED)
def test_a_view_that_memory_does_not_allow_is_refused(f):
    for g in (f, tape.compile(f)):
        with pytest.raises(RuntimeError, match="view size"):
            g(tape.arange(4.0))


def filled(z):
    z.view(2, 2).t()[:1].view(2).fill_(7.0)
    return z


def test_reshaping_copies_and_views_show_their_memory():
    x = tape.arange(4.0)
    assert x.view(2, 2).t().reshape(4).tolist() == x.view(2, 2).t().reshape_as(x).tolist() == [0, 2, 1, 3]
    for g in (written := lambda x: filled(x * 1), tape.compile(written)):
        assert g(tape.arange(4.0)).tolist() == [7, 1, 7, 3]


@pytest.mark.parametrize("mode", ["trunc", "floor"])
def test_rounded_quotients_of_integers_are_integers(mode):
    x, y = tape.tensor([5, -5, 0, 7]), tape.tensor([2, 2, 1, -3])
    expected = np.trunc(x.numpy() / y.numpy()) if mode == "trunc" else x.numpy() // y.numpy()
    for f in (quotient := lambda x, y: tape.div(x, y, rounding_mode=mode), tape.compile(quotient)):
        z = f(x, y)
        assert (z.dtype, z.tolist()) == (tape.int64, expected.tolist())
        assert f(x.double(), y).dtype == tape.float64


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


PAIRS = {
    "all": lambda x, y: x * y,
    "one": lambda x, y: x * 2 + 1,
    "the other": lambda x, y: y.sin(),
    "detached": lambda x, y: x.detach() * y,
    "one of each": lambda x, y: (x * 2, y * 3)[0],
    "sorted": lambda x, y: x.sort()[0] * y.exp(),
    "a gradient": lambda x, y: tape.func.grad(lambda u: (u * u * y).sum())(x),
}


@pytest.mark.parametrize("f", PAIRS.values(), ids=PAIRS)
def test_many_gradients_at_once_are_those_of_the_function(f):
    """Of a batch, of `vmap` and of `jacrev`, with the history that they have of their own."""

    def found(g):
        x, y = (tape.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
        z = g(x, y)
        eye = tape.eye(2)
        options = {"allow_unused": True, "retain_graph": True}
        batched = tape.autograd.grad(z, [x, y], eye, is_grads_batched=True, **options)
        y_only = tape.func.jacrev(g, argnums=1)(x, y)
        back = tape.vmap(tape.func.vjp(lambda y: g(x.detach(), y), y.detach())[1])(eye)
        vectorised = tape.autograd.functional.jacobian(g, (x, y), vectorize=True)
        results = [*batched, y_only, *back, *vectorised]
        return [None if r is None else (r.requires_grad, r.detach().numpy().round(12).tolist()) for r in results]

    c = tape.compile(f)
    expected = found(f)
    assert found(c) == expected
    assert found(c) == expected


@pytest.mark.parametrize("f", PAIRS.values(), ids=PAIRS)
def test_hooks_of_several_tensors_are_called(f):
    def seen_by(g):
        x, y = (tape.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
        seen = []
        tape.autograd.graph.register_multi_grad_hook((x, y), seen.append)
        g(x, y).sum().backward()
        return [[None if g is None else g.numpy().round(12).tolist() for g in grads] for grads in seen]

    assert seen_by(tape.compile(f)) == seen_by(f)
    both = tape.compile(lambda x, y: (x * 2, y * 3))
    assert seen_by(lambda x, y: both(x, y)[1]) == [[None, [3.0, 3.0]]]


def newton(x):
    z, push = tape.func.linearize(lambda u: u * u * u - 1, x)
    for _ in range(3):
        x = push(x) + z
    return x


LINEAR = {
    "at its own point": lambda x: tape.func.linearize(lambda u: u * u, x)[1](x),
    "twice": lambda x: sum(map(tape.func.linearize(lambda u: u.sin(), x)[1], (x, x * x))),
    "again and again": newton,
    "of what has a history": lambda x: tape.func.linearize(lambda u: u * u * x, 1 - x)[1](x),
    "in all directions": lambda x: tape.vmap(tape.func.linearize(lambda u: u * u, x)[1])(tape.eye(2)),
    "nested": lambda x: tape.func.linearize(lambda u: tape.func.linearize(lambda v: v**3, u)[1](u), x)[1](x),
    "with a cotangent that is differentiated": lambda x: by_cotangent(x, tape.ones(2, requires_grad=True)),
}


def by_cotangent(x, v):
    (u,) = tape.autograd.grad(x**3, x, v, create_graph=True)
    return tape.autograd.grad(u, v, x, create_graph=True)[0]


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
def test_linearised_functions_are_what_they_are(f, requires_grad):
    if not requires_grad and f is LINEAR["with a cotangent that is differentiated"]:
        pytest.skip("the gradient that is asked for needs it")
    c = tape.compile(f)
    for numbers in ([0.5, 2.0], [-1.0, 3.0], [0.25, -0.5]):
        found = []
        for g in (f, c):
            x = tape.tensor(numbers, requires_grad=requires_grad)
            z = g(x)
            assert z.requires_grad == requires_grad
            first = tape.autograd.grad(z.sum(), x, create_graph=True)[0] if requires_grad else x
            second = tape.autograd.grad(first.sum(), x)[0] if first.requires_grad and requires_grad else x
            found.append([t.detach().numpy() for t in (z, first, second)])
        for ours, theirs in zip(*found, strict=True):
            assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
