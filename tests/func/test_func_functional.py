"""`autograd.functional` within other derivatives: its own history, what it keeps of a function, and what it gives."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.base.tree import leaves_of
from tape.func import grad, jacfwd, jacrev, jvp, linearize, vmap
from tape.recording import kept_values

X = np.array([0.5, 0.3, 0.8])


@pytest.fixture(autouse=True)
def nothing_told_so_far(monkeypatch):
    monkeypatch.setattr(kept_values, "_told", set())


OUTER = {
    "grad": grad, "jacrev": jacrev, "compiled": lambda f: tape.compile(grad(f)),
}  # fmt: skip


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ["jacobian", "hessian", "vjp", "jvp", "hvp", "vhp"])
def test_derivatives_of_the_functional_module_are_recorded_for_all_numbers(name, create_graph):
    of = getattr(tape.autograd.functional, name)

    def derivative(x):
        vectors = () if name in ("jacobian", "hessian") else (x * 0 + 1,) if name != "vjp" else (None,)
        return of(lambda y: (y.sin() * y).sum(), x, *vectors, create_graph=create_graph)

    compiled = tape.compile(derivative)
    for k in range(3):
        x = tape.tensor([k, 0.5], requires_grad=True)
        for found, expected in zip(leaves_of(compiled(x)), leaves_of(derivative(x)), strict=True):
            np.testing.assert_allclose(found.detach(), expected.detach())
            assert found.requires_grad == expected.requires_grad == create_graph
    assert len(compiled.programs) == 1


FUNCTIONAL = {
    "jacobian": lambda f, x: tape.autograd.functional.jacobian(f, x),
    "forward": lambda f, x: tape.autograd.functional.jacobian(f, x, strategy="forward-mode"),
    "hessian": lambda f, x: tape.autograd.functional.hessian(f, x),
    "vjp": lambda f, x: tape.autograd.functional.vjp(f, x)[1],
    "jvp": lambda f, x: tape.autograd.functional.jvp(f, x, x)[1],
    "hvp": lambda f, x: tape.autograd.functional.hvp(f, x, x)[1],
    "vhp": lambda f, x: tape.autograd.functional.vhp(f, x, x)[1],
}
USED = {
    "at once": lambda kept, x: (kept() * x).sum(),
    "in lanes": lambda kept, x: vmap(lambda t: kept() * t)(x[None]).sum(),
    "in directions": lambda kept, x: jvp(lambda t: (kept() * t).sum(), (x,), (x,))[1],
    "in a derivative": lambda kept, x: grad(lambda t: (kept() * t).sum())(x).sum(),
}


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("outer", ["grad", "jacrev", "functional", "compiled"])
@pytest.mark.parametrize("used", USED)
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_what_a_derivative_without_a_history_kept_is_told_in_the_one_around_it(name, used, outer):
    of = {**OUTER, "functional": lambda f: lambda x: tape.autograd.functional.jacobian(f, x)}[outer]

    def both(x):
        known = {}

        def f(y):
            known.setdefault("sine", np.sin(y))
            return (y**3).sum()

        FUNCTIONAL[name](f, x)
        return USED[used](lambda: known["sine"], x)

    with pytest.warns((UserWarning, RuntimeWarning), match="kept of an earlier call"):  # or why it is not compiled
        of(both)(X)


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("outer", ["grad", "jacrev", "compiled"])
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_what_a_derivative_without_a_history_gives_or_kept_of_constants_is_not_told(name, outer):
    def both(x):
        known = []
        found = FUNCTIONAL[name](lambda y: known.append(y * 2) or (y**3).sum(), np.ones(3))
        return (FUNCTIONAL[name](lambda y: (y**3).sum(), x) * x).sum() + (found * x).sum()

    OUTER[outer](both)(X)


@pytest.mark.parametrize("name", ["vjp", "jvp", "hvp", "vhp", "jacobian", "hessian"])
def test_what_a_derivative_with_a_history_gives_is_not_told(name):
    of = getattr(tape.autograd.functional, name)

    def both(x):
        vectors = {"vjp": (np.ones(3),), "jacobian": (), "hessian": ()}.get(name, (x,))
        f = (lambda y: y**3) if name in ("vjp", "jvp", "jacobian") else lambda y: (y**3).sum()
        given = of(f, x, *vectors, create_graph=True)
        return grad(lambda t: sum((z * t).sum() for z in (given if isinstance(given, tuple) else (given,))))(x).sum()

    grad(both)(X)


@pytest.mark.filterwarnings("ignore:tape.compile runs .* a derivative was taken within vmap and no_grad")
@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_directions_of_what_is_around_are_nothing_that_was_kept(name, is_compiled):
    def inner(t):
        return FUNCTIONAL[name](lambda q: jacrev(lambda r: (r**2).sum() * r)(q).sum(), t).sum()

    def both(x):
        return jvp(lambda t: linearize(lambda s: inner(s) * s, t)[1](t).sum(), (x,), (x,))

    found = (tape.compile(both) if is_compiled else both)(X)
    np.testing.assert_allclose(found, both(X))


@pytest.mark.parametrize("f", [lambda y, c: y * c, lambda y, c: (y.sin() * c).sum(), lambda y, c: c * 1.0])
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians_without_create_graph_have_no_history_of_what_is_around_either(strategy, f):
    c = tape.tensor(X, requires_grad=True)
    x = tape.tensor(X, requires_grad=True)
    found = tape.autograd.functional.jacobian(lambda y: f(y, c), x, strategy=strategy)
    assert not found.requires_grad
    assert found.grad_fn is None


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
@pytest.mark.parametrize("of", ["jvp", "jacfwd"])
def test_directions_have_no_history_of_derivatives_that_were_taken_on_the_way(of, strategy, is_compiled):
    def inner(q):
        return tape.autograd.functional.jacobian(lambda y: y**3, q, create_graph=True, strategy=strategy).sum()

    def along(x):
        return jvp(inner, (x,), (x,))[1] if of == "jvp" else jacfwd(inner)(x)

    called = tape.compile(along) if is_compiled else along
    x = tape.tensor(X)
    found = called(x)
    np.testing.assert_allclose(found, (6 * X**2).sum() if of == "jvp" else 6 * X)
    assert not found.requires_grad
    assert along(tape.tensor(X, requires_grad=True)).requires_grad
