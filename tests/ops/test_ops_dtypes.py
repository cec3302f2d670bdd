"""Operands of different dtypes: the gradient has the digits that the result has, whatever the other operand is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import ELEMENTWISE, known

import tape
from tape.autograd import forward_ad, grad


def promotes(op):
    """Whether both operands have a say in the dtype of the result."""
    return op(np.ones(1, bool), np.ones(1)).dtype == np.float64


BINARY = [op for op in ELEMENTWISE if op.arity == 2 and not op.chooses and promotes(op)]
OTHERS = ("?", "i1", "u1", "i2", "u2", "i8", "f2", "f4", "f8")
N = 6


def numbers(op, i, dtype, rng):
    """Numbers of that dtype in the domain of an operand, whole and not 0 where they must be."""
    x = op.domain[i].fit(rng.uniform(0.05, 1.0, N))
    if np.dtype(dtype).kind in "iu":
        x = np.where(np.abs(np.round(x)) < 1, 1, np.round(x))
        x = np.abs(x) if np.dtype(dtype).kind == "u" else x
    return np.ones(N, bool) if dtype == "?" else x.astype(dtype)


def mixtures(op, half):
    """Pairs of operands, one of dtype `moving` and one of another, and the position of the first.

    A half has each other dtype in each position; the two together have them beside both that move.
    """
    rng = np.random.default_rng([*map(ord, op.name)])
    for moving in ("f4", "f8"):
        for other in OTHERS:
            for i in (k for k in (0, 1) if known(op.rule(k))):
                if (BINARY.index(op) + OTHERS.index(other) + i + (moving == "f8") + half) % 2:
                    continue
                pair = [numbers(op, k, moving if k == i else other, rng) for k in (0, 1)]
                if abs(pair[0] - pair[1].astype(float)).min() > 1e-3:
                    yield i, pair


def reference(op, pair, i):
    """∂ Σ cos(k) zₖ / ∂xᵢ with both operands in float64."""
    leaves = [tape.tensor(x.astype(np.float64), requires_grad=k == i) for k, x in enumerate(pair)]
    z = op(*leaves)
    first = grad(z, leaves[i], tape.tensor(np.cos(np.arange(N))), create_graph=True, allow_unused=True)[0]
    (second,) = (None,) if first is None or not first.requires_grad else grad(first.sum(), leaves[i], allow_unused=True)
    return [None if g is None else g.detach().numpy() for g in (first, second)]


def precision(z, x):
    return 64 * max(np.finfo(z.dtype).eps, np.finfo(x.dtype).eps)


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
@pytest.mark.parametrize("large", [False, True], ids=["small", "in lanes"])
def test_a_gradient_beside_another_dtype_has_the_digits_of_the_result(op, large):
    """In reverse, at second order and forward; `large` arrays are evaluated by the kernels where there are any."""
    for i, pair in mixtures(op, large):
        first, _ = reference(op, pair, i)
        repeats = 1000 if large else 1
        x, other = (np.tile(p, repeats) for p in (pair[i], pair[1 - i]))
        leaf = tape.tensor(x, requires_grad=True)
        z = op(*((leaf, other) if i == 0 else (other, leaf)))
        g = np.tile(np.cos(np.arange(N)), repeats).astype(z.dtype)
        z.backward(tape.tensor(g))
        rtol = precision(z, x)
        about = f"{op.name}({pair[0].dtype}, {pair[1].dtype})"
        expected = np.zeros(N) if first is None else first
        assert_allclose(leaf.grad.numpy(), np.tile(expected, repeats), rtol=rtol, atol=rtol, err_msg=about)
        assert leaf.grad.dtype == x.dtype


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
def test_second_and_forward_derivatives_beside_another_dtype(op):
    for i, pair in mixtures(op, 0):
        first, second = reference(op, pair, i)
        leaf = tape.tensor(pair[i], requires_grad=True)
        z = op(*((leaf, pair[1]) if i == 0 else (pair[0], leaf)))
        g = np.cos(np.arange(N)).astype(z.dtype)
        rtol, about = precision(z, pair[i]), f"{op.name}({pair[0].dtype}, {pair[1].dtype})"
        (found,) = grad(z, leaf, tape.tensor(g), create_graph=True)
        if second is not None and found.requires_grad:
            (found,) = grad(found.sum(), leaf)
            assert_allclose(found.numpy(), second, rtol=16 * rtol, atol=16 * rtol, err_msg=about)
        with forward_ad.dual_level():
            x = forward_ad.make_dual(tape.tensor(pair[i]), tape.tensor(g.astype(pair[i].dtype)))
            z_dot = forward_ad.unpack_dual(op(*((x, pair[1]) if i == 0 else (pair[0], x)))).tangent
            expected = np.zeros(N) if first is None else first
            found = np.zeros(N) if z_dot is None else z_dot.numpy()
            assert_allclose(found, expected, rtol=rtol, atol=rtol, err_msg=about)


def test_an_integer_of_few_bits_to_a_power():
    x = tape.tensor(2.5, requires_grad=True)
    (tape.tensor([3], dtype=np.int8) ** x).sum().backward()
    assert_allclose(x.grad.item(), 3**2.5 * np.log(3.0), rtol=1e-15)


def test_an_unsigned_number_does_not_wrap_around():
    x = tape.tensor(0.5, requires_grad=True)
    tape.atan2(np.array(2, dtype=np.uint8), x).backward()
    assert_allclose(x.grad.item(), -2.0 / (4.0 + 0.25), rtol=1e-15)


@pytest.mark.parametrize("f", [
    lambda z: z.astype(bool), lambda z: np.full_like(z.real > 0, z), lambda z: np.full(3, z, dtype=bool),
])  # fmt: skip
def test_the_truth_of_a_complex_number_is_that_of_both_parts(f):
    z = np.array([1e39j, 0.0, 2.0])
    compiled = tape.compile(lambda z: (f(z), z * 2.0))
    for _ in range(2):
        np.testing.assert_array_equal(compiled(z)[0], [True, False, True])
