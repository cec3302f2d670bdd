"""Functions made of others, beside PyTorch: factors and what tells of failures, quantiles without nan, Bessel's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:torch.* is deprecated")

RNG = np.random.default_rng(0)
SQUARE, TALL, WIDE = (RNG.normal(size=shape) for shape in ((2, 3, 3), (4, 3), (2, 3, 4)))
RIGHT, NARROW = RNG.normal(size=(2, 3, 2)), RNG.normal(size=(3, 2))
HOLES = np.where(RNG.random((3, 5)) < 0.3, np.nan, RNG.normal(size=(3, 5)))
HOLES[1] = np.nan
POSITIVE = SQUARE @ SQUARE.mT + np.eye(3)


def both(f, *arrays, gradients=True):
    """Results, and gradients of a weighted sum of the first, here and with PyTorch."""
    found = []
    for library in (tape, torch):
        xs = [library.tensor(x, requires_grad=gradients) for x in arrays]
        z = f(library, *xs)
        z = list(z) if isinstance(z, tuple) else [z]
        if gradients:
            weights = np.cos(np.arange(z[0].numel(), dtype=float)).reshape(tuple(z[0].shape))
            (z[0] * library.tensor(weights)).sum().backward()
        found.append([x.detach().numpy() for x in z] + [x.grad.numpy() for x in xs if gradients])
    return found


def check(f, *arrays, **how):
    ours, theirs = both(f, *arrays, **how)
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, rtol=1e-8, atol=1e-10)
        assert a.dtype == b.dtype


@pytest.mark.parametrize("A", [SQUARE, TALL, WIDE], ids=["square", "tall", "wide"])
def test_lu_in_one_matrix(A):
    check(lambda lib, A: tuple(lib.linalg.lu_factor(A)), A)
    check(lambda lib, A: tuple(lib.linalg.lu_factor_ex(A)), A)
    for k in range(3):
        check(lambda lib, A, k=k: lib.lu_unpack(*lib.linalg.lu_factor(A))[k] * 1.0, A, gradients=k > 0)


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_systems_by_lu(left, adjoint):
    B = RIGHT if left else RIGHT.mT

    def f(lib, A, B):
        return lib.linalg.lu_solve(*lib.linalg.lu_factor(A), B, left=left, adjoint=adjoint)

    check(f, SQUARE, B)
    check(f, SQUARE[0], B)
    check(f, SQUARE, B[0])
    check(lambda lib, A, B: lib.lu_solve(B, *lib.linalg.lu_factor(A)), SQUARE, RIGHT)
    check(lambda lib, A, B: B.lu_solve(*lib.linalg.lu_factor(A)), SQUARE, RIGHT)


def test_those_that_tell():
    check(lambda lib, A: tuple(lib.linalg.cholesky_ex(A)), POSITIVE)
    check(lambda lib, A: lib.linalg.cholesky_ex(A, upper=True)[0], POSITIVE)
    check(lambda lib, A: tuple(lib.linalg.inv_ex(A)), SQUARE)
    check(lambda lib, A, B: tuple(lib.linalg.solve_ex(A, B)), SQUARE, RIGHT)
    check(lambda lib, A, B: lib.linalg.solve_ex(A, B, left=False)[0], SQUARE, RIGHT.mT)


@pytest.mark.parametrize("name", ["cholesky_ex", "inv_ex", "solve_ex"])
def test_matrices_that_cannot_be_done(name):
    A = POSITIVE.copy()
    A[1, 1] = A[1, 0]
    more = (RIGHT,) if name == "solve_ex" else ()
    A[1, 1, 1] -= 2.0 * (name == "cholesky_ex")
    for library in (tape, torch):
        _, info = getattr(library.linalg, name)(library.tensor(A), *map(library.tensor, more))
        assert (info != 0).tolist() == [False, True]
        with pytest.raises(library.linalg.LinAlgError):
            getattr(library.linalg, name)(library.tensor(A), *map(library.tensor, more), check_errors=True)
    found = getattr(tape.linalg, name)(tape.tensor(A), *map(tape.tensor, more))[0]
    assert_allclose(found[0], getattr(tape.linalg, name.removesuffix("_ex"))(*[tape.tensor(x[0]) for x in (A, *more)]))
    assert bool(found[1].isnan().all())


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_triangular_systems(upper, transpose):
    for ones in (False, True):
        check(
            lambda lib, b, A, ones=ones: lib.triangular_solve(b, A, upper, transpose, ones)[0],
            RIGHT,
            SQUARE + np.eye(3),
        )


def test_products_of_reflections():
    check(lambda lib, A, tau: lib.linalg.householder_product(A, tau), TALL, RNG.normal(size=3))
    check(lambda lib, A, tau: lib.orgqr(A, tau), SQUARE, RNG.normal(size=(2, 2)))


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dim", [None, 0, 1, -1])
@pytest.mark.parametrize("q", [0.3, [0.0, 0.55, 1.0]])
def test_quantiles_of_what_is_not_nan(q, dim, interpolation):
    for keepdim in (False, True):
        for x in (HOLES, HOLES[0], HOLES[:1]):
            if dim is not None and dim >= x.ndim:
                continue
            ours, theirs = both(
                lambda lib, x, keepdim=keepdim: lib.nanquantile(
                    x, lib.tensor(q, dtype=lib.float64), dim, keepdim, interpolation=interpolation
                ),
                x,
            )
            assert_allclose(ours[0], theirs[0])
            lost = np.isnan(theirs[1])
            assert_allclose(np.where(lost, 0.0, ours[1]), np.where(lost, 0.0, theirs[1]), atol=1e-12)


SPECIALS = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1",
    "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
)  # fmt: skip


@pytest.mark.parametrize("name", SPECIALS)
def test_special_functions(name):
    x = np.array([0.3, 0.7, 1.5, 4.0])
    function = getattr(tape.special, name)
    assert_allclose(function(tape.tensor(x)), getattr(torch.special, name)(torch.tensor(x)), rtol=1e-6)
    assert tape.autograd.gradcheck(function, tape.tensor(x, requires_grad=True))
    assert function.__name__ == name


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "zeta"])
def test_special_functions_of_two(name):
    a, x = np.array([1.5, 2.0, 3.5]), np.array([0.3, 1.7, 4.0])
    ours, theirs = (getattr(library.special, name) for library in (tape, torch))
    assert_allclose(ours(tape.tensor(a), tape.tensor(x)), theirs(torch.tensor(a), torch.tensor(x)), rtol=1e-10)
    if name != "zeta":
        check(lambda lib, x: getattr(lib, name.replace("gammainc", "igamma"))(lib.tensor(a), x), x)


def test_small_ones():
    x = RNG.normal(size=(2, 2, 4))
    check(lambda lib, x: lib.dsplit(x, 2)[1] * 1.0, x)
    check(lambda lib, x: lib.dsplit(x, (1, 3))[2] * 1.0, x)
    check(lambda lib, x: lib.constant_pad_nd(x, (1, 2), 3.0), x)
    check(lambda lib, x: lib.constant_pad_nd(x, (-1, 2, 0, 1)), x)
    check(lambda lib, x: lib.nextafter(x, lib.tensor(np.inf)), x, gradients=False)
    check(lambda lib, x: lib.igamma(x.abs() + 1.0, x.abs()), x, gradients=False)
