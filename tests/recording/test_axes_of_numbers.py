"""A number counts as a vector of one element where a dimension of it is named, as in PyTorch."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import tape
from tape.recording.functions import FUNCTIONS

torch = pytest.importorskip("torch")

OTHERS = {"kthvalue": (1,), "topk": (1,), "logsumexp": (), "roll": (1,), "quantile": (0.5,), "repeat_interleave": (3,)}
CHANGING_AXES = {
    "chunk", "diagonal", "expand", "flatten", "narrow", "select", "split", "stack", "tensor_split", "unbind",
    "unflatten", "unsafe_chunk", "unsafe_split",
}  # fmt: skip


def takes_dim(function):
    try:
        return "dim" in inspect.signature(function).parameters or "args" in inspect.signature(function).parameters
    except ValueError:
        return False


NAMES = sorted(
    n for n, f in FUNCTIONS.items() if hasattr(torch, n) and takes_dim(f) and n not in CHANGING_AXES
)  # fmt: skip


def parts(z):
    return tuple(z) if isinstance(z, (tuple, list)) else (z,)


def called(lib, name, dim, **more):
    x = lib.tensor(2.0, dtype=lib.float64, requires_grad=True)
    return x, parts(getattr(lib, name)(x, *OTHERS.get(name, ()), dim=dim, **more))


@pytest.mark.parametrize("more", [{}, {"keepdim": True}])
@pytest.mark.parametrize("dim", [0, -1, (0,), (-1,)])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_those_of_torch(name, dim, more):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, of degrees of freedom
            there, expected = called(torch, name, dim, **more)
    except (TypeError, RuntimeError, IndexError, ValueError, NotImplementedError):
        return
    here, found = called(tape, name, dim, **more)
    for z, w in zip(found, expected, strict=True):
        assert tuple(z.shape) == tuple(w.shape)
        np.testing.assert_allclose(z.detach().numpy(), w.detach().numpy())
        if w.requires_grad:
            (g,) = torch.autograd.grad(w.sum(), [there], retain_graph=True, allow_unused=True)
            (h,) = tape.autograd.grad(z.sum(), [here], retain_graph=True, allow_unused=True)
            assert (0.0 if h is None else h.item()) == (0.0 if g is None else pytest.approx(g.item(), nan_ok=True))


@pytest.mark.parametrize("dim", [1, -2])
@pytest.mark.parametrize("name", ["sum", "cumsum", "sort", "max", "softmax", "cummax", "argmax", "logsumexp", "var"])
def test_there_is_no_other_axis(name, dim):
    with pytest.raises(IndexError):
        called(tape, name, dim)


def test_torch_is_asked_about_most_functions_with_a_dimension():
    assert {"sum", "cumsum", "sort", "softmax", "nansum", "std", "argmin", "any", "kthvalue"} <= set(NAMES)


def test_norms_of_a_number():
    assert tape.linalg.vector_norm(tape.tensor(-2.0), dim=(0,)).item() == 2.0
    assert tape.linalg.norm(tape.tensor(-2.0), dim=0).shape == ()
