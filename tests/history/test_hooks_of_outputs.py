"""Hooks of an output that leads to nothing that was asked for: they see its adjoint all the same."""

from __future__ import annotations

import pytest

import tape


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_an_output_are_called_though_it_leads_to_no_target(create_graph):
    x, y = tape.ones(2, requires_grad=True), tape.ones(2, requires_grad=True)
    seen = []
    z, other = x * 2, y * 3
    z.register_hook(lambda g: seen.append(g.tolist()) or g * 5)
    z.retain_grad()
    found = tape.autograd.grad(
        [z, other], [y], [tape.ones(2), tape.ones(2)], create_graph=create_graph, allow_unused=True
    )
    assert found[0].tolist() == [3, 3]
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
