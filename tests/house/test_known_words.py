"""Messages carry the words that PyTorch's have, so that who looks for those, or matches them in a test, finds them."""

from __future__ import annotations

import copy

import pytest
from custom_functions import examples
from peer import torch

import tape


def leaf(m):
    return m.ones(2, requires_grad=True)


def twice(m, act):
    y = leaf(m).exp().sum()
    y.backward()
    act(y)


def twice_through_a_function(m):
    y = examples(m, m.autograd.Function)["cube"](leaf(m)).sum()
    y.backward()
    y.backward()


CAUSES = {
    "backward without history": (
        lambda m: m.ones(()).backward(),
        "element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    "grad to a constant": (
        lambda m: m.autograd.grad(leaf(m).sum(), m.ones(2)),
        "One of the differentiated Tensors does not require grad",
    ),
    "grad to something else": (
        lambda m: m.autograd.grad(leaf(m).sum(), leaf(m)),
        "The differentiated Tensor at index 0.*appears to not have been used in the graph",
    ),
    "too few gradients": (lambda m: m.autograd.backward([leaf(m)] * 2, [m.ones(2)]), "got 2 tensors and 1 gradients"),
    "a gradient of another shape": (
        lambda m: (leaf(m) * 2).backward(m.ones(3)),
        r"Mismatch in shape: grad_output\[0\]",
    ),
    "a gradient of another kind": (
        lambda m: (leaf(m) * 2).backward([1, 2]),
        "gradients can be either Tensors or None, but got",
    ),
    "a complex output": (
        lambda m: (leaf(m)[0] * 1j).backward(),
        "grad can be implicitly created only for real scalar outputs but got",
    ),
    "no inputs of backward": (
        lambda m: leaf(m).sum().backward(inputs=[]),
        r"`inputs` argument to `backward\(\)` cannot be empty",
    ),
    "no inputs of grad": (
        lambda m: m.autograd.grad(leaf(m).sum(), []),
        r"`inputs` argument to `grad\(\)` cannot be empty",
    ),
    "contradictory flags": (
        lambda m: m.autograd.grad(leaf(m).sum(), leaf(m), materialize_grads=True, allow_unused=False),
        "Expected allow_unused to be True or not passed when materialize_grads=True",
    ),
    "batched gradients that do not fit": (
        lambda m: m.autograd.grad(x := leaf(m), x, m.ones(3, 3), is_grads_batched=True),
        "If `is_grads_batched=True`",
    ),
    "both names of an argument": (
        lambda m: m.autograd.backward([leaf(m).sum()], m.ones(()), grad_variables=m.ones(())),
        "arguments both passed",
    ),
    "a second backward": (
        lambda m: twice(m, lambda y: y.backward()),
        "second time .or directly access saved tensors after they",
    ),
    "a saved value that is gone": (
        lambda m: twice(m, lambda y: y.grad_fn.next_functions[0][0]._saved_result),
        r"or directly access saved tensors after they have already been freed[\s\S]*Specify retain_graph=True",
    ),
    "a second backward through a function": (
        twice_through_a_function,
        r"or directly access saved tensors after they have already been freed[\s\S]*Specify retain_graph=True",
    ),
    "a saved tensor of one's own": (
        lambda m: m.autograd.SavedTensor(),
        "Trying to create a SavedTensor object from Python is forbidden",
    ),
    "a callback outside": (
        lambda m: m.autograd.Variable._execution_engine.queue_callback(print),
        "Final callbacks can only be installed during backward pass",
    ),
    "a hook of a constant": (
        lambda m: m.ones(2).register_hook(print),
        "cannot register a hook on a tensor that doesn't require gradient",
    ),
    "a hook of accumulation elsewhere": (
        lambda m: (leaf(m) * 2).register_post_accumulate_grad_hook(print),
        "post accumulate grad hooks cannot be registered on non-leaf tensors",
    ),
    "the gradient of a constant retained": (
        lambda m: m.ones(2).retain_grad(),
        "can't retain_grad on Tensor that has requires_grad=False",
    ),
    "another mode": (
        lambda m: m.autograd.graph.register_multi_grad_hook([leaf(m)], print, mode="some"),
        r"Expects mode to be one of \('all', 'any'\) but got some",
    ),
    "out= with a gradient": (
        lambda m: m.mul(leaf(m), 2, out=m.ones(2)),
        "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires",
    ),
    "integers": (
        lambda m: m.ones(2, dtype=m.int64, requires_grad=True),
        "Only Tensors of floating point and complex dtype can require grad",
    ),
    "requires_grad of a result": (
        lambda m: (leaf(m) * 2).requires_grad_(False),
        "you can only change requires_grad flags of leaf variables",
    ),
    "a copy of a result": (
        lambda m: copy.deepcopy(leaf(m) * 2),
        r"Only Tensors created explicitly by the user \(graph leaves\) support",
    ),
    "the truth of many": (lambda m: bool(m.ones(2)), "Boolean value of Tensor with more than one value is ambiguous"),
    "the truth of none": (lambda m: bool(m.ones(0)), "Boolean value of Tensor with no values is ambiguous"),
    "one number of many": (lambda m: m.ones(2).item(), "a Tensor with 2 elements cannot be converted to Scalar"),
    "a .grad of another shape": (
        lambda m: setattr(leaf(m), "grad", m.ones(3)),
        r"attempting to assign a gradient of size '\[3\]' to a tensor of size '\[2\]'",
    ),
    "a .grad of another kind": (
        lambda m: setattr(leaf(m), "grad", 3),
        "assigned grad expected to be a Tensor or None but got grad of type",
    ),
    "a view detached": (lambda m: (leaf(m) * 2)[:1].detach_(), "Can't detach views in-place"),
}


@pytest.mark.parametrize(("act", "words"), CAUSES.values(), ids=list(CAUSES))
def test_ours(act, words):
    with pytest.raises((RuntimeError, TypeError, ValueError), match=words):
        act(tape)


@pytest.mark.filterwarnings("ignore:`grad_variables`")
@pytest.mark.parametrize(("act", "words"), CAUSES.values(), ids=list(CAUSES))
def test_theirs(act, words):
    with pytest.raises((RuntimeError, TypeError, ValueError), match=words):
        act(torch)
