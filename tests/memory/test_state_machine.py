"""Random programs on the Wengert list and on a naive graph of Python objects, compared at every step."""

from __future__ import annotations

import gc

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import tape
from tape.autograd import grad
from tape.backprop.backward import BackwardTask
from tape.history import propagate
from tape.jit.driving import dead_rows, run
from tape.recording import liveness
from tape.recording.wengert import current

SHAPES = [(), (1,), (3,), (2, 3), (3, 1), (1, 3), (2, 1, 3), (0,), (2, 0)]
LARGEST = 1e3
WHICH = st.integers(0, 1 << 16)

UNARY = {
    "sin": (np.sin, np.cos),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "exp": (np.exp, np.exp),
    "neg": (np.negative, None),
    "square": (np.square, lambda x: 2 * x),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2),
    "abs": (np.abs, np.sign),
}
BINARY = {
    "__add__": (np.add, lambda x, y: 1.0, lambda x, y: 1.0, (False, False)),
    "__sub__": (np.subtract, lambda x, y: 1.0, lambda x, y: -1.0, (False, False)),
    "__mul__": (np.multiply, lambda x, y: y, lambda x, y: x, (True, True)),
    "__truediv__": (np.divide, lambda x, y: 1 / y, lambda x, y: -x / y**2, (True, True)),
}
INDICES = [0, -1, slice(None, None, -1), slice(1, None), (Ellipsis, None), None, [0, 0], np.array([True, False, True])]


def agree(found, expected, single, size=0.0, coarse=2e-3):
    """Both worlds round in different orders: to that of float32 if it is among the operands, else of float64.

    `size` is that of the adjoints that were added up on the way, whose rounding is left where they cancel.
    """
    precision = coarse if single else 1e-9
    np.testing.assert_allclose(found, expected, rtol=precision, atol=precision * max(1.0, size))


def single(nodes):
    """Whether anything below these nodes is float32."""
    return any(n.value.dtype == np.float32 for n in naive.order(nodes))


def largest(arrays):
    return max((float(np.abs(a).max()) for a in arrays if np.size(a)), default=0.0)


class Pair:
    """The same value in both worlds."""

    def __init__(self, tensor, node):
        self.tensor, self.node = tensor, node


class Programs(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        gc.freeze()  # what other tests left would be looked through at every step
        gc.collect()
        self.list = current()
        self.list.scan()
        self.before = len(self.list)
        self.pairs: list[Pair] = []
        self.retained = False
        self.single = False
        self.size = 0.0

    def pick(self, k, wanted=lambda pair: True):
        found = [p for p in self.pairs if wanted(p)]
        return found[k % len(found)] if found else None

    def keep(self, tensor, node):
        """Add a pair, unless its numbers got out of hand."""
        if np.isfinite(node.value).all() and (np.abs(node.value) < LARGEST).all():
            assert tensor.requires_grad == node.requires
            assert tensor.is_leaf == (not node.edges)
            assert tensor.dtype == node.value.dtype
            self.pairs.append(Pair(tensor, node))

    @initialize(seed=WHICH, shape=st.sampled_from(SHAPES))
    def first(self, seed, shape):
        self.leaf(seed, shape, True, np.float64)

    def leaf(self, seed, shape, requires, dtype):
        self.single |= dtype is np.float32
        value = np.random.default_rng(seed).uniform(-2, 2, shape).astype(dtype)
        self.pairs.append(Pair(tape.tensor(value, requires_grad=requires), naive.Node(value, requires=requires)))

    @rule(
        seed=WHICH,
        shape=st.sampled_from(SHAPES),
        requires=st.booleans(),
        dtype=st.sampled_from([np.float64] * 3 + [np.float32]),
    )
    def new_leaf(self, seed, shape, requires, dtype):
        self.leaf(seed, shape, requires, dtype)

    @rule(k=WHICH, name=st.sampled_from(sorted(UNARY)))
    def unary(self, k, name):
        p = self.pick(k)
        if p is None:
            return
        f, df = UNARY[name]
        x = p.node.value
        saves = df is not None
        self.keep(getattr(p.tensor, name)(), naive.elementwise(f(x), (p.node, df(x) if saves else -1.0, saves)))

    @rule(k=WHICH, m=WHICH, name=st.sampled_from(sorted(BINARY)))
    def binary(self, k, m, name):
        p, q = self.pick(k), self.pick(m)
        if p is None or q is None:
            return
        x, y = p.node.value, q.node.value
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            with pytest.raises(Exception, match="shape"):
                getattr(p.tensor, name)(q.tensor)
            return
        if name == "__truediv__" and (np.abs(y) < 0.1).any():
            return
        f, dx, dy, saves = BINARY[name]
        node = naive.elementwise(f(x, y), (p.node, dx(x, y), saves[0]), (q.node, dy(x, y), saves[1]))
        self.keep(getattr(p.tensor, name)(q.tensor), node)

    @rule(
        k=WHICH,
        number=st.sampled_from([2, -0.5, 3.25]),
        name=st.sampled_from(["__mul__", "__rmul__", "__rsub__", "__rtruediv__", "__add__"]),
    )
    def with_a_number(self, k, number, name):
        p = self.pick(k)
        if p is None:
            return
        x = p.node.value
        if name == "__rtruediv__" and (np.abs(x) < 0.1).any():
            return
        partial = {"__mul__": number, "__rmul__": number, "__rsub__": -1.0, "__add__": 1.0, "__rtruediv__": None}[name]
        saves = partial is None
        if saves:
            with np.errstate(all="ignore"):
                partial = -number / x**2
        value = getattr(x, name)(number)
        self.keep(getattr(p.tensor, name)(number), naive.elementwise(value, (p.node, partial, saves)))

    @rule(k=WHICH, index=st.sampled_from(INDICES))
    def index(self, k, index):
        p = self.pick(k)
        if p is None:
            return
        try:
            value = p.node.value[index]
        except IndexError:
            with pytest.raises(IndexError):
                p.tensor[index]
            return
        self.keep(p.tensor[index], naive.through(value, p.node, lambda a: a[index]))

    @rule(k=WHICH, name=st.sampled_from(["sum", "mean"]), axis=st.sampled_from([None, 0, -1]), keepdims=st.booleans())
    def reduce(self, k, name, axis, keepdims):
        p = self.pick(k, lambda p: p.node.value.size > 0)
        if p is None or (axis is not None and p.node.value.ndim == 0):
            return
        value = getattr(p.node.value, name)(axis=axis, keepdims=keepdims)
        node = naive.through(value, p.node, lambda a: getattr(a, name)(axis=axis, keepdims=keepdims))
        self.keep(getattr(p.tensor, name)(axis=axis, keepdims=keepdims), node)

    @rule(k=WHICH)
    def reshape(self, k):
        p = self.pick(k)
        if p is not None:
            self.keep(p.tensor.reshape(-1), naive.through(p.node.value.reshape(-1), p.node, lambda a: a.reshape(-1)))

    @rule(k=WHICH, m=WHICH)
    def join(self, k, m):
        """An op of many operands, the same one maybe twice."""
        p = self.pick(k, lambda p: p.node.value.ndim > 0)
        if p is None:
            return
        shape = p.node.value.shape
        q = self.pick(m, lambda p: p.node.value.shape == shape)
        n = shape[0]
        value = np.concatenate([p.node.value, q.node.value, p.node.value])
        parts = [(p.node, lambda g: g[:n]), (q.node, lambda g: g[n : 2 * n]), (p.node, lambda g: g[2 * n :])]
        cast = [(node, lambda g, f=f, node=node: f(g).astype(node.value.dtype)) for node, f in parts]
        self.keep(tape.cat([p.tensor, q.tensor, p.tensor]), naive.joint(value, *cast))

    @rule(k=WHICH)
    def split(self, k):
        """An op of several results."""
        p = self.pick(k, lambda p: p.node.value.ndim > 0 and p.node.value.shape[0] in (2, 3))
        if p is None:
            return
        nodes: list = []
        for i, part in enumerate(tape.split(p.tensor, 1)):
            nodes.append(naive.through(p.node.value[i : i + 1], p.node, lambda a, i=i: a[i : i + 1]))
            nodes[i].together = nodes
            self.keep(part, nodes[i])

    @rule(k=WHICH)
    def sort(self, k):
        p = self.pick(k, lambda p: p.node.value.ndim > 0 and p.node.value.size > 0)
        if p is None:
            return
        values, indices = tape.sort(p.tensor)
        places = np.argsort(p.node.value, axis=-1, kind="stable")
        assert not indices.requires_grad
        node = naive.through(np.sort(p.node.value), p.node, lambda a: np.take_along_axis(a, places, -1))
        for edge in node.edges:
            edge.saves = True
        self.keep(values, node)

    @rule(k=WHICH)
    def without_grad(self, k):
        p = self.pick(k)
        if p is None:
            return
        with tape.no_grad():
            self.keep(p.tensor * 0.5, naive.Node(p.node.value * 0.5))

    @rule(k=WHICH)
    def forget(self, k):
        p = self.pick(k)
        if p is not None and len(self.pairs) > 1:
            self.pairs.remove(p)

    @rule(k=WHICH, factor=st.sampled_from([2.0, -1.0]))
    def hook(self, k, factor):
        p = self.pick(k, lambda p: p.node.edges)
        if p is not None:
            p.tensor.register_hook(lambda g: None if g is None else g * factor)
            p.node.hooks.append(lambda g: g * np.asarray(factor, g.dtype))
            p.node.watched = True

    @rule(k=WHICH)
    def retain(self, k):
        p = self.pick(k, lambda p: p.node.edges)
        if p is not None:
            p.tensor.retain_grad()
            p.node.retains = p.node.watched = self.retained = True

    @rule()
    def scan(self):
        """Both scans keep the same; scanning changes nothing that anybody can see."""
        gc.collect()
        jitted, _ = dead_rows.scan_rows(self.list)
        plain, _ = liveness.scan_in_python(self.list)
        np.testing.assert_array_equal(jitted, plain)
        self.list.scan()
        assert len(self.list) == jitted.sum()

    def compare_sweeps(self, outputs, gs, targets):
        """The jitted sweep and the one in Python find the same and visit the same."""
        if self.retained or any(p.tensor.is_leaf for p in outputs):
            return
        keys = None if targets is None else {naive_key(p): ref(p) for p in targets}
        roots: dict = {}
        for p, g in zip(outputs, gs):
            roots[p.tensor._node] = roots[p.tensor._node] + g if p.tensor._node in roots else g
        before, self.list.recording = (self.list.recording, self.list.where), False
        self.list.task = BackwardTask(tuple(roots), keys)
        try:
            a, visited_a = run.sweep(self.list, dict(roots), {}, keys)
            b, visited_b = propagate.sweep(self.list, dict(roots), {}, keys, False)
        finally:
            self.list.recording, self.list.where = before
            self.list.task = None
        assert a.keys() == b.keys()
        coarse, size = single([p.node for p in outputs]), max(largest(a.values()), largest(b.values()))
        for k in a:
            agree(a[k], b[k], coarse, size, 1e-4)
        assert [tuple(r) for r in visited_a] == visited_b

    def run_backward(self, outputs, targets, retain, act, into=False):
        """Run both worlds; `act` runs ours, and gives back adjoints to compare (or None).

        `into` says that gradients are added to the targets: as in PyTorch, they retain theirs from then on.  On the
        way to one of several results the others are come by as well, which counts where hooks are: that is compared
        with PyTorch, in `tests.history.test_hooks_of_results`.
        """
        groups = [p.node.together for p in targets or () if len(p.node.together) > 1]
        if any(n.watched for group in groups for n in group):
            return
        gs = [
            np.linspace(1, 2, max(p.node.value.size, 1))[: p.node.value.size].reshape(p.node.value.shape)
            for p in outputs
        ]
        gs = [g.astype(p.node.value.dtype) for g, p in zip(gs, outputs)]
        nodes = [p.node for p in outputs]
        wanted = None if targets is None else [p.node for p in targets]
        try:
            self.size += (size := largest(naive.adjoints(nodes, gs, wanted).values()))
        except naive.Released:
            with pytest.raises(RuntimeError, match="second time"):
                act([tape.tensor(g) for g in gs])
            self.drop_retained()
            return
        if wanted is not None and any(n.released for n in naive.leading(nodes, wanted)):
            return  # what was released may be for a side that is not asked for: either answer is right
        self.compare_sweeps(outputs, gs, targets)
        for n in wanted if into else ():
            n.retains = n.watched = n.retains or bool(n.edges)
        bars = naive.backward(nodes, gs, wanted, retain)
        found = act([tape.tensor(g) for g in gs])
        if found is not None:
            for p, g in zip(targets, found):
                if id(p.node) in bars:
                    agree(g.detach().numpy(), bars[id(p.node)], single(nodes), size)
                else:
                    assert g is None
        elif targets is None:
            naive.accumulate([n for n in naive.order(nodes) if n.requires and not n.edges], bars)
        else:
            # A target that retains its gradient has it already, and as in PyTorch gets it once.
            naive.accumulate({id(n): n for n in wanted if not (n.retains and n.edges)}.values(), bars)

    def drop_retained(self):
        for p in self.pairs:
            if p.node.edges:
                p.tensor._grad = p.node.grad = None
                p.node.retains, p.tensor._retains = False, False
                if p.tensor._node in self.list.hooks:
                    self.list.hooks[p.tensor._node].retained = None

    @rule(k=WHICH, retain=st.booleans())
    def backward(self, k, retain):
        p = self.pick(k, lambda p: p.node.requires)
        if p is not None:
            self.run_backward([p], None, retain, lambda gs: p.tensor.backward(gs[0], retain_graph=retain))

    @rule(k=WHICH, m=WHICH, retain=st.booleans())
    def backward_of_two(self, k, m, retain):
        p, q = (self.pick(i, lambda p: p.node.requires) for i in (k, m))
        if p is not None:
            both = [p.tensor, q.tensor]
            self.run_backward([p, q], None, retain, lambda gs: tape.autograd.backward(both, gs, retain_graph=retain))

    @rule(k=WHICH, ms=st.lists(WHICH, min_size=1, max_size=3), retain=st.booleans(), create=st.booleans())
    def gradients(self, k, ms, retain, create):
        p = self.pick(k, lambda p: p.node.requires)
        if p is None:
            return
        targets = [self.pick(m, lambda p: p.node.requires) for m in ms]
        tensors = [t.tensor for t in targets]
        self.run_backward(
            [p],
            targets,
            retain,
            lambda gs: grad(p.tensor, tensors, gs[0], retain_graph=retain, create_graph=create, allow_unused=True),
        )

    @rule(k=WHICH, ms=st.lists(WHICH, min_size=1, max_size=3), retain=st.booleans())
    def backward_into(self, k, ms, retain):
        p = self.pick(k, lambda p: p.node.requires)
        if p is None:
            return
        targets = [self.pick(m, lambda p: p.node.requires) for m in ms]
        tensors = [t.tensor for t in targets]
        if any(t.node.edges for t in targets):
            self.retained = True
        self.run_backward(
            [p], targets, retain, lambda gs: p.tensor.backward(gs[0], retain_graph=retain, inputs=tensors), into=True
        )

    @precondition(lambda self: self.pairs)
    @invariant()
    def same_values(self):
        for p in self.pairs:
            agree(p.tensor.detach().numpy(), p.node.value, single([p.node]), coarse=1e-4)
            held = p.tensor._grad
            assert (held is None) == (p.node.grad is None), (p.tensor, held, p.node.grad)
            if held is not None:
                agree(held.detach().numpy(), p.node.grad, self.single, self.size)

    def teardown(self):
        """When nobody holds a tensor any more, nothing is left on the list."""
        self.pairs.clear()
        gc.collect()
        self.list.scan()
        assert len(self.list) <= self.before
        assert self.list.busy == 0


def naive_key(pair):
    return -id(pair.tensor) if pair.tensor.is_leaf else pair.tensor._node


def ref(pair):
    return pair.tensor if pair.tensor.is_leaf else pair.tensor._node


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(
    max_examples=30, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
