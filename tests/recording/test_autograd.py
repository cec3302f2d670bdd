"""``backward``, ``grad``, accumulation, hooks and the graph."""

import gc
import weakref

import numpy as np
import pytest

import tape
from tape.autograd import backward, grad, graph


def leaf(*numbers, dtype=None):
    return tape.tensor(list(numbers), requires_grad=True, dtype=dtype)


def test_accumulates_into_the_same_object():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    held = x.grad
    memory = held.data_ptr()
    (x * 3).sum().backward()
    assert x.grad is held
    assert (held.data_ptr(), held.tolist()) == (memory, [5.0, 7.0])


def test_a_scalar_leaf_accumulates_in_place_too():
    x = tape.tensor(2.0, requires_grad=True)
    (x * x).backward()
    held = x.grad
    shared = held.data
    (x * x).backward()
    assert x.grad is held
    assert shared.item() == 8.0


def test_gradients_do_not_share_memory():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    v = tape.ones(2)
    (x + y).backward(v)
    x.grad.zero_()
    assert (y.grad.tolist(), v.tolist()) == ([1.0, 1.0], [1.0, 1.0])
    w = leaf(1.0, 2.0)
    w.sum().backward()
    w.grad.mul_(5)
    assert w.grad.tolist() == [5.0, 5.0]


def test_grad_may_be_cleared_in_every_way():
    x = leaf(1.0)
    for clear in (
        lambda: setattr(x, "grad", None),
        lambda: delattr(x, "grad"),
        lambda: x.grad.zero_(),
        lambda: x.grad.data.zero_(),
    ):
        (x * 2).backward()
        assert x.grad.tolist() == [2.0]
        clear()
    assert x.grad.tolist() == [0.0]


def test_gradient_takes_the_leafs_dtype():
    x = leaf(1.0, 2.0, dtype=tape.float32)
    y = x * tape.tensor([1.0, 2.0])
    assert y.dtype == tape.float64
    y.backward(tape.tensor([1, 1]))
    assert x.grad.dtype == tape.float32
    assert x.grad.tolist() == [1.0, 2.0]


def test_one_element_of_any_shape_needs_no_gradient():
    x = leaf(3.0)
    (x * x).reshape(1, 1).backward()
    assert x.grad.tolist() == [6.0]


def test_several_outputs_and_gradients():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    backward([x * y, (x * 2).sum()], [tape.tensor([1.0, 10.0]), None])
    assert (x.grad.tolist(), y.grad.tolist()) == ([5.0, 42.0], [1.0, 20.0])


def test_inputs_restrict_accumulation():
    x, y = leaf(1.0), leaf(2.0)
    z = x * y
    (z * z).backward(inputs=[x, z])
    assert (x.grad.tolist(), y.grad, z.grad.tolist()) == ([8.0], None, [4.0])


def test_graph_that_saved_nothing_runs_again():
    x = leaf(1.0, 2.0)
    total = (x + 1).sum()
    total.backward()
    total.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_retain_graph():
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_create_graph_retains_and_accumulates_out_of_place():
    x = leaf(2.0)
    y = x**3
    y.backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    y.backward(create_graph=True)
    assert x.grad is not first
    assert x.grad.tolist() == [24.0]
    assert grad(first, x)[0].tolist() == [12.0]


def test_fourth_order():
    x = leaf(2.0)
    y = x**4 * tape.exp(x)
    for _ in range(4):
        (y,) = grad(y, x, create_graph=True)
    assert y.item() == pytest.approx(np.exp(2) * (2**4 + 16 * 2**3 + 72 * 2**2 + 96 * 2 + 24))


def test_grad_leaves_grad_alone():
    x = leaf(2.0)
    assert grad(x * x, x)[0].tolist() == [4.0]
    assert x.grad is None


def test_grad_of_a_dict():
    x, y = leaf(2.0), leaf(3.0)
    found = grad(x * y, {"x": x, "y": y})
    assert {k: g.tolist() for k, g in found.items()} == {"x": [3.0], "y": [2.0]}


def test_grad_with_respect_to_an_intermediate():
    x = leaf(2.0)
    y = x * 3
    assert [g.tolist() for g in grad(y * y, [y, x])] == [[12.0], [36.0]]


def test_unused_inputs():
    x, unused = leaf(2.0), leaf(1.0, 1.0)
    assert grad(x * x, [x, unused], allow_unused=True)[1] is None
    assert grad(x * x, [x, unused], materialize_grads=True)[1].tolist() == [0.0, 0.0]


def test_zeros_for_what_is_unused_are_differentiated_again():
    x, a = tape.tensor(0.5, requires_grad=True), tape.tensor(2.0, requires_grad=True)
    (once,) = grad(x * a, x, create_graph=True)
    (twice,) = grad(once, x, create_graph=True, materialize_grads=True)
    assert twice.requires_grad
    (thrice,) = grad(twice, x, materialize_grads=True)
    assert (twice.item(), thrice.item()) == (0.0, 0.0)
    assert not thrice.requires_grad


def test_batched_gradients_give_a_jacobian():
    x = leaf(1.0, 2.0)
    y = x * x
    (rows,) = grad(y, x, tape.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_output_may_be_a_leaf():
    x = leaf(2.0)
    x.backward()
    assert x.grad.tolist() == [1.0]
    assert grad(x, x)[0].tolist() == [1.0]


def test_hooks_run_in_order_and_replace():
    x = leaf(1.0, 2.0)
    seen = []
    for owner in (x, y := x * 2):
        owner.register_hook(lambda g, owner=owner: seen.append((owner is y, g.tolist())))
        owner.register_hook(lambda g: g * 10)
        owner.register_hook(lambda g, owner=owner: seen.append((owner is y, g.tolist())))
    y.sum().backward()
    assert seen == [(True, [1, 1]), (True, [10, 10]), (False, [20, 20]), (False, [200, 200])]
    assert x.grad.tolist() == [200.0, 200.0]


def test_hook_may_change_the_gradient_in_place():
    x = tape.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g.mul_(100))
    (y * 3).sum().backward()
    assert x.grad.tolist() == [600, 600]


def test_hooks_are_removed():
    x = leaf(1.0)
    y = x * 2
    handles = [x.register_hook(lambda g: g * 10), y.register_hook(lambda g: g * 10)]
    with y.register_hook(lambda g: g * 10):
        pass
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [200.0]
    for handle in handles:
        handle.remove()
        handle.remove()
    x.grad = None
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_leaf_hooks_run_for_grad_too():
    x = leaf(1.0)
    x.register_hook(lambda g: g + 1)
    assert grad(x * 2, x)[0].tolist() == [3.0]


def test_hooks_record_under_create_graph():
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (first,) = grad(y * 1, x, create_graph=True)
    assert first.tolist() == [18.0]
    assert grad(first, x)[0].tolist() == [12.0]


def test_retain_grad_captures_after_hooks():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    x.retain_grad()
    assert (y.retains_grad, x.retains_grad) == (True, False)
    y.sum().backward(retain_graph=True)
    assert y.grad.tolist() == [3.0, 3.0]
    y.sum().backward()
    assert y.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_retained_grad_of_an_input_is_added_once(create_graph):
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    (y * y).sum().backward(inputs=[y], create_graph=create_graph)
    assert y.grad.tolist() == [12.0]
    (y * y).sum().backward(inputs=[y, x])
    assert (y.grad.tolist(), x.grad.tolist()) == ([24.0], [24.0])


def test_post_accumulate_hook():
    x = leaf(1.0)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    (x * 2).backward()
    handle.remove()
    (x * 2).backward()
    assert seen == [(True, [2.0])]


def test_nodes():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = (x * y).sum()
    node = z.grad_fn
    assert node is z.grad_fn
    assert isinstance(node, graph.Node)
    assert (node.name(), type(node).__name__) == ("SumBackward0", "SumBackward0")
    ((product, number),) = node.next_functions
    assert (product.name(), number) == ("MulBackward0", 0)
    leaves = [edge[0] for edge in product.next_functions]
    assert [n.variable is t for n, t in zip(leaves, (x, y))] == [True, True]
    assert leaves[0] is product.next_functions[0][0]
    assert product._saved_self is x
    node.metadata["mine"] = 1
    assert z.grad_fn.metadata == {"mine": 1}
    assert (x + 1).grad_fn.next_functions[1] == (None, 0)


@pytest.mark.parametrize(
    ("compute", "name"),
    [
        (lambda x: x + 1, "AddBackward0"),
        (lambda x: x**2, "PowBackward0"),
        (lambda x: x**3, "PowBackward0"),
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x.sum(0), "SumBackward1"),
        (lambda x: x.mean(), "MeanBackward0"),
        (lambda x: x[0], "SelectBackward0"),
        (lambda x: x[0:1], "SliceBackward0"),
        (lambda x: x[[0]], "IndexBackward0"),
        (lambda x: x.exp(), "ExpBackward0"),
        (lambda x: -x, "NegBackward0"),
        (lambda x: 1 / x, "DivBackward0"),
        (lambda x: x.view(-1, 1), "ViewBackward0"),
        (lambda x: x.clone(), "CloneBackward0"),
    ],
)
def test_node_names(compute, name):
    assert compute(leaf(1.0, 2.0)).grad_fn.name() == name


def test_saved_values_are_gone_after_release():
    x = leaf(2.0)
    y = x * x
    node = y.grad_fn
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        _ = node._saved_self


def test_values_that_no_rule_needs_are_none():
    x, y = leaf(2.0), tape.tensor([3.0])
    node = (x * 2).grad_fn
    assert (node._saved_self, node._saved_other, hasattr(node, "_saved_self"), hasattr(node, "_saved_no")) == (
        None, 2.0, True, False
    )  # fmt: skip
    assert ((x * y).grad_fn._saved_self, (x + y).grad_fn._saved_other) == (None, None)


def test_edges():
    x = leaf(1.0)
    y = x * 2
    assert graph.get_gradient_edge(y).node is y.grad_fn
    assert graph.get_gradient_edge(x).node.variable is x
    with pytest.raises(RuntimeError, match="does not require grad"):
        graph.get_gradient_edge(tape.ones(1))


def test_prehook_of_a_node():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 5,))
    y.backward()
    assert x.grad.tolist() == [10.0]


def test_dropped_leaves_and_graphs_are_freed():
    x = leaf(1.0, 2.0)
    gone = weakref.ref(x)
    y = (x * 2).sum()
    y.backward()
    del x, y
    tape.recording.wengert.current().scan()
    gc.collect()
    assert gone() is None


def test_a_leaf_that_died_is_passed_over():
    kept = leaf(1.0)
    y = kept * leaf(2.0)
    y.backward()
    assert kept.grad.tolist() == [2.0]


def test_output_number():
    x = leaf(1.0, 2.0, 3.0)
    first, second, third = x.unbind()
    assert [t.output_nr for t in (first, second, third)] == [0, 1, 2]
    assert first.grad_fn is third.grad_fn
