"""Reflected operators called by hand: the tensor that they are methods of stands on the right."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tape
from ops import REGISTRY
from ops.core.operators import COMPARISONS

X, Y = np.array([[3.0, 2.0], [1.5, 5.0]]), np.array([[2.0, 0.5], [4.0, 3.0]])
SYMBOLS = sorted(op.symbol for op in REGISTRY.values() if op.symbol and op.arity == 2 and op.symbol not in COMPARISONS)
INTEGERS = {"and", "or", "xor", "lshift", "rshift"}


def applied(symbol, x, y):
    return (getattr(operator, symbol, None) or getattr(operator, f"{symbol}_"))(x, y)


def operands(symbol):
    dtype = np.int64 if symbol in INTEGERS else np.float64
    return X.astype(dtype), Y.astype(dtype)


@pytest.mark.parametrize("symbol", SYMBOLS)
@pytest.mark.parametrize("left", [tape.tensor, np.asarray, np.ndarray.tolist, lambda y: y[0, 0].item()])
def test_the_other_operand_comes_first(symbol, left):
    x, y = operands(symbol)
    other = left(y)
    if symbol == "matmul" and not isinstance(other, (tape.Tensor, np.ndarray, list)):
        return
    plain = other.numpy() if isinstance(other, tape.Tensor) else np.asarray(other)
    z = getattr(tape.Tensor, f"__r{symbol}__")(tape.tensor(x), other)
    np.testing.assert_allclose(z.numpy(), applied(symbol, plain, x))


@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "truediv", "pow", "matmul", "mod"])
def test_gradients_go_where_they_belong(symbol):
    results = []
    for reflected in (True, False):
        x, y = (tape.tensor(v, requires_grad=True) for v in (X, Y))
        z = getattr(x, f"__r{symbol}__")(y) if reflected else getattr(y, f"__{symbol}__")(x)
        z.sum().backward()
        results.append((x.grad.tolist(), y.grad.tolist()))
    assert results[0] == results[1]


def test_text_is_refused():
    with pytest.raises(TypeError, match="needs a tensor, an array or a number"):
        tape.ones(2).__rsub__("2")
