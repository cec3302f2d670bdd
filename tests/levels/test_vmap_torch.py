"""vmap in every company, against PyTorch's, where it is installed: the same program, run by both."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

rng = np.random.default_rng(5)
A, B = rng.standard_normal((3, 4)), rng.standard_normal((3, 4))
M, V = rng.standard_normal((3, 4, 4)), rng.standard_normal(4)
I, J = np.array([2, 0, 3]), np.array([[0, 1], [3, 3], [2, 0]])


class Library:
    """The names that the programs use, in one of the two libraries."""

    def __init__(self, module):
        self.m = module
        self.vmap, self.func = module.vmap, module.func
        self.grad, self.jacrev, self.jacfwd = module.func.grad, module.func.jacrev, module.func.jacfwd
        self.vjp, self.jvp, self.hessian = module.func.vjp, module.func.jvp, module.func.hessian

    def leaf(self, x):
        return self.m.tensor(x, requires_grad=True)


def f(t, x):
    return (x.sin() * x.roll(1, 0)).sum() * x[0]


def g(t, x):
    return t.m.stack([x.prod(), (x**2).sum()]).exp()


PROGRAMS = {
    "grad": lambda t, a, b, m, v: t.vmap(t.grad(lambda x: f(t, x)))(a),
    "grad of two": lambda t, a, b, m, v: t.vmap(t.grad(lambda x, y: (x * y).tanh().sum(), argnums=(0, 1)))(a, b),
    "per-sample": lambda t, a, b, m, v: t.vmap(t.grad(lambda w, x: (w @ x).tanh().sum()), in_dims=(None, 0))(m[0], a),
    "per-sample through an unbatched part": lambda t, a, b, m, v: t.vmap(
        t.grad(lambda w, x: ((w * w).sin() @ x).sum() + w.sum()), in_dims=(None, 0))(m[0], a),
    "per-sample, independent of the batch": lambda t, a, b, m, v: t.vmap(
        t.grad(lambda w, x: (w * w).sum()), in_dims=(None, 0))(v, a),
    "grad over vmap": lambda t, a, b, m, v: t.grad(lambda w: t.vmap(lambda x: (w * x).exp().sum())(a).sum())(v),
    "grad of grad": lambda t, a, b, m, v: t.vmap(t.grad(lambda x: t.grad(lambda y: f(t, y))(x).pow(2).sum()))(a),
    "jacrev": lambda t, a, b, m, v: t.vmap(t.jacrev(lambda x: g(t, x)))(a),
    "jacfwd": lambda t, a, b, m, v: t.vmap(t.jacfwd(lambda x: g(t, x)))(a),
    "jacrev over vmap": lambda t, a, b, m, v: t.jacrev(t.vmap(lambda x: g(t, x)))(a),
    "jacfwd over vmap": lambda t, a, b, m, v: t.jacfwd(t.vmap(lambda x: g(t, x)))(a),
    "hessian": lambda t, a, b, m, v: t.vmap(t.hessian(lambda x: f(t, x)))(a),
    "hessian of what is shared": lambda t, a, b, m, v: t.vmap(
        t.hessian(lambda w, x: (w * w * x).sin().sum()), in_dims=(None, 0))(v, a),
    "jacrev of jacfwd": lambda t, a, b, m, v: t.vmap(t.jacrev(t.jacfwd(lambda x: f(t, x))))(a),
    "jacrev of jacrev": lambda t, a, b, m, v: t.vmap(t.jacrev(t.jacrev(lambda x: f(t, x))))(a),
    "hessian over vmap": lambda t, a, b, m, v: t.hessian(lambda w: t.vmap(lambda x: (w * x).exp().sum())(a).sum())(v),
    "jvp": lambda t, a, b, m, v: t.vmap(lambda x, d: t.jvp(lambda y: g(t, y), (x,), (d,))[1])(a, b),
    "jvp of what is shared": lambda t, a, b, m, v: t.vmap(
        lambda d: t.jvp(lambda y: g(t, y), (v,), (d,)), in_dims=0)(b),
    "jvp over vmap": lambda t, a, b, m, v: t.jvp(t.vmap(lambda x: g(t, x)), (a,), (b,)),
    "vjp within": lambda t, a, b, m, v: t.vmap(lambda x, w: t.vjp(lambda y: y * y.sum(), x)[1](w)[0])(a, b),
    "vjp of what is shared": lambda t, a, b, m, v: t.vmap(t.vjp(lambda y: y * y.sum(), v)[1])(b)[0],
    "vjp over vmap": lambda t, a, b, m, v: t.vjp(t.vmap(lambda x: x * x.sum()), a)[1](b)[0],
    "hvp": lambda t, a, b, m, v: t.vmap(
        lambda x, d: t.jvp(t.grad(lambda y: f(t, y)), (x,), (d,))[1])(a, b),
    "nested": lambda t, a, b, m, v: t.vmap(t.vmap(lambda x, y: x * y, in_dims=(None, 0)), in_dims=(0, None))(a, b),
    "nested, both mapped": lambda t, a, b, m, v: t.vmap(t.vmap(lambda x, y: x.exp() + y), in_dims=(1, 1))(a, b),
    "nested grads": lambda t, a, b, m, v: t.vmap(lambda x: t.vmap(t.grad(lambda y: (x * y).sin().sum()))(b))(a),
    "nested, shared target": lambda t, a, b, m, v: t.vmap(
        lambda x: t.vmap(lambda y: t.grad(lambda w: (w * x * y).sin().sum())(v))(b))(a),
    "three deep": lambda t, a, b, m, v: t.vmap(lambda x: t.vmap(lambda y: t.vmap(lambda z: x * y + z)(v))(b))(a),
    "in_dims": lambda t, a, b, m, v: t.vmap(lambda x, p: x @ p["w"] + p["b"][0], in_dims=(0, {"w": 2, "b": (None,)}))(
        a, {"w": m.transpose(0, 2)[:, :, :3], "b": (v[0],)}),
    "out_dims": lambda t, a, b, m, v: t.vmap(lambda x: (x, {"k": t.m.outer(x, x)}), out_dims=(1, {"k": -1}))(a),
    "aux": lambda t, a, b, m, v: t.vmap(t.grad(lambda x: (f(t, x), x.cos()), has_aux=True))(a),
    "chunks": lambda t, a, b, m, v: t.vmap(lambda x: g(t, x), chunk_size=2, out_dims=1)(a),
    "chunked jacobian": lambda t, a, b, m, v: t.jacrev(lambda x: (x @ m).sin(), chunk_size=5)(a),
    "linalg": lambda t, a, b, m, v: t.vmap(lambda x: (x @ x.T + 3 * t.m.eye(4, dtype=x.dtype)).inverse())(m)
    if t.m is torch else t.vmap(lambda x: t.m.inv(x @ x.T + 3 * t.m.eye(4)))(m),
    "matvec": lambda t, a, b, m, v: (t.vmap(lambda x: m[0] @ x)(a), t.vmap(lambda x: x @ m[0])(a),
                                     t.vmap(lambda x: m @ x)(a), t.vmap(lambda x: x @ m)(a), t.vmap(t.m.dot)(a, b)),
    "einsum": lambda t, a, b, m, v: t.vmap(lambda x, y: t.m.einsum("ij,j,k->ik", x, y, v))(m, a),
    "where": lambda t, a, b, m, v: t.vmap(t.grad(lambda x: t.m.where(x > 0, x.exp(), x**2).sum()))(a),
    "max": lambda t, a, b, m, v: t.vmap(lambda x: x.max(0).values * x.max(0).indices)(a),
    "sort": lambda t, a, b, m, v: t.vmap(t.grad(lambda x: (x.sort()[0] * v).sum()))(a),
    "softmax": lambda t, a, b, m, v: t.vmap(t.jacfwd(lambda x: x.softmax(0)))(a),
    "cumsum": lambda t, a, b, m, v: t.vmap(lambda x: x.cumsum(0).flip(0).cumprod(0))(a),
    "index by what is mapped": lambda t, a, b, m, v: t.vmap(lambda x, i: x[i])(a, t.m.tensor(I)),
    "index a shared tensor": lambda t, a, b, m, v: t.vmap(lambda i: m[:, i, 1])(t.m.tensor(I)),
    "index by vectors": lambda t, a, b, m, v: t.vmap(lambda x, i: (x[i], x[:, i], x[i, i], x[1, i]))(m, t.m.tensor(J)),
    "grad through an index": lambda t, a, b, m, v: t.vmap(
        t.grad(lambda x, i: (x[:, i] * x[i, 0]).sum()))(m, t.m.tensor(J)),
    "gather": lambda t, a, b, m, v: t.vmap(lambda x, i: x.gather(0, i))(a, t.m.tensor(J)),
    "slices": lambda t, a, b, m, v: t.vmap(lambda x: (x[1:3], x[..., None], x[:, 0], x[-1, ::2]))(m),
    "shapes": lambda t, a, b, m, v: t.vmap(lambda x: x.reshape(-1, 2).permute(1, 0).unsqueeze(1).expand(2, 3, 8))(m),
    "join": lambda t, a, b, m, v: t.vmap(lambda x: t.m.cat([x, v, x[:1]]) + t.m.stack([x[0], v[0]], 0).sum())(a),
    "split": lambda t, a, b, m, v: t.vmap(lambda x: sum(p.sum() for p in x.split(3)) * x.chunk(2)[1])(a),
    "linearize": lambda t, a, b, m, v: t.vmap(t.func.linearize(lambda x: g(t, x), v)[1])(b),
    "batched gradients": lambda t, a, b, m, v: t.m.autograd.grad(
        (x := t.leaf(A)).sin() * x, x, t.m.stack([a, b]), is_grads_batched=True),
    "jacobian, vectorized": lambda t, a, b, m, v: t.m.autograd.functional.jacobian(
        lambda x, y: (x @ y, (y * y).sum()), (a, v), vectorize=True),
    "jacobian, forward": lambda t, a, b, m, v: t.m.autograd.functional.jacobian(
        lambda x, y: (x @ y, (y * y).sum()), (a, v), vectorize=True, strategy="forward-mode"),
    "hessian, vectorized": lambda t, a, b, m, v: t.m.autograd.functional.hessian(
        lambda x: f(t, x), v, vectorize=True),
    "hessian, forward over reverse": lambda t, a, b, m, v: t.m.autograd.functional.hessian(
        lambda x, y: (x @ y).sin().sum(), (a, v), vectorize=True, outer_jacobian_strategy="forward-mode"),
    "zeros_like": lambda t, a, b, m, v: t.vmap(lambda x: t.m.zeros_like(x).add_(x) + x.new_ones(2, 4) * x)(a),
    "in place": lambda t, a, b, m, v: t.vmap(lambda x, y: x.clone().mul_(y).add_(1.0))(a, b),
    "in place, differentiated": lambda t, a, b, m, v: t.vmap(t.grad(lambda x: _filled(x.sin(), x).prod()))(a),
    "in place, on what a rule needs": lambda t, a, b, m, v: t.vmap(t.grad(lambda x: (x * 2).mul_(x).sum()))(a),
    "in place, hessian": lambda t, a, b, m, v: t.vmap(t.hessian(lambda x: _filled(x.sin(), x).prod()))(a),
    "in place, hessian of what is shared": lambda t, a, b, m, v: t.vmap(
        t.hessian(lambda w, x: (_filled(w * w, w) * x).prod()), in_dims=(None, 0))(v, a),
    "in place, on views": lambda t, a, b, m, v: t.vmap(t.grad(lambda x: _viewed(x * 2, x).prod()))(m),
    "in place, shapes": lambda t, a, b, m, v: t.vmap(lambda x: x.clone().t_().unsqueeze_(0).mul_(x[0]).squeeze_(0))(m),
    "in place, by index": lambda t, a, b, m, v: t.vmap(lambda x, y: _filled(x, y))(a, b),
}  # fmt: skip


def _filled(x, y):
    z = x.clone()
    z[1] = y[2] * 2
    z[2:] += y[:2]
    z[..., 0] = 1.5
    return z


def _viewed(y, x):
    y[0].add_(x[1])
    y.t()[1:3, 2] *= 3.0
    y.diagonal().mul_(x[0])
    return y[:2]


def leaves(tree):
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    if isinstance(tree, (tuple, list)):
        return [x for part in tree for x in leaves(part)]
    return [tree]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_as_torch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = leaves(PROGRAMS[name](Library(torch), *map(torch.tensor, (A, B, M, V))))
    found = leaves(PROGRAMS[name](Library(tape), *map(tape.tensor, (A, B, M, V))))
    for ours, theirs in zip(found, expected, strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_reverse_mode_through_vmap_reaches_arguments_and_closures():
    grads = []
    for t in (Library(torch), Library(tape)):
        a, w, c = t.leaf(A), t.leaf(V), t.leaf(B)
        t.vmap(lambda x, w=w, c=c: (w * x).sin().sum() + (c @ w).prod())(a).pow(2).sum().backward()
        grads.append([x.grad.numpy() for x in (a, w, c)])
    for theirs, ours in zip(*grads):
        assert_allclose(ours, theirs, rtol=1e-9)
