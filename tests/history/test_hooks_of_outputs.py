"""Hooks of outputs that lead to nothing that was asked for, and of targets that lead to others: as in PyTorch."""

from __future__ import annotations

import itertools

import pytest

import tape

torch = pytest.importorskip("torch")
ASKED = {
    "a middle": lambda x, w, y, z: [y], "a middle and a leaf": lambda x, w, y, z: [y, x],
    "a leaf before a middle": lambda x, w, y, z: [x, y], "two middles": lambda x, w, y, z: [z, y],
    "all": lambda x, w, y, z: [z, y, x, w], "a leaf": lambda x, w, y, z: [x], "nothing": lambda x, w, y, z: [w],
}  # fmt: skip
OUTPUTS = {
    "last": lambda x, w, y, z: [z.sum()], "middle": lambda x, w, y, z: [y], "itself": lambda x, w, y, z: [z],
    "both": lambda x, w, y, z: [y, z], "twice": lambda x, w, y, z: [y, y], "leaf": lambda x, w, y, z: [x],
    "leaf and middle": lambda x, w, y, z: [w, y],
}  # fmt: skip


def outcome(library, asked, output, retain, create_graph):
    """The gradients, what hooks have seen, and what is kept in .grad."""
    x, w = (library.tensor(v, dtype=library.float64, requires_grad=True) for v in ([1.0, 2.0], [3.0, 5.0]))
    seen = []

    def hook(name, factor):
        def call(g):
            seen.append((name, g.tolist()))
            return g * factor

        return call

    y = x * 3
    y.register_hook(hook("y", 10))
    z = y * w
    z.register_hook(hook("z", 2))
    x.register_hook(hook("x", 4))
    y.grad_fn.register_prehook(lambda gs: tuple([g + 1 for g in gs]))
    if retain:
        y.retain_grad()
        z.retain_grad()
    outputs = OUTPUTS[output](x, w, y, z)
    weights = [library.ones_like(t) for t in outputs]
    found = library.autograd.grad(
        outputs, ASKED[asked](x, w, y, z), weights, create_graph=create_graph, allow_unused=True
    )
    kept = [t.grad for t in (y, z)] if retain else []
    return [None if g is None else g.tolist() for g in (*found, *kept)], sorted(seen)


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("asked", ASKED)
def test_gradients_of_middles_with_hooks_are_pytorchs(asked, output):
    for how in itertools.product([False, True], [False, True]):
        expected = outcome(torch, asked, output, *how)
        assert outcome(tape, asked, output, *how) == expected, how


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_a_single_output_are_called_though_it_leads_to_no_target(create_graph):
    x, y = tape.ones(2, requires_grad=True), tape.ones(2, requires_grad=True)
    seen = []
    z = x * 2
    z.register_hook(lambda g: seen.append(g.tolist()) or g * 5)
    z.retain_grad()
    found = tape.autograd.grad([z], [y], [tape.ones(2)], create_graph=create_graph, allow_unused=True)
    assert found == (None,)
    assert seen == [[1, 1]]
    assert z.grad.tolist() == [5, 5]


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_below_an_output_that_leads_to_no_target_are_not_called(create_graph):
    x, y = tape.ones(2, requires_grad=True), tape.ones(2, requires_grad=True)
    seen = []
    z = x * 2
    z.register_hook(seen.append)
    found = tape.autograd.grad((z * 2).sum(), [y], create_graph=create_graph, allow_unused=True)
    assert found == (None,)
    assert seen == []
