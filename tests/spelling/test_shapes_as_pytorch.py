"""Functions whose shapes, dimensions or memory PyTorch reads otherwise than NumPy, beside PyTorch's own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from peer import torch

import tape


def of(library, shape, grad=False):
    values = np.sin(np.arange(1.0, 1 + np.prod(shape, dtype=int)) ** 2).reshape(shape)
    return library.tensor(values.tolist(), dtype=library.float64, requires_grad=grad)


def outcome(library, compute):
    """What a function gives, by value, or None where it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [x.tolist() for x in compute(library)]
    except (RuntimeError, ValueError):
        return None


@pytest.mark.parametrize("shape", [(3,), (3, 3), (3, 4), (2, 3), (2, 3, 3), (3, 1, 3), (4, 2)])
@pytest.mark.parametrize("named", [{}, {"dim": -1}, {"dim": 0}])
def test_cross_goes_along_the_first_dimension_of_three(shape, named):
    def compute(library):
        x, y = of(library, shape, True), of(library, shape[::-1]).reshape(shape) + 1
        z = library.cross(x, y, **named)
        (z * z).sum().backward()
        return z.detach(), x.grad, x.detach().cross(y, **named)

    found, expected = (outcome(library, compute) for library in (tape, torch))
    assert (found is None) == (expected is None)
    for ours, theirs in zip(found or (), expected or ()):
        assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_cross_of_linalg_goes_along_the_last_one():
    found, expected = (m.linalg.cross(of(m, (3, 3)), of(m, (3, 3)) + 1) for m in (tape, torch))
    assert_allclose(found.tolist(), expected.tolist(), rtol=1e-13)
    with pytest.raises(RuntimeError, match="no dimension of size 3"):
        tape.cross(tape.ones(2, 2), tape.ones(2, 2))
    assert np.array_equal(tape.vmap(tape.cross)(of(tape, (3, 3, 3)), tape.ones(3, 3, 3))[0].numpy(),
                          tape.cross(of(tape, (3, 3, 3))[0], tape.ones(3, 3)).numpy())  # fmt: skip


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_are_of_matrices(name):
    for x in (tape.tensor(1.0), tape.ones(3)):
        for call in (getattr(tape, name), getattr(x, name), getattr(x.clone(), f"{name}_")):
            with pytest.raises(RuntimeError, match="at least 2 dimensions"):
                call(x) if call is getattr(tape, name) else call()
    for arguments in ((), (1,), (-1,)):
        found, expected = (getattr(of(m, (2, 3, 3)), f"{name}_")(*arguments).tolist() for m in (tape, torch))
        assert found == expected
    assert tape.func.grad(lambda x: (getattr(np, name)(x) * x[0]).sum())(np.ones(3)).shape == (3,)


@pytest.mark.parametrize(
    "compute",
    [
        lambda m: of(m, (1, 1, 3)).squeeze(0, 1), lambda m: of(m, (1, 2, 1)).squeeze_(0, 2),
        lambda m: m.squeeze(of(m, (1, 2, 1)), dim=(0, 1)), lambda m: m.eye(3).count_nonzero(0, 1),
        lambda m: m.eye(3).count_nonzero(1), lambda m: m.count_nonzero(m.eye(3), dim=(0, 1)),
        lambda m: m.count_nonzero(m.eye(3)), lambda m: m.msort(m.tensor(2.0)), lambda m: m.msort(of(m, (3, 2))),
        lambda m: of(m, (2, 3)).nansum(1, True), lambda m: m.nanmean(of(m, (2, 3)), (0, 1), True),
        lambda m: m.nansum(of(m, (2, 3)), dim=0, keepdim=True), lambda m: of(m, (2, 3)).nanmean(),
        lambda m: m.nansum(of(m, (2, 3)), 0, dtype=m.float64),
        lambda m: m.fft.fftn(m.tensor(2.0)), lambda m: m.fft.ifftn(m.tensor(2.0)), lambda m: m.fft.fftn(of(m, (2, 2))),
    ],
)  # fmt: skip
def test_dimensions_one_by_one_and_numbers_without_any(compute):
    found, expected = (compute(m) for m in (tape, torch))
    assert (tuple(found.shape), found.is_complex()) == (tuple(expected.shape), expected.is_complex())
    assert_allclose(np.array(found.tolist()), np.array(expected.tolist()), rtol=1e-12)


FRESH = {
    "kron": lambda m, x: m.kron(x, x), "rot90": lambda m, x: x.rot90(), "no turn": lambda m, x: x.rot90(4),
    "quantile": lambda m, x: x.quantile(0.5), "sort": lambda m, x: x.sum().sort()[0],
    "sum": lambda m, x: x.sum().sum(0), "cumsum": lambda m, x: x.sum().cumsum(0),
    "topk": lambda m, x: x.sum().topk(1)[0],
}  # fmt: skip


@pytest.mark.parametrize("make", FRESH.values(), ids=FRESH)
def test_results_that_are_no_views(make):
    """They can be changed in place where they were made without recording, and change nothing else."""

    def seen(m):
        x = of(m, (2, 2), True)
        with m.no_grad():
            y = make(m, x)
        told = y._is_view(), y._base is None
        y.mul_(x.sum())
        y.sum().backward()
        z = make(m, x)
        z.mul_(2)
        z.sum().backward()
        return *told, y.tolist(), z.tolist(), x.tolist(), x.grad.tolist()

    found, expected = seen(tape), seen(torch)
    assert found[:2] == expected[:2]
    for ours, theirs in zip(found[2:], expected[2:]):
        assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:(divide|invalid):RuntimeWarning")
def test_logit_outside_of_its_domain():
    values = [-1.0, 0.0, 0.1, 0.3, 0.5, 0.8, 1.0, 2.0]
    for eps in (None, 1e-6, 0.2, 0.0, 0.5, 0.6):

        def seen(m, eps=eps):
            x = m.tensor(values, dtype=m.float64, requires_grad=True)
            z = m.logit(x, eps)
            z.sum().backward()
            return z.detach().numpy(), x.grad.numpy()

        for ours, theirs in zip(seen(tape), seen(torch)):
            assert_allclose(ours, theirs, rtol=1e-12)
    compiled = tape.compile(tape.func.grad(lambda x: tape.logit(x).sum()))
    for _ in range(3):
        assert np.isnan(compiled(tape.tensor(values)).numpy()).tolist() == [v in (-1.0, 2.0) for v in values]


TALL = [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0], [2.0, 2.0]]


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("kind", ["matrices", "a vector", "vectors", "wide"])
def test_least_squares(driver, kind):
    def compute(m):
        A = m.tensor(TALL, dtype=m.float64, requires_grad=True)
        b = m.tensor([1.0, 2.0, 3.0, 5.0], dtype=m.float64)
        a, b = {
            "matrices": (A, m.stack([b, b * b], 1)), "a vector": (A, b), "wide": (A.mT, m.stack([b, b * b], 1)[:2]),
            "vectors": (m.stack([A, A * A + 1, A + 2, A - 3 * A * A]), m.stack([b, b + 1, b * b, b])),
        }[kind]  # fmt: skip
        z = m.linalg.lstsq(a, b, driver=driver)
        (z.solution**2).sum().backward()
        return *[x.detach() for x in z], A.grad

    for ours, theirs in zip(compute(tape), compute(torch)):
        assert ours.shape == tuple(theirs.shape)
        assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-7)


def test_drivers_that_there_are():
    with pytest.raises(RuntimeError, match="one of gels, gelsy, gelsd, gelss; got 'qr'"):
        tape.linalg.lstsq(tape.ones(2, 2), tape.ones(2, 2), driver="qr")
