"""Views made before they, or their base, are said to require grad: as PyTorch has it, whatever changes then."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import tape

torch = pytest.importorskip("torch")

VIEWS = {
    "slice": lambda u: u[:3], "view": lambda u: u.view(2, 2), "transposed": lambda u: u.view(2, 2).t(),
    "of a view": lambda u: u[1:][:2], "diagonal": lambda u: u.view(2, 2).diagonal(), "number": lambda u: u[1],
    "split": lambda u: u.split(2)[1], "unbound": lambda u: u.unbind()[1],
    "chunk": lambda u: u.view(2, 2).chunk(2, 1)[0],
    "whole": lambda u: u[:], "detached": lambda u: u.detach()[:2], "expanded": lambda u: u[:1].expand(3),
}  # fmt: skip
REQUIRING = {
    "base": lambda u, v, w: u.requires_grad_(), "view": lambda u, v, w: v.requires_grad_(),
    "both": lambda u, v, w: (u.requires_grad_(), v.requires_grad_()),
    "view first": lambda u, v, w: (v.requires_grad_(), u.requires_grad_()),
    "base no longer": lambda u, v, w: (u.requires_grad_(), v.grad_fn, u.requires_grad_(False)),
}  # fmt: skip


def without_recording(change):
    return lambda u, v, w: without_grad(type(u), lambda: change(u, v))


def without_grad(kind, change):
    with (tape if kind is tape.Tensor else torch).no_grad():
        change()


CHANGES = {
    "nothing": lambda u, v, w: None, "base": lambda u, v, w: u.mul_(3), "view": lambda u, v, w: v.mul_(3),
    "base without recording": without_recording(lambda u, v: u.mul_(3)),
    "view without recording": without_recording(lambda u, v: v.mul_(3)),
    "place": lambda u, v, w: u.__setitem__(0, 7.0), "place of a view": lambda u, v, w: v.__setitem__(..., 7.0),
    "base, with a history": lambda u, v, w: u.add_(w), "view, with a history": lambda u, v, w: v.mul_(w),
    "place, with a history": lambda u, v, w: u.__setitem__(0, w), "copied": lambda u, v, w: v.copy_(v.detach() * 3),
    "place of a view, with a history": lambda u, v, w: v[0:1].__setitem__(0, w) if v.ndim else v.add_(w),
}  # fmt: skip
ORDERS = list(itertools.product(REQUIRING, CHANGES, ("required first", "changed first", "changed twice")))


def outcome(library, view, required, change, order):
    """What tensors say of themselves after each step, and the gradients at the end, or the place that raised."""
    seen = []
    u = library.tensor([1.0, 2.0, 3.0, 4.0], dtype=library.float64)
    v, w = VIEWS[view](u), library.tensor(2.0, dtype=library.float64, requires_grad=True)
    steps = [REQUIRING[required], CHANGES[change]]
    steps = steps if order == "required first" else [steps[1], steps[0], *steps[1:] * (order == "changed twice")]
    try:
        for step in steps:
            step(u, v, w)
            seen += [(x.requires_grad, x.is_leaf, x.grad_fn is None, x.detach().numpy().tolist()) for x in (u, v)]
        ((u * u).sum() * w + (v * v * v).sum() + VIEWS[view](u).sum()).backward()
    except RuntimeError:
        return [*seen, "raised"]
    return seen + [None if not x.is_leaf or x.grad is None else x.grad.numpy().tolist() for x in (u, v, w)]


@pytest.mark.parametrize("view", VIEWS)
def test_as_pytorch_has_it(view):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for required, change, order in ORDERS:
            expected = outcome(torch, view, required, change, order)
            assert outcome(tape, view, required, change, order) == expected, (required, change, order)


def test_a_base_without_views_that_are_behind_leaves_them_as_they_are():
    u = tape.tensor([1.0, 2.0])
    v = u[:1]
    u.requires_grad_()
    assert v.is_leaf
    assert v.grad_fn is None
    u.requires_grad_(False)
    u.add_(1)
    u.requires_grad_()
    assert not v.is_leaf
    (v * u).sum().backward()
    np.testing.assert_array_equal(u.grad.numpy(), [7.0, 2.0])
