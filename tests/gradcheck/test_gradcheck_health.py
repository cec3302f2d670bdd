"""Where digits cancel, where adjoints leave the range of numbers, and where none gets through."""

import inspect
import json

import numpy as np
import pytest
from command_line import check as command

import tape
from tape.gradcheck import health
from tape.gradcheck.numerical_health import amplification


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def cancels(x):
    y = x[0] + 1e9
    return (y - 1e9) + x[1]


def test_the_record_that_cancels_is_named_with_its_line():
    found = health(cancels, np.array([0.7, 1.0]))
    (one,) = found.cancelling
    assert (one.op, one.where.line) == ("sub", line_of(cancels, "y - 1e9"))
    assert one.factor == pytest.approx(2e9 / 0.7, rel=1e-6)
    assert f"{__file__}:{one.where.line}" in str(found)


@pytest.mark.parametrize(
    ("function", "x", "factor"),
    [
        (lambda x: tape.log(x), [1 + 1e-12], 1e12),
        (lambda x: x.sum(), [1e10, 1.0, -1e10], 2e10),
        (lambda x: tape.sin(x), [np.pi], np.pi / 1.2246e-16),
        (lambda x: tape.stack([x[0], x[1]]) @ tape.tensor([1.0, -1.0]), [1.0 + 1e-10, 1.0], 4e10),
    ],
    ids=["log near 1", "sum", "sin near π", "dot"],
)
def test_condition_numbers(function, x, factor):
    found = health(function, np.array(x))
    assert found.cancelling[0].factor == pytest.approx(factor, rel=1e-2)


def test_the_condition_is_that_of_higham():
    """Σ|∂z/∂x||x| / |z|, beside the whole Jacobian of a matrix product."""
    from ops import REGISTRY

    A, B = np.array([[1.0, 2.0], [3.0, -1.5]]), np.array([[1.0, 0.5], [1.9, -0.3]])
    z = A @ B
    expected = np.max(2 * (np.abs(A) @ np.abs(B)) / np.abs(z))
    assert amplification(REGISTRY["matmul"], (A, B), z, (0, 1), {}) == pytest.approx(expected)


def test_well_behaved_functions_are_healthy():
    for function in (lambda x: tape.tanh(x).sum(), lambda x: (x @ x.T).mean(), lambda x: tape.linalg.svdvals(x).sum()):
        found = health(function, np.array([[1.0, 0.2], [0.3, 2.0]]))
        assert found.ok, str(found)


def test_single_precision_has_fewer_digits_to_lose():
    x = np.array([1.0, 1.0 - 1e-4])
    assert health(lambda x: x[0] - x[1], x).ok
    assert not health(lambda x: x[0] - x[1], x.astype(np.float32)).ok


def overflowing(x):
    y = x * 1e200
    return y.sum() * 1e200


def underflowing(x):
    y = x * 1e-200
    z = y * 1e-200
    return z.sum()


def test_the_first_adjoint_that_leaves_the_range():
    (event,) = health(overflowing, np.full(3, 1e-300)).adjoints
    assert (event.what, event.op, event.where.line) == ("overflows", "mul", line_of(overflowing, "y = x"))
    found = health(underflowing, np.ones(2))
    (event,) = found.adjoints
    assert (event.what, event.where.line) == ("underflows", line_of(underflowing, "y = x"))
    assert [(v.what, v.where.line) for v in found.values] == [("underflows", line_of(underflowing, "z = y"))]


def test_an_infinite_derivative_is_no_overflow():
    (event,) = health(lambda x: tape.sqrt(x).sum(), np.array([0.3, 0.0])).adjoints
    assert event.what == "is infinite or nan"


def ends(x, y):
    z = tape.floor(x)
    return (z * y).sum()


def test_adjoints_that_are_zero_whatever_the_numbers():
    found = health(ends, [np.array([1.5, 2.5]), np.array([1.0, 2.0])], names=["x", "y"])
    assert found.zeros == {"x": (2, 2), "y": (0, 2)}
    (event,) = found.ends
    assert (event.op, event.where.line) == ("floor", line_of(ends, "floor"))
    assert "the gradient for x is zero here, whatever adjoints come" in str(found)


def test_an_adjoint_that_cancels_by_chance_is_not_structural():
    assert health(lambda x: (x * np.array([1.0, -1.0])).sum() * (x.sum() - 2.0) * 0.0 + x.sum(), np.ones(2)).zeros == {
        "input 0": (0, 2)
    }
    assert health(lambda x: x[0] * 3.0, np.ones(3)).zeros == {"input 0": (2, 3)}


def test_several_results_and_custom_functions_pass():
    assert health(lambda x: tape.linalg.svd(x)[1].sum(), np.eye(2, 3) + 1.0).zeros == {"input 0": (0, 6)}

    class Double(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    assert health(lambda x: Double.apply(x).sum(), np.ones(3)).zeros == {"input 0": (0, 3)}
    assert health(lambda z: (z * z.conj()).real.sum(), np.array([1 + 2j, 0.5j])).zeros == {"input 0": (0, 2)}


def test_the_command_tells(folder):
    (folder / "model2.py").write_text("import numpy as np\ndef f(x):\n    y = x + 1e10\n    return (y - 1e10).sum()\n")
    import sys

    sys.modules.pop("model2", None)
    from command_line import run

    status, out, err = run("model2.py:f", "-i", "x=[0.5, 1.5]", "--health")
    assert (status, err) == (0, "")
    assert "sub amplifies relative errors by up to 4.0e+10" in out
    assert "return (y - 1e10).sum()" in out
    found = json.loads(command("chatty", "-i", "x=[0.5]", "--health", "--json")[1])["health"]
    assert found["ok"]
