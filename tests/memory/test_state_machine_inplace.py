"""The random programs of `test_state_machine` with views and in-place changes among them.

In the naive world a change makes a new node: of the base, with the new values in the place of the view,
and of every view that there is, each read from the base anew.
"""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import invariant, rule
from test_state_machine import WHICH, Pair, Programs

import tape

LOOKS = {
    "first": lambda a: a[0],
    "rest": lambda a: a[1:],
    "backwards": lambda a: a[::-1],
    "new axis": lambda a: a[..., None],
    "flat": lambda a: a.reshape(-1),
    "turned": lambda a: a.T,
    "all": lambda a: a[...],
}
CHANGES = {
    "mul_": (lambda x, y: x * y, lambda x, y: y, lambda x, y: x),
    "add_": (lambda x, y: x + y, lambda x, y: 1.0, lambda x, y: 1.0),
    "copy_": (lambda x, y: x * 0 + y, lambda x, y: 0.0, lambda x, y: 1.0),
    "sin_": (lambda x, y: np.sin(x), lambda x, y: np.cos(x), None),
    "zero_": (lambda x, y: x * 0, lambda x, y: 0.0, None),
}


class Seen(Pair):
    """A pair that may be a view of another one.

    Attributes:
        base: the pair that it is a view of, or itself.
        look: makes the view of an array like the base's.
        part: whether it is one of several views.
        changes: for a base, how often it has been changed.
    """

    def __init__(self, tensor, node, base=None, look=lambda a: a, part=False):
        super().__init__(tensor, node)
        self.base, self.look, self.part, self.changes = base or self, look, part, 0


class InPlacePrograms(Programs):
    def __init__(self):
        super().__init__()
        self.saved: dict[int, list[tuple[Seen, int]]] = {}
        self.barred: set[int] = set()
        self.nodes: list[naive.Node] = []

    def leaf(self, seed, shape, requires, dtype):
        super().leaf(seed, shape, requires, dtype)
        last = self.pairs.pop()
        self.pairs.append(Seen(last.tensor, last.node))

    def keep(self, tensor, node, base=None, look=lambda a: a, part=False):
        before = len(self.pairs)
        super().keep(tensor, node)
        if len(self.pairs) > before:
            self.pairs[-1] = Seen(tensor, node, base, look, part)
        self.note(node)

    def note(self, node, *made):
        """Remember in which state a node has seen what its rule may read: its operands, and what it has made."""
        self.nodes.append(node)  # so that no identity is given twice
        known = {id(n) for n in (node, *node.operands)}
        self.saved[id(node)] = [
            (p.base, p.base.changes) for p in (*made, *self.pairs) if p in made or id(p.node) in known
        ]

    def view(self, p, function, tensor, part=False):
        """A view in both worlds, if it is one in ours; else a copy."""
        node = naive.through(function(p.node.value), p.node, function)
        if tensor._is_view():
            assert tensor._base is p.base.tensor
            inner = p.look
            self.keep(tensor, node, p.base, lambda a: function(inner(a)), part or p.part)
        else:
            self.keep(tensor, node)

    @rule(k=WHICH, name=st.sampled_from(sorted(LOOKS)))
    def index(self, k, name):
        p = self.pick(k, lambda p: p.node.value.ndim > 0 and p.node.value.shape[0] > 0)
        if p is not None:
            self.view(p, LOOKS[name], LOOKS[name](p.tensor))

    @rule(k=WHICH)
    def reshape(self, k):
        p = self.pick(k)
        if p is not None:
            self.view(p, lambda a: a.reshape(-1, 1), p.tensor.reshape(-1, 1))

    @rule(k=WHICH)
    def split(self, k):
        p = self.pick(k, lambda p: p.node.value.ndim > 0 and p.node.value.shape[0] in (2, 3))
        if p is not None:
            for i, part in enumerate(tape.split(p.tensor, 1)):
                self.view(p, lambda a, i=i: a[i : i + 1], part, part=True)

    @rule(k=WHICH, m=WHICH, name=st.sampled_from(sorted(CHANGES)))
    def change(self, k, m, name):
        """A change in place, of a tensor, a base or a view, which may have a history or get one."""
        found = self.changeable()
        p = found[k % len(found)] if found and m % 4 else self.pick(k)
        q = self.pick(m, lambda q: fits(p, q))
        f, dx, dy = CHANGES[name]
        operands = (q,) if dy else ()
        if q is None:
            return
        tracked = p.node.requires or p.base.node.requires or (dy and q.node.requires)
        if tracked and (p.part or is_parameter(p.base) or is_parameter(p)):
            with pytest.raises(RuntimeError, match="cannot change"):
                getattr(p.tensor, name)(*(o.tensor for o in operands))
            return
        x, y = p.node.value, q.node.value
        z = f(x, y).astype(x.dtype)
        if not np.isfinite(z).all() or (np.abs(z) >= 1e3).any():
            return
        assert getattr(p.tensor, name)(*(o.tensor for o in operands)) is p.tensor
        parts = [(p.node, dx(x, y), name in ("mul_", "sin_"))] + ([(q.node, dy(x, y), name == "mul_")] if dy else [])
        self.rebase(p, naive.elementwise(z, *parts))

    @rule(k=WHICH, m=WHICH)
    def assign(self, k, m):
        """x[0] = y."""
        p = self.pick(k, lambda p: p.node.value.ndim > 0 and p.node.value.shape[0] > 0)
        q = self.pick(m, lambda q: p is not None and q.node.value.shape == p.node.value.shape[1:])
        if p is None or q is None:
            return
        tracked = p.node.requires or p.base.node.requires or q.node.requires
        if tracked and (p.part or is_parameter(p.base) or is_parameter(p)):
            with pytest.raises(RuntimeError, match="cannot change"):
                p.tensor[0] = q.tensor
            return
        p.tensor[0] = q.tensor
        self.rebase(p, put(p.node, q.node, lambda a: a[0]))

    def changeable(self):
        return [p for p in self.pairs if not p.part and not is_parameter(p.base)]

    @rule(k=WHICH, name=st.sampled_from(sorted(LOOKS)))
    def result_with_views(self, k, name):
        """What programs change most: a result, after two looks at it."""
        p = self.pick(k, lambda p: p.node.value.ndim > 0 and p.node.value.shape[0] > 0)
        if p is not None:
            before = len(self.pairs)
            self.unary(self.pairs.index(p), "neg")
            if len(self.pairs) > before:
                made = self.pairs[-1]
                self.view(made, LOOKS[name], LOOKS[name](made.tensor))
                self.view(made, LOOKS["first"], made.tensor[0])
                self.change(self.changeable().index(made), 1, "zero_" if k % 2 else "add_")

    @rule(k=WHICH, name=st.sampled_from(["sin_", "zero_", "mul_"]))
    def change_without_grad(self, k, name):
        """A change that no gradient knows of, of a parameter too: views are made anew, from the same base."""
        p = self.pick(k)
        x = p.node.value
        z = CHANGES[name][0](x, x).astype(x.dtype)
        if not np.isfinite(z).all() or (np.abs(z) >= 1e3).any():
            return
        with tape.no_grad():
            getattr(p.tensor, name)(*([p.tensor] if name == "mul_" else []))
        b = p.base
        b.changes += 1
        b.node.value = z if b is p else placed(b.node.value, z, p.look)
        self.refresh(b)

    def rebase(self, p, node):
        """Let a pair, its base and all views of that go on from the node of a change."""
        b = p.base
        b.changes += 1
        self.note(node, p)
        self.move(b, node if b is p else put(b.node, node, p.look))
        self.refresh(b)

    def refresh(self, b):
        """Every view of a changed base is read from it anew."""
        for v in self.pairs:
            if v.base is b and v is not b:
                self.move(v, naive.through(v.look(b.node.value), b.node, v.look))
                if v.part:
                    self.barred.add(id(v.node))

    def move(self, p, node):
        self.nodes.append(node)
        old, p.node = p.node, node
        if old.edges and node.edges:
            node.retains, node.grad, old.retains = old.retains, old.grad, False

    @invariant()
    def same_versions(self):
        """A change counts for all that look at the memory, but for one of several views, which counts apart."""
        for p in self.pairs:
            assert p.part or p.tensor._version == p.base.changes

    def is_stale(self, nodes, wanted):
        """Whether something that a rule may have saved was changed since, or what one of several views looks at."""
        for node in naive.leading(nodes, wanted):
            if id(node) in self.barred:
                return True
            if any(e.saves for e in node.edges) and any(b.changes != n for b, n in self.saved.get(id(node), ())):
                return True
        return False

    def run_backward(self, outputs, targets, retain, act, **how):
        nodes, wanted = [p.node for p in outputs], None if targets is None else [p.node for p in targets]
        if self.is_stale(nodes, wanted):
            return  # an error, or right: `test_inplace` says when which
        super().run_backward(outputs, targets, retain, act, **how)

    def teardown(self):
        self.saved.clear()
        self.barred.clear()
        self.nodes.clear()
        super().teardown()


def fits(p, q):
    """Whether q broadcasts to p, and does not lie in its memory."""
    try:
        shape = np.broadcast_shapes(p.node.value.shape, q.node.value.shape)
    except ValueError:
        return False
    return shape == p.node.value.shape and (q is p or q.base is not p.base)


def is_parameter(p):
    return p.node.requires and not p.node.edges


def placed(a, b, look):
    """An array with another one in the place of a view."""
    made = np.array(a)
    cells = np.arange(made.size).reshape(made.shape)
    made.reshape(-1)[look(cells)] = b
    return made


def put(x, y, look):
    """The node of x with y in the place of a view."""
    return naive.joint(
        placed(x.value, y.value, look),
        (x, lambda g: placed(g, 0.0, look)),
        (y, lambda g: naive.sum_to(np.asarray(look(g)), y.value.shape).astype(y.value.dtype)),
    )


TestInPlacePrograms = InPlacePrograms.TestCase
TestInPlacePrograms.settings = settings(
    stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck), max_examples=120
)
