"""SciPy's functions on recorded values: what is computed is SciPy's, what is differentiated agrees with differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.special
import scipy.stats
from differences import check_smooth
from numpy.testing import assert_allclose
from samples import ELEMENTWISE, known, samples

import tape
from ops import REGISTRY
from tape.recording.numpy_bridge import op_for

X = np.array([0.5, 0.3, 0.8])
ANSWERING = [(op, name) for op in REGISTRY.values() for name in op.scipy]
special, linalg = scipy.special, scipy.linalg


def spread(x):
    """A regular matrix of a vector, without coinciding eigenvalues."""
    return np.outer(x, x) + np.diag([2.0, 3.0, 5.0])


@pytest.mark.parametrize(("op", "name"), ANSWERING, ids=[name for _, name in ANSWERING])
def test_an_op_gives_what_the_function_gives_on_both_faces(op, name):
    function = getattr(special, name)
    if not isinstance(function, np.ufunc):
        assert name == "zeta"  # which is Python around a ufunc: it has a door
        return
    assert op_for(function) is op
    for operands, _ in samples(op) if op.kind == "elementwise" else [((*[np.ones(3)] * (function.nin - 1), X), {})]:
        expected = function(*operands)
        moving = [x is X if op.kind == "composite" else known(op.rule(i)) for i, x in enumerate(operands)]
        tensors = [tape.tensor(x, requires_grad=True) if m else x for x, m in zip(operands, moving)]
        found = function(*tensors)
        several = expected if isinstance(expected, tuple) else (expected,)
        for z, w in zip(found if isinstance(found, tuple) else (found,), several):
            assert_allclose(z.detach().numpy(), w, rtol=1e-11, atol=1e-13)
            assert z.requires_grad
        places = [i for i, m in enumerate(moving) if m]

        def total(*xs, operands=operands, places=places):
            given = list(operands)
            for i, x in zip(places, xs):
                given[i] = x
            z = function(*given)
            return sum(np.sum(part) for part in z) if isinstance(z, tuple) else np.sum(z)

        of_arrays = tape.func.grad(total, tuple(range(len(places))))(*[operands[i] for i in places])
        sum(z.sum() for z in (found if isinstance(found, tuple) else (found,))).backward()
        for i, bar in zip(places, of_arrays):
            assert_allclose(bar, tensors[i].grad.numpy(), rtol=1e-12, atol=1e-14)


def test_the_special_functions_that_an_op_evaluates_are_all_answered_for():
    assert len([op for op in ELEMENTWISE if op.scipy]) > 80
    assert {"gammaln", "psi", "expit", "logit", "log_expit", "ndtr", "xlogy", "jv", "gammainc"} <= {
        n for _, n in ANSWERING
    }


@pytest.mark.parametrize(
    "f",
    [
        lambda x: special.logsumexp(x),
        lambda x: special.logsumexp(np.outer(x, x), axis=1, keepdims=True).sum(),
        lambda x: special.logsumexp(x, b=np.array([1.0, 0.0, 2.0])),
        lambda x: special.logsumexp(np.outer(x, x), axis=0, b=x).sum(),
        lambda x: (special.softmax(np.outer(x, x), axis=1) * x).sum(),
        lambda x: (special.log_softmax(x) * x).sum(),
        lambda x: special.polygamma(2, x).sum() + special.polygamma(0, x).sum(),
        lambda x: special.multigammaln(x + 3, 2).sum(),
        lambda x: special.zeta(2.0, x).sum(),
        lambda x: special.comb(x + 3, 2).sum() + special.factorial(x).sum(),
        lambda x: special.jv(1, x).sum() * special.hyp2f1(1.0, 0.5, 2.0, x).sum(),
        lambda x: (special.sici(x)[0] * special.airy(x)[2]).sum(),
    ],
)
def test_special_functions(f):
    check_smooth(f, X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: linalg.solve(spread(x), x).sum(),
        lambda x: (linalg.solve(np.triu(spread(x)), x, assume_a="pos") * x).sum(),
        lambda x: (linalg.solve(np.tril(spread(x)), x, lower=True, assume_a="sym") * x).sum(),
        lambda x: (linalg.solve(spread(x) + np.triu(spread(x)), x, transposed=True) * x).sum(),
        lambda x: linalg.inv(spread(x)).sum() + linalg.pinv(spread(x)).sum(),
        lambda x: linalg.det(spread(x)) + linalg.norm(spread(x)),
        lambda x: (linalg.cholesky(np.triu(spread(x))) * x).sum(),
        lambda x: (linalg.cholesky(spread(x), lower=True) * x).sum(),
        lambda x: (linalg.cho_solve(linalg.cho_factor(spread(x)), x) * x).sum(),
        lambda x: (linalg.cho_solve(linalg.cho_factor(spread(x), lower=True), np.outer(x, x)) * x).sum(),
        lambda x: (linalg.cho_solve(linalg.cho_factor(spread(X)), x) * x).sum(),
        lambda x: (linalg.solve_triangular(spread(x), x, lower=True, trans=1) * x).sum(),
        lambda x: (linalg.solve_triangular(spread(x), np.outer(x, x), unit_diagonal=True) * x).sum(),
        lambda x: linalg.expm(np.outer(x, x)).sum(),
        lambda x: (linalg.lu(spread(x))[2] * x).sum(),
        lambda x: (linalg.qr(spread(x))[1] * x).sum(),
        lambda x: (linalg.eigvalsh(spread(x)) ** 2).sum() + (linalg.svdvals(spread(x)) ** 3).sum(),
        lambda x: linalg.det(linalg.block_diag(x[:1], spread(x), [[1.0, 2.0]], np.eye(1, 0))[:4, :4]),
        lambda x: linalg.det(linalg.toeplitz(x)) + (linalg.toeplitz(x[:2], x) @ x).sum(),
        lambda x: (linalg.hankel(x, 2 * x) @ x).sum() + (linalg.hankel(x) @ x)[1],
        lambda x: (linalg.circulant(x) @ x)[1],
        lambda x: np.abs(scipy.fft.rfft(x)).sum() + np.abs(scipy.fft.fft2(spread(x)))[0, 1],
        lambda x: np.abs(scipy.fft.ifft(x, 4, norm="ortho")).sum() + (scipy.fft.fftshift(x) * X).sum(),
    ],
)
def test_linear_algebra_and_transforms(f):
    check_smooth(f, X)


LOOKING = {
    "solve": lambda x: linalg.solve(spread(X), x).sum(), "det": lambda x: linalg.det(spread(X) + np.diag(x)),
    "cho_solve": lambda x: linalg.cho_solve(linalg.cho_factor(spread(X)), x) @ X, "norm": lambda x: linalg.norm(x),
}  # fmt: skip


@pytest.mark.filterwarnings("error:tape.compile runs")
@pytest.mark.parametrize("name", LOOKING)
def test_what_is_not_finite_is_refused_in_every_call(name):
    f = LOOKING[name]
    compiled, broken = tape.compile(tape.func.grad(f)), np.array([0.5, np.nan, 1.0])
    for x in (X, broken, X + 0.2, broken):
        for g in (f, tape.func.grad(f), compiled, lambda x: tape.vmap(f)(np.stack([X, x]))):
            if x is broken:
                with pytest.raises(ValueError, match="must not contain infs or NaNs"):
                    g(x)
            elif g is compiled:
                assert_allclose(g(x), tape.func.grad(f)(x), rtol=1e-13)


def test_what_is_not_finite_passes_where_nobody_is_to_look():
    broken = np.array([0.5, np.inf, 1.0])
    found = tape.func.grad(lambda x: linalg.solve(spread(X), x, check_finite=False).sum())(broken)
    assert_allclose(found, linalg.inv(spread(X)).sum(0), rtol=1e-10)


@pytest.mark.parametrize("f", [
    lambda x: scipy.integrate.trapezoid(x * x, dx=0.1) + scipy.integrate.trapezoid([x[0], x[1]], [0.0, x[2]]),
    lambda x: scipy.integrate.cumulative_trapezoid(x * x, x=np.cumsum(x), initial=0).sum(),
    lambda x: scipy.integrate.cumulative_trapezoid(np.outer(x, x), dx=x[0], axis=0)[1, 1],
    lambda x: scipy.integrate.simpson(x * x, dx=x[0]), lambda x: scipy.integrate.simpson(x * x, x=np.cumsum(x)),
    lambda x: scipy.integrate.simpson(np.outer(x, x), x=[0.0, 1.0, 3.0], axis=0)[0],
])  # fmt: skip
def test_integrals_of_samples(f):
    check_smooth(f, X)
    assert_allclose(tape.compile(f)(X), f(X), rtol=1e-13)


REFUSED = {
    "scipy.special.voigt_profile": lambda x: special.voigt_profile(x, 1.0, 1.0).sum(),
    "scipy.special.logsumexp": lambda x: special.logsumexp(x, return_sign=True)[0],
    "scipy.linalg.schur": lambda x: linalg.schur(np.diag(x))[0].sum(),
    "scipy.linalg.eigh": lambda x: linalg.eigh(np.diag(x))[1].sum(),
    "scipy.stats.rv_continuous.ppf": lambda x: scipy.stats.norm.ppf(2.0 * x).sum(),
    "scipy.integrate.quad_vec": lambda x: scipy.integrate.quad_vec(lambda t: np.sin(t * x), 0, 1)[0].sum(),
    "scipy.interpolate.PPoly.roots": lambda x: scipy.interpolate.CubicSpline([0.0, 1, 2], x[:3]).roots().sum(),
    "scipy.integrate.simpson": lambda x: scipy.integrate.simpson(x[:2], dx=0.1),
    "scipy.optimize.lsq_linear": lambda x: scipy.optimize.lsq_linear(spread(X), x).x.sum(),
    "scipy.stats.skew": lambda x: scipy.stats.skew(x),
    "scipy.optimize.linprog": lambda x: scipy.optimize.linprog(x, bounds=[(0, 1)] * len(x)).x.sum(),
}


@pytest.mark.parametrize("name", [name for name in REFUSED if "schur" not in name and "eigh" not in name])
def test_what_would_lose_a_gradient_is_refused_by_name(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for transform in (tape.func.grad, tape.func.jacfwd, lambda f: tape.compile(tape.func.grad(f))):
            with pytest.raises(TypeError, match=rf"(?s){name}.* needs plain numbers.*test_scipy.py.*stop_gradient"):
                transform(REFUSED[name])(X)


@pytest.mark.parametrize("name", ["scipy.linalg.schur", "scipy.linalg.eigh"])
def test_what_is_decorated_is_refused_with_what_to_use_instead(name):
    with pytest.raises(TypeError, match=r"(?s)scipy.* needs plain numbers.*test_scipy.py"):
        tape.func.grad(REFUSED[name])(X)


def test_tensors_are_refused_by_scipys_name():
    with pytest.raises(TypeError, match=r"scipy\.special\.voigt_profile has no rule for tensors"):
        special.voigt_profile(tape.tensor(X, requires_grad=True), 1.0, 1.0)


@pytest.mark.parametrize("f", [lambda x: special.jv(x, 1.0).sum(), lambda x: special.gammainc(x, x).sum()])
def test_an_order_has_no_derivative(f):
    for transform in (tape.func.grad, tape.func.jacfwd):
        with pytest.raises(NotImplementedError, match=r"scipy\.special\.\w+ can be differentiated by its last"):
            transform(f)(X)
    assert_allclose(tape.func.grad(lambda x: special.jv(tape.stop_gradient(x), x).sum())(X), special.jvp(X, X))


def test_plain_arrays_are_scipys_business():
    a = spread(X)

    def f(x):
        assert type(linalg.inv(a)) is np.ndarray
        assert linalg.solve(a, X).tolist() == plain.tolist()
        return (linalg.inv(a) @ x).sum()

    plain, original = linalg.solve(a, X), linalg.solve
    assert_allclose(tape.func.grad(f)(X), linalg.inv(a).sum(0))
    assert linalg.solve is original
