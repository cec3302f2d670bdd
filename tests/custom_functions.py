"""Custom functions that the tests of `Function` share: PyTorch's documented examples, and a way to declare more."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.autograd import Function

# The examples of PyTorch's documentation, written for either package; `Function` and `torch` come from outside.
EXAMPLES = """
class Exp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        result, = ctx.saved_tensors
        return grad_output * result

class LinearFunction(Function):
    @staticmethod
    def forward(input, weight, bias):
        output = input.mm(weight.t())
        if bias is not None:
            output = output + bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias

class MulConstant(Function):
    @staticmethod
    def forward(tensor, constant):
        return tensor * constant

    @staticmethod
    def setup_context(ctx, inputs, output):
        tensor, constant = inputs
        ctx.set_materialize_grads(False)
        ctx.constant = constant

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output is None:
            return None, None
        return grad_output * ctx.constant, None

class MyCube(Function):
    @staticmethod
    def forward(x):
        result = x ** 3
        dx = 3 * x ** 2
        return result, dx

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, = inputs
        result, dx = output
        ctx.save_for_backward(x, dx)

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        result = grad_output * dx + grad_dx * 6 * x
        return result

class Sinh(Function):
    @staticmethod
    def forward(ctx, x):
        expx = torch.exp(x)
        expnegx = torch.exp(-x)
        ctx.save_for_backward(expx, expnegx)
        return (expx - expnegx) / 2, expx, expnegx

    @staticmethod
    def backward(ctx, grad_out, _grad_out_exp, _grad_out_negexp):
        expx, expnegx = ctx.saved_tensors
        grad_input = grad_out * (expx + expnegx) / 2
        grad_input = grad_input + _grad_out_exp * expx
        grad_input = grad_input - _grad_out_negexp * expnegx
        return grad_input

class Mixed(Function):
    @staticmethod
    def forward(ctx, t1, t2, scale, t3):
        ctx.scale = scale
        ctx.save_for_backward(t1, t2, t3)
        return scale, (t1 + t2 * t3) * scale, None, True, (t1 * t2 + t3) * scale, 'bar', t1

    @staticmethod
    def backward(ctx, *grads):
        assert len(grads) == 7 and [g is None for g in grads] == [True, False, True, True, False, True, False]
        s = ctx.scale
        a, b, c = ctx.saved_tensors
        return (grads[1] * s + grads[4] * b * s + grads[6], grads[1] * c * s + grads[4] * a * s, None,
                grads[1] * b * s + grads[4] * s)

def cube(x):
    return MyCube.apply(x)[0]

def sinh(x):
    return Sinh.apply(x)[0]

def linear(x, w, b):
    return LinearFunction.apply(x, w, b)

def linear_without_bias(x, w):
    return LinearFunction.apply(x, w, None)

def mixed(a, b, c):
    out = Mixed.apply(a, b, 4, c)
    assert out[0] == 4 and out[2] is None and out[3] is True and out[5] == 'bar'
    return out[1] * out[4] + out[6] ** 2

def scaled(x):
    return MulConstant.apply(x, 5.0) * x

def chained(x):
    return Exp.apply(cube(x) * 0.1) * sinh(Exp.apply(x))
"""


def examples(torch, function):
    namespace = {"torch": torch, "Function": function}
    exec(EXAMPLES, namespace)
    return namespace


OURS = examples(tape, Function)
RNG = np.random.default_rng(0)
FUNCTIONS = {
    "Exp": (lambda space: space["Exp"].apply, [(3,)]),
    "cube": (lambda space: space["cube"], [(2, 2)]),
    "sinh": (lambda space: space["sinh"], [(3,)]),
    "linear": (lambda space: space["linear"], [(4, 3), (2, 3), (2,)]),
    "linear_without_bias": (lambda space: space["linear_without_bias"], [(4, 3), (2, 3)]),
    "scaled": (lambda space: space["scaled"], [()]),
    "mixed": (lambda space: space["mixed"], [(3,), (3,), (3,)]),
    "chained": (lambda space: space["chained"], [(3,)]),
}
every_example = pytest.mark.parametrize("name", FUNCTIONS)


def leaf(value, dtype=None):
    return tape.tensor(value, requires_grad=True, dtype=dtype)


def inputs_of(name):
    return [RNG.uniform(-1.0, 1.0, shape) for shape in FUNCTIONS[name][1]]


def declare(name="F", *, forward=None, backward=None, **more):
    """A Function with these static methods."""
    methods = {"forward": forward or (lambda ctx, x: x * 2.0), "backward": backward, **more}
    return type(name, (Function,), {k: staticmethod(f) for k, f in methods.items() if f is not None})
