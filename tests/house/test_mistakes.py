"""Mistakes raise the right exception, and the message says what was required, what arrived and what to do."""

import copy
from decimal import Decimal

import numpy as np
import pytest
from mistakes import explained

import tape
from tape.autograd import Variable, backward, grad


def leaf(*numbers):
    return tape.tensor(list(numbers), requires_grad=True)


def squares():
    x = leaf(1.0, 2.0)
    return x, x * x


def second_backward():
    _, y = squares()
    total = y.sum()
    total.backward()
    total.backward()


def under_no_grad(function):
    with tape.no_grad():
        return function()


def hook_that_returns(result):
    _, y = squares()
    y.register_hook(lambda g: result)
    y.sum().backward()


def read_only():
    array = np.zeros(3)
    array.flags.writeable = False
    return tape.from_numpy(array)


MISTAKES = {
    "backward without history": (
        lambda: tape.ones(2).sum().backward(),
        RuntimeError,
        ["element 0", "does not require grad", "requires_grad=True"],
    ),
    "backward of what no_grad computed": (
        lambda: under_no_grad(lambda: leaf(1.0) * 2).backward(),
        RuntimeError,
        ["outside no_grad()"],
    ),
    "implicit gradient of many elements": (
        lambda: squares()[1].backward(),
        RuntimeError,
        ["one element", "(2,)", "gradient="],
    ),
    "implicit gradient of a complex number": (
        lambda: (tape.tensor(1j, requires_grad=True) * 2).backward(),
        RuntimeError,
        ["real scalar outputs", "complex128", "abs(z)"],
    ),
    "gradient of the wrong shape": (
        lambda: squares()[1].backward(tape.ones(3)),
        RuntimeError,
        ["Size([2])", "Size([3])"],
    ),
    "gradient of the wrong type": (
        lambda: squares()[1].backward([1.0, 2.0]),
        TypeError,
        ["Tensors or None", "list", "output 0", "tape.tensor()"],
    ),
    "wrong number of gradients": (
        lambda: backward([squares()[1]], [tape.ones(2), tape.ones(2)]),
        RuntimeError,
        ["1 tensors", "2 gradients"],
    ),
    "complex gradient of a real output": (
        lambda: squares()[1].backward(tape.tensor([1j, 1j])),
        RuntimeError,
        ["real (float64)", "complex128", ".real"],
    ),
    "second backward": (
        second_backward,
        RuntimeError,
        ["second time", "mul", "test_mistakes.py", "return x, x * x", "retain_graph=True"],
    ),
    "backward with no inputs": (lambda: squares()[1].sum().backward(inputs=[]), RuntimeError, ["at least one input"]),
    "grad of an unused input": (
        lambda: grad(squares()[1].sum(), leaf(1.0)),
        RuntimeError,
        ["not have been used", "index 0", "(1,)", "allow_unused=True", "materialize_grads=True"],
    ),
    "grad with respect to a constant": (
        lambda: grad(squares()[1].sum(), tape.ones(1)),
        RuntimeError,
        ["input 0", "does not require grad", "requires_grad_()"],
    ),
    "grad without inputs": (lambda: grad(squares()[1].sum(), []), RuntimeError, ["at least one input"]),
    "grad with contradictory flags": (
        lambda: grad(squares()[1].sum(), leaf(1.0), allow_unused=False, materialize_grads=True),
        ValueError,
        ["allow_unused"],
    ),
    "batched gradients without a gradient": (
        lambda: grad(squares()[1], leaf(1.0), is_grads_batched=True),
        RuntimeError,
        ["is_grads_batched=True", "leading length"],
    ),
    "grad of something else": (lambda: grad(3.0, leaf(1.0)), TypeError, ["tensor or a sequence of tensors", "float"]),
    "integer that requires grad": (
        lambda: tape.tensor([1, 2], requires_grad=True),
        RuntimeError,
        ["floating point", "int64", "1.0 instead of 1"],
    ),
    "requires_grad of a result": (
        lambda: setattr(squares()[1], "requires_grad", False),
        RuntimeError,
        ["leaf variables", "MulBackward0", ".detach()"],
    ),
    "numpy of a tensor that requires grad": (
        lambda: leaf(1.0).numpy(),
        RuntimeError,
        ["requires grad", ".detach().numpy()"],
    ),
    "in-place change of a leaf": (
        lambda: leaf(1.0).add_(1),
        RuntimeError,
        ["add_()", "leaf Variable that requires grad", "tape.no_grad()"],
    ),
    "augmented assignment to a leaf": (
        lambda: leaf(1.0).__isub__(1),
        RuntimeError,
        ["sub_()", "leaf Variable that requires grad"],
    ),
    "item assignment to a leaf": (lambda: leaf(1.0).__setitem__(0, 1.0), RuntimeError, ["x[index] = value"]),
    "in-place change of a view of a leaf": (
        lambda: leaf(1.0)[:1].add_(1),
        RuntimeError,
        ["add_()", "a view of a leaf Variable that requires grad", "tape.no_grad()"],
    ),
    "in-place change of one of several views": (
        lambda: squares()[1].reshape(1, -1).unbind(0)[0].mul_(2),
        RuntimeError,
        ["mul_()", "one of several views", "y = y + x"],
    ),
    "in-place result of another shape": (
        lambda: tape.zeros(2).add_(tape.ones(3, 2)),
        RuntimeError,
        ["shape (3, 2)", "(2,)"],
    ),
    "in-place result of another dtype": (
        lambda: tape.tensor([1]).add_(0.5),
        RuntimeError,
        ["float64", "int64", ".to(float64)"],
    ),
    "in-place on an expanded tensor": (
        lambda: tape.zeros(1).expand(3).add_(1),
        RuntimeError,
        ["add_()", "expanded", ".clone()"],
    ),
    ".grad of the wrong shape": (
        lambda: setattr(leaf(1.0), "grad", tape.ones(2)),
        RuntimeError,
        ["[1]", "[2]"],
    ),
    ".grad of the wrong dtype": (
        lambda: setattr(leaf(1.0), "grad", tape.ones(1, dtype=tape.float32)),
        RuntimeError,
        ["float64", "float32", ".to("],
    ),
    ".grad of the wrong type": (lambda: setattr(leaf(1.0), "grad", 1.0), TypeError, ["Tensor or None", "float"]),
    ".grad of itself": (lambda: setattr(x := leaf(1.0), "grad", x), RuntimeError, ["its own .grad"]),
    ".data of the wrong type": (lambda: setattr(leaf(1.0), "data", np.ones(1)), TypeError, ["ndarray", "as_tensor"]),
    ".data of integers": (
        lambda: setattr(leaf(1.0), "data", tape.tensor([1])),
        RuntimeError,
        ["floating point", "int64"],
    ),
    "grad_fn is read only": (lambda: setattr(leaf(1.0), "grad_fn", None), AttributeError, ["grad_fn"]),
    "hook on a constant": (
        lambda: tape.ones(1).register_hook(print),
        RuntimeError,
        ["register a hook", "no gradient will ever reach it", "requires_grad=True"],
    ),
    "hook that is no function": (lambda: leaf(1.0).register_hook(3), TypeError, ["function of the gradient", "int"]),
    "hook that returns a number": (
        lambda: hook_that_returns(3.0),
        TypeError,
        ["None or the tensor", "float", "lambda"],
    ),
    "hook that returns another shape": (
        lambda: hook_that_returns(tape.ones(3)),
        RuntimeError,
        ["keep the shape", "(2,)", "(3,)"],
    ),
    "hook that returns another dtype": (
        lambda: hook_that_returns(tape.ones(2, dtype=tape.float32)),
        RuntimeError,
        ["keep the dtype", "float64", "float32"],
    ),
    "retain_grad of a constant": (
        lambda: tape.ones(1).retain_grad(),
        RuntimeError,
        ["retain_grad", "requires_grad=True"],
    ),
    "post-accumulate hook of a result": (
        lambda: squares()[1].register_post_accumulate_grad_hook(print),
        RuntimeError,
        ["leaves", "register_hook()"],
    ),
    "detach_ of a view": (lambda: leaf(1.0, 2.0)[:1].detach_(), RuntimeError, ["view", ".detach()"]),
    "deepcopy of a result": (
        lambda: copy.deepcopy(squares()[1]),
        RuntimeError,
        ["leaves", "MulBackward0", ".clone()"],
    ),
    "shapes that do not broadcast": (
        lambda: leaf(1.0, 2.0) + tape.ones(3),
        RuntimeError,
        ["add", "(2,) and (3,)", "broadcast", "unsqueeze"],
    ),
    "the same for NumPy's users": (lambda: leaf(1.0, 2.0) + tape.ones(3), ValueError, ["broadcast"]),
    "matmul sizes": (
        lambda: tape.ones(2, 3) @ tape.ones(2, 3),
        RuntimeError,
        ["matmul", "(2, 3) and (2, 3)", "Transpose"],
    ),
    "reshape size": (lambda: tape.ones(6).view(4, -1), RuntimeError, ["(6,)", "6 elements", "(4, -1)"]),
    "expand size": (lambda: tape.ones(2).expand(3), RuntimeError, ["(2,)", "(3,)", "length 1"]),
    "index out of range": (lambda: leaf(1.0)[3], IndexError, ["3", "out of bounds", "size 1"]),
    "too many indices": (lambda: leaf(1.0)[0, 0], IndexError, ["too many indices"]),
    "index of a scalar": (lambda: tape.tensor(1.0)[0], IndexError, ["without axes", ".item()"]),
    "dimension out of range": (lambda: leaf(1.0).sum(dim=1), IndexError, ["1", "out of bounds"]),
    "dimension out of range of an adaptor": (lambda: leaf(1.0).transpose(0, 2), IndexError, ["from -1 to 0", "got 2"]),
    "bool of many": (lambda: bool(leaf(1.0, 2.0)), RuntimeError, ["(2,)", "ambiguous", ".all()"]),
    "item of many": (lambda: leaf(1.0, 2.0).item(), RuntimeError, ["one element", "(2,)", ".tolist()"]),
    "float of many": (lambda: float(leaf(1.0, 2.0)), RuntimeError, ["one element"]),
    "len of a scalar": (lambda: len(tape.tensor(1.0)), TypeError, ["no length"]),
    "iteration over a scalar": (lambda: iter(tape.tensor(1.0)), TypeError, [".item()"]),
    "a float as index": (lambda: [1, 2][tape.tensor(1.0)], TypeError, ["integer tensor", "float64"]),
    "out= of a tensor that requires grad": (
        lambda: tape.sum(leaf(1.0), out=tape.zeros(())),
        RuntimeError,
        ["sum(out=…)", "tape.no_grad()"],
    ),
    "NumPy function without a rule": (
        lambda: np.frexp(leaf(1.0)),
        TypeError,
        ["frexp", "no rule", ".detach().numpy()"],
    ),
    "tensor of words": (lambda: tape.tensor(["a"]), TypeError, ["numbers", "list"]),
    "ragged rows": (lambda: tape.tensor([[1.0], [1.0, 2.0]]), ValueError, ["inhomogeneous"]),
    "from_numpy of a list": (lambda: tape.from_numpy([1.0]), TypeError, ["NumPy array", "list", "tape.tensor()"]),
    "Variable of a list": (lambda: Variable([1.0]), TypeError, ["wraps a tensor", "list"]),
    "unknown keyword": (lambda: leaf(1.0).sum(dims_=0), TypeError, ["sum()", "dims_", "axis"]),
    "both names of an argument": (
        lambda: backward(squares()[1], tape.ones(2), grad_variables=tape.ones(2)),
        RuntimeError,
        ["deprecated", "pass grad_tensors alone"],
    ),
    "flatten in an order": (lambda: leaf(1.0).flatten("F"), TypeError, ["flatten()", "axis", "'F'"]),
    "times a Decimal": (lambda: leaf(1.0) * Decimal(2), TypeError, ["Decimal", "float(x)"]),
    "times a word": (lambda: leaf(1.0) * "a", TypeError, ["mul", "number", "'a'"]),
    "a word times": (lambda: "a" * tape.tensor(2), TypeError, ["mul", "number", "'a'"]),
    "plus a huge integer": (lambda: leaf(1.0) + 10**400, OverflowError, ["add", "fits", "1329 bits"]),
    "out= that requires grad": (lambda: np.negative(2, out=leaf(1.0)), RuntimeError, ["np.negative(out=…)", "record"]),
    "zeros into read-only memory": (lambda: read_only().zero_(), RuntimeError, ["zero_()", "read-only", ".clone()"]),
    "a number into read-only memory": (
        lambda: read_only().__setitem__(0, 1.0),
        RuntimeError,
        ["x[index] = value", "read-only"],
    ),
    "split into nothing": (lambda: leaf(1.0).split(0), RuntimeError, ["split()", "at least 1", "got 0"]),
    "integer default dtype": (lambda: tape.set_default_dtype(tape.int64), TypeError, ["floating", "int64"]),
    "a dtype that holds no numbers": (lambda: tape.zeros(2, dtype="U3"), TypeError, ["dtype", "<U3"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name):
    explained(MISTAKES[name])


def test_grad_of_a_result_warns_and_is_none():
    y = squares()[1]
    with pytest.warns(UserWarning, match=r"not a leaf.*\n.*retain_grad") as caught:
        assert y.grad is None
    assert caught[0].filename == __file__


CHANGES = {
    "augmented": lambda w: w.__isub__(1.0),
    "method": lambda w: w.mul_(2.0),
    "item": lambda w: w.__setitem__(0, 5.0),
    "view": lambda w: w[:1].zero_(),
    "detached": lambda w: w.detach().fill_(1.0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changing_a_value_that_a_rule_needs(change):
    w = leaf(1.0, 2.0)
    loss = (w * w).sum()
    with tape.no_grad():
        CHANGES[change](w)
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    text = str(caught.value)
    for word in ("mul", "changed in place", "(w * w).sum()", "test_mistakes.py", ".clone()"):
        assert word in text
    assert text.count("test_mistakes.py") == 2


def test_changing_a_value_that_no_rule_needs():
    w = leaf(1.0, 2.0)
    loss = (w + 1).sum()
    with tape.no_grad():
        w.zero_()
    loss.backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_changing_after_backward_and_computing_again():
    w = leaf(1.0, 2.0)
    for _ in range(3):
        w.grad = None
        (w * w).sum().backward()
        with tape.no_grad():
            w.mul_(2.0)
    assert w.grad.tolist() == [8.0, 16.0]


def test_data_is_not_watched():
    w = leaf(1.0, 2.0)
    loss = (w * w).sum()
    w.data.zero_()
    loss.backward()
    assert w.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("compute", [lambda x: (x * x).sum(), lambda x: (x * 3.0).sum(), lambda x: x.sum()])
@pytest.mark.parametrize("shape", [(3,), (1,), (2, 2)])
def test_another_shape_under_a_recorded_leaf(compute, shape):
    x = leaf(1.0, 2.0)
    y = compute(x)
    x.data = tape.ones(shape)
    for differentiate in (lambda: grad(y, x), y.backward):
        with pytest.raises(RuntimeError, match=r"float64\[2\] then(.|\n)*x\.data = … at .*test_mistakes"):
            differentiate()
    compute(x).backward()
    assert x.grad.shape == shape
    x.data = tape.ones(shape)
    compute(x).backward()
