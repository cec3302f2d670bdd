"""Values, gradients and node names against PyTorch, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracle import Traced, gradients
from samples import ELEMENTWISE, active, samples, vjps

import ops

torch = pytest.importorskip("torch")


def counterpart(op):
    """PyTorch's function of the same name, or None for the few names that are ours alone."""
    spaces = (torch, torch.special, torch.nn.functional)
    return next((getattr(space, op.name) for space in spaces if hasattr(space, op.name)), None)


OURS = {"chain_mul", "clamp", "clamp_min", "clamp_max", "masked_fill", "polygamma", "round", "rint", "cbrt", "where",
        "fill", "copy_over", "zero", "clamp_to_arrays", "fmax_of_arrays", "fmin_of_arrays", "general_power",
        "multiple", "power_of_number", "numpy_i0", "numpy_spacing", "numpy_nextafter"}  # fmt: skip
"""Without a function of the same name and signature; PyTorch cannot broadcast the bounds of clamp backwards."""
SHARED = [op for op in ELEMENTWISE if op.name not in OURS and not op.name.startswith(("special_", "uncorrected_"))]


@pytest.mark.parametrize("op", SHARED, ids=lambda op: op.name)
def test_elementwise(op):
    f = counterpart(op)
    assert f is not None, f"no function {op.name} in torch"
    for operands, params in samples(op):
        tensors = [torch.tensor(x, requires_grad=True) for x in operands]
        z = f(*tensors)
        assert_allclose(op(*operands, **params), z.detach().numpy(), rtol=1e-10, atol=1e-12)
        if not z.requires_grad:
            continue
        g = np.random.default_rng(1).standard_normal(z.shape)
        z.backward(torch.tensor(g))
        positions = active(op, operands)
        for i, bar in zip(positions, vjps(op, operands, params, [g], positions)):
            expected = np.zeros(bar.shape) if tensors[i].grad is None else tensors[i].grad.numpy(force=True)
            assert_allclose(bar, expected, rtol=1e-9, atol=1e-10)


rng = np.random.default_rng(12)
X, Y, V, U = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), rng.normal(size=4), rng.normal(size=4)
STACK, OTHER = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4, 2))
SQUARE = rng.normal(size=(3, 3)) + 3 * np.eye(3)
POSITIVE = SQUARE @ SQUARE.T
INDEX = np.array([[0, 2, 1, 1], [2, 0, 0, 1]])

PAIRS = {
    "fill": (lambda x, y: ops.fill(x, y), lambda x, y: torch.fill(x, y), X, V[0]),
    "zero": (lambda x: ops.zero(x), lambda x: x.clone().zero_(), X),
    "copy_over": (lambda x, y: ops.copy_over(x, y), lambda x, y: x.clone().copy_(y), X, V),
    "put_view": (
        lambda x, y: ops.put_view(x, y, steps=(("select", (("index", 1),), None),)),
        lambda x, y: (z := x.clone(), z[1].copy_(y), z)[2], X, V,
    ),
    "max": (lambda x: ops.max(x), lambda x: x.max(), X),
    "min": (lambda x: ops.min(x), lambda x: x.min(), X),
    "max dim": (lambda x: ops.max(x, axis=1), lambda x: x.max(1), X),
    "min dim": (lambda x: ops.min(x, axis=0, keepdims=True), lambda x: x.min(0, keepdim=True), X),
    "amax": (lambda x: ops.amax(x, axis=1), lambda x: x.amax(1), X),
    "amin": (lambda x: ops.amin(x, axis=(0, 1)), lambda x: x.amin((0, 1)), X),
    "sum": (lambda x: ops.sum(x), lambda x: x.sum(), X),
    "sum dim": (lambda x: ops.sum(x, axis=-1), lambda x: x.sum(-1), X),
    "mean": (lambda x: ops.mean(x), lambda x: x.mean(), X),
    "mean dim": (lambda x: ops.mean(x, axis=0), lambda x: x.mean(0), X),
    "prod": (lambda x: ops.prod(x), lambda x: x.prod(), X),
    "prod dim": (lambda x: ops.prod(x, axis=0), lambda x: x.prod(0), X),
    "var": (lambda x: ops.var(x), lambda x: x.var(), X),
    "std": (lambda x: ops.std(x, axis=1, correction=0), lambda x: x.std(1, correction=0), X),
    "logsumexp": (lambda x: ops.logsumexp(x, axis=1), lambda x: x.logsumexp(1), X),
    "softmax": (lambda x: ops.softmax(x, axis=0), lambda x: x.softmax(0), X),
    "log_softmax": (lambda x: ops.log_softmax(x, axis=-1), lambda x: x.log_softmax(-1), X),
    "norm": (lambda x: ops.norm(x), lambda x: x.norm(), X),
    **{
        f"norm {p}": (lambda x, p=p: ops.norm(x, p), lambda x, p=p: x.norm(p), X)
        for p in (1, 2, 3, 0.5, float("inf"), -float("inf"), "fro", "nuc")
    },
    "norm along both": (lambda x: ops.norm(x, 1, axis=(0, 1), keepdims=True), lambda x: x.norm(1, (0, 1), True), X),
    "norm 3 along": (lambda x: ops.norm(x, 3, axis=0), lambda x: x.norm(3, 0), X),
    "cumsum": (lambda x: ops.cumsum(x, axis=1), lambda x: x.cumsum(1), X),
    "cumprod": (lambda x: ops.cumprod(x, axis=0), lambda x: x.cumprod(0), X),
    "logcumsumexp": (lambda x: ops.logcumsumexp(x, axis=0), lambda x: x.logcumsumexp(0), X),
    "sort": (lambda x: ops.sort(x, axis=0, descending=True), lambda x: x.sort(0, descending=True), X),
    "topk": (lambda x: ops.topk(x, k=2), lambda x: x.topk(2), X),
    "kthvalue": (lambda x: ops.kthvalue(x, k=2, axis=0), lambda x: x.kthvalue(2, 0), X),
    "median dim": (lambda x: ops.median(x, axis=1), lambda x: x.median(1), X),
    "mm": (lambda x, y: ops.mm(x, y), lambda x, y: x.mm(y), X, Y),
    "matmul": (lambda x, y: x @ y, lambda x, y: x @ y, X, Y),
    "mv": (lambda x, y: ops.mv(x, y), lambda x, y: x.mv(y), X, V),
    "dot": (lambda x, y: ops.dot(x, y), lambda x, y: x.dot(y), V, U),
    "bmm": (lambda x, y: ops.bmm(x, y), lambda x, y: x.bmm(y), STACK, OTHER),
    "outer": (lambda x, y: ops.outer(x, y), lambda x, y: torch.outer(x, y), V, U),
    "trace": (lambda x: ops.trace(x), lambda x: x.trace(), SQUARE),
    "diagonal": (lambda x: ops.diagonal(x, offset=1), lambda x: x.diagonal(1), X),
    "diag vector": (lambda x: ops.diag(x), lambda x: x.diag(), V),
    "tril": (lambda x: ops.tril(x, k=-1), lambda x: x.tril(-1), X),
    "triu": (lambda x: ops.triu(x, k=1), lambda x: x.triu(1), X),
    "cat": (lambda x, y: ops.cat([x, y]), lambda x, y: torch.cat([x, y]), V, U),
    "stack": (lambda x, y: ops.stack(x, y, axis=1), lambda x, y: torch.stack([x, y], 1), V, U),
    "split": (lambda x: ops.split(x, indices_or_sections=2, axis=1), lambda x: x.split(2, 1), X),
    "unbind": (lambda x: ops.unbind(x), lambda x: x.unbind(), X),
    "reshape": (lambda x: ops.reshape(x, shape=(-1,)), lambda x: x.reshape(-1), X),
    "squeeze": (lambda x: ops.squeeze(x), lambda x: x.squeeze(), X[:1]),
    "squeeze dim": (lambda x: ops.squeeze(x, axis=0), lambda x: x.squeeze(0), X[:1]),
    "unsqueeze": (lambda x: ops.unsqueeze(x, axis=1), lambda x: x.unsqueeze(1), X),
    "transpose": (lambda x: ops.transpose(x, axis1=0, axis2=2), lambda x: x.transpose(0, 2), STACK),
    "t": (lambda x: ops.t(x), lambda x: x.t(), X),
    "permute": (lambda x: ops.permute(x, axes=(2, 0, 1)), lambda x: x.permute(2, 0, 1), STACK),
    "expand": (lambda x: ops.broadcast_to(x, shape=(3, 4)), lambda x: x.expand(3, 4), V),
    "repeat": (lambda x: ops.repeat(x, reps=(2, 1)), lambda x: x.repeat(2, 1), X),
    "flip": (lambda x: ops.flip(x, axis=(0, 1)), lambda x: x.flip(0, 1), X),
    "roll": (lambda x: ops.roll(x, shift=1, axis=0), lambda x: x.roll(1, 0), X),
    "clone": (lambda x: ops.clone(x), lambda x: x.clone(), X),
    "cast": (lambda x: ops.cast(x, dtype=np.dtype("float32")), lambda x: x.to(torch.float32), X),
    "gather": (lambda x: ops.gather(x, INDEX, axis=0), lambda x: x.gather(0, torch.tensor(INDEX)), X),
    "take": (lambda x: ops.take(x, INDEX), lambda x: x.take(torch.tensor(INDEX)), X),
    "index_select": (lambda x: ops.take(x, INDEX[0], axis=1), lambda x: x.index_select(1, torch.tensor(INDEX[0])), X),
    "index_add": (
        lambda x, y: ops.index_add(x, INDEX[0, :2], y, axis=1),
        lambda x, y: x.index_add(1, torch.tensor(INDEX[0, :2]), y), X, X[:, :2],
    ),
    "scatter_add": (
        lambda x, y: ops.scatter_add(x, INDEX, y, axis=0),
        lambda x, y: x.scatter_add(0, torch.tensor(INDEX), y), X, X[:2],
    ),
    "masked_select": (lambda x: ops.masked_select(x, X > 0), lambda x: x.masked_select(torch.tensor(X > 0)), X),
    "masked_fill": (lambda x: ops.masked_fill(x, X > 0, 2.0), lambda x: x.masked_fill(torch.tensor(X > 0), 2.0), X),
    "index_put": (
        lambda x, y: ops.index_put(x, y, index=(np.array([2, 0]),)),
        lambda x, y: x.index_put((torch.tensor([2, 0]),), y), X, V,
    ),
    "x[i]": (lambda x: ops.getitem(x, index=1), lambda x: x[1], X),
    "x[a:b]": (lambda x: ops.getitem(x, index=slice(1, 3)), lambda x: x[1:3], X),
    "x[:, i]": (lambda x: ops.getitem(x, index=(slice(None), -1)), lambda x: x[:, -1], X),
    "x[i, a:]": (lambda x: ops.getitem(x, index=(0, slice(1, None))), lambda x: x[0, 1:], X),
    "x[None]": (lambda x: ops.getitem(x, index=None), lambda x: x[None], X),
    "x[list]": (lambda x: ops.getitem(x, index=[0, 0, 2]), lambda x: x[[0, 0, 2]], X),
    "x[mask]": (lambda x: ops.getitem(x, index=X > 0), lambda x: x[torch.tensor(X > 0)], X),
    "inv": (lambda x: ops.inv(x), lambda x: torch.linalg.inv(x), SQUARE),
    "solve": (lambda x, y: ops.solve(x, y), lambda x, y: torch.linalg.solve(x, y), SQUARE, X),
    "det": (lambda x: ops.det(x), lambda x: torch.linalg.det(x), SQUARE),
    "slogdet": (lambda x: ops.slogdet(x), lambda x: torch.linalg.slogdet(x), SQUARE),
    "cholesky": (lambda x: ops.cholesky(x), lambda x: torch.linalg.cholesky(x), POSITIVE),
    "svd": (lambda x: ops.svd(x), lambda x: torch.linalg.svd(x, full_matrices=False), X),
    "qr": (lambda x: ops.qr(x), lambda x: torch.linalg.qr(x), X),
    "pinv": (lambda x: ops.pinv(x), lambda x: torch.linalg.pinv(x), X),
    "eigvalsh": (lambda x: ops.eigvalsh(x), lambda x: torch.linalg.eigvalsh(x), POSITIVE),
    "clamp": (lambda x: ops.clip(x, -0.5, 0.5), lambda x: x.clamp(-0.5, 0.5), X),
    "square": (lambda x: ops.square(x), lambda x: x.square(), X),
    "pow": (lambda x: ops.pow(x, 2.0), lambda x: x**2, X),
    "where": (lambda x: ops.where(X > 0, x, 1.0), lambda x: torch.where(torch.tensor(X > 0), x, 1.0), X),
    "round": (lambda x: ops.round(x, decimals=1), lambda x: x.round(decimals=1), X),
    "polygamma": (lambda x: ops.polygamma(x, n=2), lambda x: torch.polygamma(2, x), abs(X) + 0.5),
}  # fmt: skip

MADE_OF_OTHERS = {"eigvalsh"}
"""Where PyTorch's node stands for several of ours, or ours for several of PyTorch's."""


@pytest.mark.parametrize("name", PAIRS)
def test_general(name):
    ours, theirs, *operands = PAIRS[name]
    xs, ys = [Traced(x) for x in operands], [torch.tensor(x, requires_grad=True) for x in operands]
    zs, ws = ours(*xs), theirs(*ys)
    zs, ws = (list(z) if isinstance(z, tuple) else [z] for z in (zs, ws))
    assert len(zs) == len(ws)
    for z, w in zip(zs, ws):
        assert_allclose(z.value, w.detach().numpy(), rtol=1e-9, atol=1e-10)
    pairs = [(z, w) for z, w in zip(zs, ws) if w.grad_fn is not None]
    assert pairs
    gs = [np.random.default_rng(2).standard_normal(z.shape).astype(z.dtype) for z, _ in pairs]
    bars = gradients([z for z, _ in pairs], gs, xs)
    expected = torch.autograd.grad([w for _, w in pairs], ys, [torch.tensor(g) for g in gs])
    for bar, grad in zip(bars, expected, strict=True):
        assert_allclose(bar, grad.numpy(), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", sorted(set(PAIRS) - MADE_OF_OTHERS))
def test_the_node_has_the_name_it_has_in_torch(name):
    ours, theirs, *operands = PAIRS[name]
    zs, ws = ours(*map(Traced, operands)), theirs(*[torch.tensor(x, requires_grad=True) for x in operands])
    node, w = (z[0] if isinstance(z, tuple) else z for z in (zs, ws))
    if node.op.name == "output":
        (node,) = node.operands
    number = next((k for k, x in enumerate(node.operands) if not isinstance(x, Traced)), None)
    assert node.op.node_name(node.params, number, getattr(node.value, "ndim", 0)) == type(w.grad_fn).__name__
