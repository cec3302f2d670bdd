"""The history as a graph: nodes and what they show, edges, hooks for several gradients."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from peer import torch

import tape
from tape.autograd import grad, graph
from tape.autograd.graph import GradientEdge, get_gradient_edge, register_multi_grad_hook
from tape.recording.wengert import current


def leaf(*values):
    return tape.tensor(np.array(values, float), requires_grad=True)


def test_metadata_stays_with_the_record():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.metadata["mine"] = 1
    gc.collect()
    assert y.grad_fn.metadata == {"mine": 1}
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.metadata["leaf"] = True
    del accumulator
    assert y.grad_fn.next_functions[0][0].metadata == {"leaf": True}
    y.backward()
    assert x.grad.item() == 2.0


SAVED = {
    "mul": (lambda x, y: x * y, ["self", "other"]),
    "div": (lambda x, y: x / y, ["self", "other"]),
    "pow": (lambda x, y: x**y, ["self", "exponent", "result"]),
    "pow of a number": (lambda x, y: x**3, ["self", "exponent"]),
    "exp": (lambda x, y: x.exp(), ["result"]),
    "sigmoid": (lambda x, y: x.sigmoid(), ["result"]),
    "sin": (lambda x, y: x.sin(), ["self"]),
    "sum": (lambda x, y: x.sum(0), ["dim", "keepdim", "self_sym_sizes"]),
    "maximum": (lambda x, y: x.maximum(y), ["self", "other"]),
    "atan2": (lambda x, y: x.atan2(y), ["self", "other"]),
    "log": (lambda x, y: x.log(), ["self"]),
}


@pytest.mark.parametrize(("compute", "names"), SAVED.values(), ids=list(SAVED))
def test_saved_values_under_pytorchs_names(compute, names):
    values = [1.0, 2.0, 3.0], [0.5, 1.5, 2.5]
    x, y = (leaf(*v) for v in values)
    theirs = compute(*(torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values)).grad_fn
    node = compute(x, y).grad_fn
    for name in names:
        ours, expected = getattr(node, f"_saved_{name}"), getattr(theirs, f"_saved_{name}")
        if isinstance(expected, torch.Tensor):
            np.testing.assert_allclose(ours.detach().numpy(), expected.detach().numpy())
            raw = getattr(node, f"_raw_saved_{name}", None)
            assert raw is None or raw.unpack().tolist() == ours.tolist()
        else:
            assert ours == (expected if not isinstance(expected, tuple) or "sizes" in name else expected[0])
        assert f"_saved_{name}" in dir(node) or "sizes" in name
    assert not hasattr(node, "_saved_nonsense")
    assert not hasattr(node, "_raw_saved_nonsense")


def test_saved_operands_are_in_their_places():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * x
    assert z.grad_fn._saved_other is x
    assert z.grad_fn._saved_self.grad_fn is y.grad_fn
    e = x.exp()
    assert e.grad_fn._saved_result.grad_fn is e.grad_fn


def test_numbers_of_nodes_ascend():
    x = leaf(1.0)
    y = x * 2
    z = y * 3
    accumulator = y.grad_fn.next_functions[0][0]
    assert y.grad_fn._sequence_nr() < z.grad_fn._sequence_nr() < accumulator._sequence_nr()


def test_what_a_node_knows_of_its_results():
    x = leaf(1.0, 2.0, 3.0)
    y = x.float()
    (described,) = y.grad_fn._input_metadata
    assert (described.shape, described.dtype) == ((3,), tape.float32)
    (described,) = y.grad_fn.next_functions[0][0]._input_metadata
    assert (described.shape, described.dtype) == ((3,), tape.float64)
    a, b = tape.split(x, [1, 2])
    assert [m.shape for m in a.grad_fn._input_metadata] == [(1,), (2,)]
    node = a.grad_fn
    del a, b
    current().scan()
    assert [m.shape for m in node._input_metadata] == [(1,), (2,)]


def test_what_nodes_and_handles_are_called():
    def seen(library):
        x = library.ones(2, requires_grad=True)
        node = library.log1p(x).grad_fn
        handle = node.register_hook(print)
        return node.name(), node.requires_grad, isinstance(handle, library.autograd.graph.RemovableHandle)

    assert seen(tape) == seen(torch) == ("Log1PBackward0", True, True)


def test_edges_in_the_place_of_outputs():
    x = leaf(1.0, 2.0)
    y = x * 3
    (g,) = grad(get_gradient_edge(y), x, grad_outputs=tape.ones(2), retain_graph=True)
    assert g.tolist() == [3.0, 3.0]
    (g,) = grad([get_gradient_edge(y), (x * 2).sum()], x, [tape.ones(2), None], retain_graph=True)
    assert g.tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match=r"shape \(2,\)"):
        grad(get_gradient_edge(y), x)
    tape.autograd.backward(get_gradient_edge(y), tape.ones(2))
    assert x.grad.tolist() == [3.0, 3.0]
    tape.autograd.backward(get_gradient_edge(x), tape.ones(2))
    assert x.grad.tolist() == [4.0, 4.0]


def test_an_edge_keeps_the_history_without_the_value():
    x = leaf(1.0, 2.0)
    edge = get_gradient_edge(x.exp() * 2)
    gc.collect()
    current().scan()
    (g,) = grad(edge, x, tape.ones(2))
    np.testing.assert_allclose(g.numpy(), 2 * np.exp([1.0, 2.0]))


def test_edges_in_the_place_of_inputs():
    x = leaf(1.0, 2.0)
    y = x * 3
    z = (y * y).sum()
    edge = get_gradient_edge(y)
    for given in (edge, [edge], {"y": edge}):
        found = grad(z, given, retain_graph=True)
        assert (found["y"] if isinstance(given, dict) else found[0]).tolist() == [6.0, 12.0]
    z.backward(inputs=[edge, get_gradient_edge(x)], retain_graph=True)
    assert x.grad.tolist() == [18.0, 36.0]
    assert not y.retains_grad
    y.retain_grad()
    z.backward(inputs=edge)
    assert y.grad.tolist() == [6.0, 12.0]


def test_edges_of_one_result_among_several():
    x = leaf(1.0, 2.0, 3.0)
    a, b = tape.split(x * 1, [1, 2])
    edge = get_gradient_edge(b)
    assert edge.output_nr == 1
    assert grad((a * b).sum(), edge, retain_graph=True)[0].tolist() == [1.0, 1.0]
    node = a.grad_fn
    del a, b
    gc.collect()
    current().scan()
    (g,) = grad(GradientEdge(node, 1), x, tape.ones(2), retain_graph=True)
    assert g.tolist() == [0.0, 1.0, 1.0]
    assert grad(GradientEdge(node, 1), GradientEdge(node, 0), tape.ones(2), allow_unused=True) == (None,)


def test_edges_that_are_none():
    with pytest.raises(RuntimeError, match="not possible to get the gradient edge"):
        get_gradient_edge(tape.ones(1))
    with pytest.raises(TypeError, match="needs a node"):
        grad(leaf(1.0) * 2, GradientEdge("node", 0))  # type: ignore[arg-type]


def test_inputs_of_backward_retain_their_gradients():
    """As in PyTorch: from then on, in every backward."""
    x = leaf(1.0)
    y = x * 2
    (y * 3).backward(inputs=[y])
    assert y.retains_grad
    (y * 3).backward()
    assert y.grad.item() == 6.0
    assert x.grad.item() == 6.0


def seen_by_all(library, act):
    a, b = (library.ones(2, dtype=library.float64, requires_grad=True) for _ in range(2))
    c = a * b
    d = a * 2
    seen = []
    library.autograd.graph.register_multi_grad_hook(
        (a, b, c, d), lambda grads: seen.append([None if g is None else g.tolist() for g in grads])
    )
    act(library, a, b, c, d)
    return seen


ACTS = {
    "one": lambda library, a, b, c, d: c.sum().backward(),
    "all": lambda library, a, b, c, d: (c * d).sum().backward(),
    "leaf alone": lambda library, a, b, c, d: c.sum().backward(inputs=(a,)),
    "recorded": lambda library, a, b, c, d: (c * d).sum().backward(inputs=[d, a]),
    "twice": lambda library, a, b, c, d: [(c * 2).sum().backward(retain_graph=True) for _ in range(2)],
    "none": lambda library, a, b, c, d: library.ones(1, requires_grad=True).backward(),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=list(ACTS))
def test_hooks_of_several_tensors(act):
    assert seen_by_all(tape, act) == seen_by_all(torch, act)


def test_hooks_of_several_tensors_in_grad():
    """Which PyTorch does not support where there are leaves."""
    for create_graph in (False, True):
        grads = lambda library, a, b, c, d: grad((c * d).sum(), [b, d], create_graph=create_graph)  # noqa: E731, B023
        assert seen_by_all(tape, grads) == [[None, [2.0, 2.0], [2.0, 2.0], [1.0, 1.0]]]


def test_hooks_of_any_tensor():
    a, b = leaf(1.0), leaf(2.0)
    c = a * b
    seen = []
    handle = register_multi_grad_hook((a, tape.ones(1), c), lambda g: seen.append(g.item()), mode="any")
    c.backward(retain_graph=True)
    (a * 5).backward()
    assert seen == [1.0, 5.0]
    handle.remove()
    c.backward()
    assert len(seen) == 2


def test_a_multi_grad_hook_after_a_failed_backward():
    a, b = leaf(1.0), leaf(2.0)
    c = a * b
    seen = []
    failing = b.register_hook(lambda g: 1 / 0)
    with register_multi_grad_hook((a, b, c), seen.append):
        with failing, pytest.raises(ZeroDivisionError):
            c.backward(retain_graph=True)
        c.backward(retain_graph=True)
    c.backward()
    assert [[g.item() for g in grads] for grads in seen] == [[2.0, 1.0, 1.0]]


@pytest.mark.parametrize("library", [tape, torch], ids=["tape", "torch"])
def test_a_multi_grad_hook_of_a_tensor_that_gets_none_in_the_end(library):
    class First(library.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 1, y * 1

        @staticmethod
        def backward(ctx, g, h):
            return g, None

    x, y = (library.ones(2, requires_grad=True) for _ in range(2))
    seen = []
    library.autograd.graph.register_multi_grad_hook((x, y), seen.append)
    for _ in range(2):
        z, w = First.apply(x, y)
        (z.sum() + w.sum()).backward()
    assert [[g is None for g in grads] for grads in seen] == [[False, True]] * 2


def test_a_multi_grad_hook_across_threads():
    x = leaf(2.0)
    box: list = []
    thread = threading.Thread(target=lambda: box.append(x * x))
    thread.start()
    thread.join()
    y = box.pop()
    z = y * 3
    other = x * 5
    seen = []
    register_multi_grad_hook((x, y, z, other), seen.append)
    z.backward()
    assert [None if g is None else g.item() for g in seen[0]] == [12.0, 3.0, 1.0, None]


def test_mistakes_with_multi_grad_hooks():
    with pytest.raises(ValueError, match="'all', 'any'"):
        register_multi_grad_hook([leaf(1.0)], print, mode="some")
    with pytest.raises(TypeError, match="function of the gradients"):
        register_multi_grad_hook([leaf(1.0)], 3)
    with pytest.raises(RuntimeError, match="require gradient"):
        register_multi_grad_hook([leaf(1.0), tape.ones(1)], print)


def test_everything_is_where_pytorch_has_it():
    for name in torch.autograd.graph.__all__:
        if name not in ("region_activation_memory_budget", "set_warn_on_accumulate_grad_stream_mismatch",
                        "set_override_stale_capture_stream", "node_creation_hook"):  # fmt: skip
            assert hasattr(graph, name), name


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
def test_spread_and_mean_are_one_node(name):
    x, y = (tape.tensor([[1.0, 2.0, 4.0], [0.5, 0.0, 8.0]], requires_grad=True) for _ in range(2))
    spread, mean = getattr(tape, name)(x, 1, unbiased=False)
    node = spread.grad_fn
    assert node is mean.grad_fn
    assert node.name() == name.title().replace("_", "") + "Backward0"
    assert [data.shape for data in node._input_metadata] == [(2,), (2,)]
    node.register_prehook(lambda gs: tuple(g * 2 for g in gs))
    (spread * mean).sum().backward()
    alone = getattr(tape, name[:3])(y, 1, unbiased=False)
    (alone * y.mean(1)).sum().backward()
    assert spread.tolist() == alone.tolist()
    np.testing.assert_allclose(x.grad.numpy(), 2 * y.grad.numpy(), rtol=1e-14)
    (part,) = grad(getattr(tape, name)(y, 1)[1].sum(), y)
    assert part.tolist() == [[1 / 3] * 3] * 2
