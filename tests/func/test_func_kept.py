"""What a function kept of an earlier derivative is a constant in the next one, and that is told, not passed over."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from common.covering import covering

import tape
from tape.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from tape.recording import kept_values

X = np.array([0.5, 0.3, 0.8])


@pytest.fixture(autouse=True)
def nothing_told_so_far(monkeypatch):
    monkeypatch.setattr(kept_values, "_told", set())


DERIVATIVES = {
    "grad": grad,
    "grad_and_value": lambda f: lambda x: grad_and_value(f)(x)[0],
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "hessian": hessian,
    "jvp": lambda f: lambda x: jvp(f, (x,), (np.ones(3),)),
    "vjp": lambda f: lambda x: vjp(f, x)[1](np.float64(1.0)),
    "linearize": lambda f: lambda x: linearize(f, x)[1](np.ones(3)),
    "jacobian": lambda f: lambda x: tape.autograd.functional.jacobian(f, x),
}


def of_a_dict():
    known = {}

    def f(x):
        if x.shape not in known:
            known[x.shape] = np.sin(x)
        return (known[x.shape] * x).sum()

    return f


def of_a_cache():
    @functools.lru_cache
    def sine(t):
        return np.sin(t)

    return lambda x: sum(sine(t) * t for t in x)


def as_a_whole():
    @functools.cache
    def f(*ts):
        return sum(t * t for t in ts)

    return lambda x: f(*x)


def of_the_argument():
    last = []

    def f(x):
        last.append(x)
        return (x * last[0]).sum()

    return f


@pytest.mark.parametrize(
    ("make", "first", "second"),
    covering([of_a_dict, of_a_cache, as_a_whole, of_the_argument], DERIVATIVES, DERIVATIVES),
)
def test_what_an_earlier_derivative_left_is_told(make, first, second):
    f = make()
    DERIVATIVES[first](f)(X)  # of which nothing is told
    with pytest.warns(UserWarning, match="kept of an earlier call"):
        DERIVATIVES[second](f)(X)


def test_lanes_that_were_kept_are_told():
    f = of_the_argument()
    vmap(f)(np.array([X, X]))
    with pytest.warns(UserWarning, match="kept of an earlier call"):
        vmap(f)(np.array([X, X]))


def test_the_line_that_computed_it_is_named():
    f = of_a_dict()
    grad(f)(X)
    with pytest.warns(UserWarning, match=r"known\[x.shape\] = np.sin"):
        grad(f)(X)


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_constants_numbers_and_what_decides_are_not_told(derivative):
    known = {"best": np.inf}

    def f(x):
        loss = (x**3).sum()
        known.setdefault("weights", np.ones(3) * 2)
        known.setdefault("start", tape.stop_gradient(x * 2))
        if loss < known["best"]:
            known["best"] = loss
        return loss * known["weights"].sum() + (x * known["start"]).sum()

    for _ in range(2):
        DERIVATIVES[derivative](f)(X)


def test_what_is_kept_within_one_derivative_is_not_told():
    def f(x):
        seen = []
        inner = grad(lambda y: seen.append(y * 2) or (y**3).sum())(np.ones(3))
        return (x * seen[0] * inner).sum()

    np.testing.assert_allclose(grad(f)(X), 3 * 2 * np.ones(3))


WITHIN = {
    **{name: of for name, of in DERIVATIVES.items() if name not in ("grad_and_value", "jvp", "vjp", "jacobian")},
    "jvp": lambda f: lambda x: jvp(f, (x,), (np.ones(3),))[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](np.float64(1.0))[0],
    "lanes": lambda f: lambda x: vmap(grad(f))(np.ones((2, 1)) * x)[0],
}
OUTER = {
    "grad": grad, "jacrev": jacrev, "jacfwd": jacfwd, "vmap": lambda f: lambda x: vmap(f)(x[None]),
    "compiled": lambda f: tape.compile(grad(f)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize(
    ("outer", "earlier", "later", "point"), covering(OUTER, WITHIN, WITHIN, ["its own", "another"], meet=3)
)
def test_what_an_earlier_derivative_within_the_same_one_left_is_told(outer, earlier, later, point):
    f = of_a_dict()

    def both(x):
        filled = WITHIN[earlier](f)(x if point == "its own" else np.ones(3))
        return filled.sum() + WITHIN[later](f)(x).sum()

    with pytest.warns((UserWarning, RuntimeWarning), match="kept of an earlier call"):  # or why it is not compiled
        OUTER[outer](both)(X)


def newton(x):
    """Derivatives at points that depend on earlier ones."""
    for _ in range(2):
        x = x - 0.1 * grad(lambda y: np.sin(y).sum())(x)
    return jvp(lambda y: (y * x).sum(), (x,), (x,))[1]


def with_a_value(x):
    found, value = grad_and_value(lambda y: (y**3).sum())(x)
    return grad(lambda y: (y * value * found).sum())(x).sum()


def beside(x):
    found, (_, aux) = grad_and_value(lambda y: ((y**3).sum(), np.sin(y)), has_aux=True)(x)
    return jacfwd(lambda y: (y * aux * found).sum())(x).sum()


def pulled(x):
    z, pull = vjp(lambda y: np.sin(y) * y, x)
    return grad(lambda v: (pull(v)[0] * z).sum())(x).sum()


def pushed(x):
    z, push = linearize(lambda y: np.sin(y) * y, x)
    return grad(lambda v: (push(v) * z).sum())(x).sum()


def afterwards(x):
    kept = []
    grad(lambda y: kept.append(np.sin(y)) or (y**2).sum())(x)
    z = kept[0] * x  # of which the outer derivative is right
    return grad(lambda y: (y * z).sum())(x).sum()


@pytest.mark.parametrize("outer", ["grad", "jacrev", "compiled"])
@pytest.mark.parametrize("f", [newton, with_a_value, beside, pulled, pushed, afterwards])
def test_what_earlier_derivatives_gave_is_not_told(f, outer):
    OUTER[outer](f)(X)


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_a_function_that_raised_is_none_that_runs(derivative):
    def raises(x):
        raise ArithmeticError

    with pytest.raises(ArithmeticError) as held:  # with its frames
        DERIVATIVES[derivative](raises)(X)
    f = of_a_dict()
    DERIVATIVES[derivative](f)(X)
    with pytest.warns(UserWarning, match="kept of an earlier call"):
        grad(f)(X)
    assert held


@pytest.mark.parametrize("outer", [jacfwd, lambda f: lambda x: jvp(f, (x,), (np.ones(3),))])
@pytest.mark.parametrize("inner", [grad, jacrev, lambda f: lambda x: vjp(f, x)[1](np.float64(1.0))[0]])
def test_derivatives_taken_within_one_are_none_of_the_past(outer, inner):
    """Also where something around the function requires grad, so that the result has a history."""
    t = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
    found = outer(inner(lambda x: (x**3 * t).sum()))(X)
    found = found[1] if isinstance(found, tuple) else found
    expected = 6.0 * X * np.arange(1.0, 4.0)
    np.testing.assert_allclose(found.detach().numpy(), np.diag(expected) if found.ndim == 2 else expected, rtol=1e-12)


COMPILED = {
    "alone": lambda f: f,
    **{name: of for name, of in WITHIN.items() if name != "linearize"},
    "vmap": lambda f: lambda x: vmap(f)(x[None])[0],
    "jacobian": lambda f: lambda x: tape.autograd.functional.jacobian(f, x),
}


def of_an_attribute():
    class Held:
        sine = None

    def f(x):
        Held.sine = np.sin(x) if Held.sine is None else Held.sine
        return (Held.sine * x).sum()

    return lambda: f


def of_a_dict_around():
    f = of_a_dict()
    return lambda: f


def of_the_call():
    return of_a_dict


def told_by(call):
    """What a call gives, and whether it told of something that was kept."""
    kept_values._told.clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = call(X)
    return found, any("kept of an earlier call" in str(one.message) for one in told)


@pytest.mark.parametrize(
    ("outer", "earlier", "later", "make", "point"),
    covering(
        COMPILED,
        ["grad", "jacfwd", "jvp", "hessian", "jacobian"],
        ["grad", "jacrev", "jvp", "vmap"],
        [of_a_dict_around, of_an_attribute, of_the_call],
        ["its own", "another"],
        meet=3,
    ),
)
def test_a_compiled_function_tells_of_what_its_derivatives_kept_as_it_does_by_itself(
    outer, earlier, later, make, point
):
    found, is_told = told_by(tape.compile(COMPILED[outer](two_within(make(), earlier, later, point))))
    expected, is_expected = told_by(COMPILED[outer](two_within(make(), earlier, later, point)))
    np.testing.assert_allclose(found, expected)
    assert is_told == is_expected


def two_within(make, earlier, later, point):
    """A function that takes two derivatives of one that keeps something, at points that may depend on x."""

    def both(x):
        f = make()
        return COMPILED[earlier](f)(x if point == "its own" else np.ones(3)).sum() + COMPILED[later](f)(x).sum()

    return both


def pullback_within(x, t):
    _, pull = vjp(lambda y: y**3, x)
    return lambda u: (pull(u * u)[0] * u).sum(), 9 * x**2 * t**2


def pullback_of_dict_within(x, t):
    _, pull = vjp(lambda y: {"z": y["x"] ** 3}, {"x": x})
    return lambda u: (pull({"z": u * u})[0]["x"] * u).sum(), 9 * x**2 * t**2


def linearized_within(x, t):
    _, push = linearize(lambda y: y**3, x)
    return lambda u: (push(u * u) * u).sum(), 9 * x**2 * t**2


def pulled_before(x, t):
    _, pull = vjp(lambda y: y**3, x)
    return lambda u: (grad(lambda v: (pull(v * u)[0] * v).sum())(u) * u).sum(), 18 * x**2 * t**2


@pytest.mark.parametrize("kind", [np.asarray, tape.tensor])
@pytest.mark.parametrize("derivative", ["grad", "jacrev", "vjp", "grad_and_value"])
@pytest.mark.parametrize(
    "make", [pullback_within, pullback_of_dict_within, linearized_within, pulled_before], ids=lambda f: f.__name__
)
def test_pullbacks_from_before_a_derivative_leave_no_history_in_it_and_are_not_told(make, derivative, kind):
    t = np.array([1.0, 2.0, -1.0])
    f, expected = make(kind(X), kind(t))
    of = {**DERIVATIVES, "vjp": lambda f: lambda x: vjp(f, x)[1](kind(np.float64(1.0)))[0]}[derivative]
    found = of(f)(kind(t))
    np.testing.assert_allclose(found, expected)
    assert not getattr(found, "requires_grad", False)


@pytest.mark.parametrize("derivative", ["grad", "jacrev"])
@pytest.mark.parametrize("around", [vjp, linearize])
def test_what_is_kept_of_a_function_is_told_though_its_pullback_is_kept_too(around, derivative):
    kept = []

    def f(y):
        kept.append(y.sin())
        return y**3

    x = tape.tensor(X)
    _, pull = around(f, x)
    with pytest.warns(UserWarning, match="kept of an earlier call"):
        found = DERIVATIVES[derivative](lambda u: (kept[0] * u).sum())(x)
    np.testing.assert_allclose(found, np.sin(X))
    assert not found.requires_grad
    assert pull is not None


@pytest.mark.parametrize("around", [vjp, linearize])
@pytest.mark.parametrize("derivative", ["grad", "jacrev"])
def test_a_pullback_from_within_a_derivative_gives_plain_numbers_outside_of_it(derivative, around):
    kept = []
    x, ones = tape.tensor(X), tape.ones(3, dtype=tape.float64)

    def f(y):
        _, pull = around(lambda t: t**3 * y, x)
        kept.append(pull)
        found = pull(ones)
        return ((found[0] if around is vjp else found) * y).sum()

    DERIVATIVES[derivative](f)(ones)
    with pytest.warns(UserWarning, match="kept of an earlier call"):
        found = kept[0](ones)
    found = found[0] if around is vjp else found
    np.testing.assert_allclose(found, 3 * X**2)
    assert not found.requires_grad
