"""Changes in place through views that cross between real and complex numbers: of views, of elements, in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from numpy.testing import assert_allclose

import tape
from tape import func

torch = pytest.importorskip("torch")

STEPS = {
    "imag": lambda lib, z: z.imag,
    "real": lambda lib, z: z.real,
    "pairs": lambda lib, z: lib.view_as_real(z),
    "joined": lambda lib, z: lib.view_as_complex(z),
    "entry": lambda lib, z: z[-1],
    "first of each": lambda lib, z: z[..., 0],
    "slice": lambda lib, z: z[..., 1:],
    "every other": lambda lib, z: z[::2],
    "turned": lambda lib, z: z.transpose(-2, -1),
    "flat": lambda lib, z: z.reshape(-1),
    "raised": lambda lib, z: z.unsqueeze(-1),
    "diagonal": lambda lib, z: z.diagonal(),
}
CHANGES = {
    "mul_": lambda lib, v: v.mul_(3.0),
    "by itself": lambda lib, v: v.mul_(v),
    "zero_": lambda lib, v: v.zero_(),
    "copy_": lambda lib, v: v.copy_(lib.ones_like(v.detach()) * 2),
    "assigned": lambda lib, v: v.__setitem__(Ellipsis, 5.0),
}
PATHS = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5)
SHAPES = st.sampled_from([(2, 2), (3, 2), (4,), (2,), (2, 3, 2)])


def numbers(shape, is_complex, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if is_complex else x


def pairs(lib, z):
    return lib.view_as_real(z) if z.is_complex() else z


def loss(lib, x, path, change, turned=False):
    """What a change of a view of a copy of x makes of that, which may lie in memory in the other order."""
    b = x.mT.clone() if turned else x.clone()
    v = b
    for step in path:
        v = STEPS[step](lib, v)
    CHANGES[change](lib, v)
    out = pairs(lib, b)
    weights = lib.tensor(1.0 + np.arange(np.prod(out.shape)).reshape(tuple(out.shape)))
    return (out * out * weights).sum() + 2 * pairs(lib, v).sum()


def gradients(lib, data, *how):
    x = lib.tensor(data, requires_grad=True)
    value = loss(lib, x, *how)
    (g,) = lib.autograd.grad(value, [x], create_graph=True)
    (h,) = lib.autograd.grad((pairs(lib, g) ** 2).sum(), [x])
    return [t.detach().numpy() for t in (value, g, h)]


def in_torch(*how):
    try:
        return gradients(torch, *how)
    except (RuntimeError, IndexError):  # no such view, or a change that has no meaning
        assume(False)


@given(PATHS, SHAPES, st.sampled_from(sorted(CHANGES)), st.booleans(), st.booleans())
def test_first_and_second_gradients_are_those_of_torch(path, shape, change, is_complex, turned):
    how = numbers(shape, is_complex), path, change, turned and len(shape) > 1
    expected = in_torch(*how)
    for ours, theirs in zip(gradients(tape, *how), expected):
        assert_allclose(ours, theirs, rtol=1e-9)


@given(PATHS, SHAPES, st.sampled_from(sorted(CHANGES)), st.booleans())
def test_compiled_and_mapped_give_what_eager_gives(path, shape, change, is_complex):
    in_torch(numbers(shape, is_complex), path, change)
    gradient = func.grad(lambda x: loss(tape, x, path, change))
    data = [tape.tensor(numbers(shape, is_complex, seed)) for seed in range(3)]
    expected = [gradient(x).numpy() for x in data]
    program = tape.compile(gradient)
    for x, g in zip(data, expected):
        assert_allclose(program(x).numpy(), g, rtol=1e-12)
    try:
        mapped = func.vmap(gradient)(tape.stack(data))
    except RuntimeError:  # refused: lanes do not lie in order
        return
    assert_allclose(mapped.numpy(), expected, rtol=1e-12)


@given(PATHS, SHAPES, st.sampled_from(sorted(CHANGES)), st.booleans())
def test_memory_is_the_same_with_and_without_recording(path, shape, change, is_complex):
    data = numbers(shape, is_complex)
    expected, *_ = in_torch(data, path, change)
    with tape.no_grad():
        assert_allclose(loss(tape, tape.tensor(data), path, change).numpy(), expected)


@given(PATHS, SHAPES, st.sampled_from(sorted(CHANGES)))
def test_the_hessian_is_the_jacobian_of_the_gradient(path, shape, change):
    data = numbers(shape, False)
    in_torch(data, path, change)
    x = tape.tensor(data)

    def f(x):
        return loss(tape, x, path, change)

    assert_allclose(func.hessian(f)(x).numpy(), func.jacrev(func.grad(f))(x).numpy(), rtol=1e-12)


@pytest.mark.parametrize("depth", range(1, 20))
@pytest.mark.parametrize("end", ["imag", "element", "both", "complex"])
def test_chains_of_views_of_any_depth(depth, end):
    x = tape.tensor(numbers((4,), True), requires_grad=True)
    v = b = x.clone()
    for k in range(depth):
        v = tape.view_as_complex(tape.view_as_real(v)) if k % 3 == 0 else v[:]
    v = {"imag": lambda: v.imag, "element": lambda: v[1], "both": lambda: v[1].imag, "complex": lambda: v[1:3]}[end]()
    v.mul_(3.0)
    expected = np.ones((4, 2))
    parts = slice(None) if end in ("element", "complex") else 1
    expected[{"imag": slice(None), "complex": slice(1, 3)}.get(end, 1), parts] = 3.0
    (g,) = tape.autograd.grad(tape.view_as_real(b).sum(), [x], retain_graph=True)
    assert_allclose(tape.view_as_real(g).numpy(), expected)
    (g,) = tape.autograd.grad(pairs(tape, v).sum(), [x])
    assert_allclose(tape.view_as_real(g).numpy(), np.where(expected == 3.0, 3.0, 0.0))


@pytest.mark.parametrize("depth", range(12, 20))
def test_an_element_of_a_long_chain_of_views_follows_its_own_change(depth):
    x = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
    v = x.clone()
    for _ in range(depth):
        v = v[:]
    v = v[1]
    v.mul_(3.0)
    v.backward()
    assert x.grad.tolist() == [0.0, 3.0, 0.0]


def test_elements_of_pairs_share_the_memory_of_their_base():
    z = tape.tensor([1 + 2j, 3 + 4j])
    part = z[1].imag
    part.detach().numpy()[...] = 7.0
    assert z.tolist() == [1 + 2j, 3 + 7j]
    x = tape.tensor([[1.0, 2.0], [3.0, 4.0]])
    pair = tape.view_as_complex(x)[1]
    pair.detach().numpy()[...] = 5 + 6j
    assert x.tolist() == [[1.0, 2.0], [5.0, 6.0]]


def test_expanded_parts_are_written_once():
    z = tape.tensor([[1 + 2j], [3 + 4j]], requires_grad=True)
    b = z.clone()
    w = tape.tensor(5.0, requires_grad=True)
    b.imag.expand(2, 3).fill_(w)
    b.imag.sum().backward()
    assert b.tolist() == [[1 + 5j], [3 + 5j]]
    assert (w.grad.item(), z.grad.tolist()) == (2.0, [[0j], [0j]])
    x = tape.tensor([[[1.0, 2.0]], [[3.0, 4.0]]], requires_grad=True)
    b = x.clone()
    tape.view_as_complex(b).expand(2, 3)[:, [0, 1]] = tape.tensor([1 + 2j, 3 + 4j])
    assert b.tolist() == [[[3.0, 4.0]], [[3.0, 4.0]]]


def test_what_was_copied_is_no_view_in_a_compiled_function_either():
    def f(z):
        b = z.clone()
        v = tape.view_as_complex(b.imag)
        v.mul_(3.0)
        return b.imag.sum() + v.imag.sum()

    z = tape.tensor(numbers((2, 2), True))
    assert_allclose(tape.compile(f)(z).numpy(), f(z).numpy())
    assert_allclose(f(z).numpy(), (z.imag.sum() + 3 * z.imag[:, 1].sum()).numpy())
