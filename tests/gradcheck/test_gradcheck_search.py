"""A search finds inputs at which a gradient is wrong, the smallest of them, and takes no kink for an error."""

import subprocess
import sys

import numpy as np
import pytest
from command_line import check as command, run

import tape
from tape.gradcheck import search
from tape.gradcheck.reproduce import text_of_function, written
from tape.gradcheck.searching import NeedsHypothesis, smaller

FEW = {"examples": 25, "seconds": 30.0}


def beyond_two(x):
    return tape.where(x > 2, x.detach(), x).sum()


def at_zero(x):
    return tape.where(x == 0, 5 * x, x)


def test_the_smallest_input_is_found():
    found = search(beyond_two, np.array([0.3, 0.5]), names=["x"], examples=150)
    assert not found.ok
    assert found.failure.inputs["x"].tolist() == [0.0, 3.0]
    assert "no kink: the slopes of d output / d x[1] are 1 from the left and 1 from the right" in str(found)
    assert found.failure.report.lines[0].function == "beyond_two"


def test_a_special_case_is_found():
    found = search(at_zero, 1.5, **FEW)
    assert found.failure.inputs["input 0"] == 0.0


KINKS = {
    "abs": lambda x: abs(x - 1.0),
    "max": lambda x: x.max(),
    "median": lambda x: tape.sort(x).values[1],
    "floor": lambda x: tape.floor(x) * x,
    "clamp": lambda x: x.clamp(0.0, 1.0),
    "cbrt": lambda x: np.cbrt(x),
    "hypot": lambda x: np.hypot(x[0], x[1]),
    "log": lambda x: np.log(x),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks_jumps_and_poles_are_no_errors(name):
    found = search(KINKS[name], np.array([0.7, 0.3, 1.0]), **FEW)
    assert found.ok, str(found)
    assert found.tried.total() >= 20


class Refusing(tape.autograd.Function):
    """x, with a gradient below 2 alone."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        if (x > 2).any():
            raise RuntimeError("no gradient beyond 2")
        return g


def test_what_no_gradient_is_given_for_is_counted_apart():
    found = search(Refusing.apply, np.array([1.0, 0.2]), **FEW)
    assert found.ok
    assert found.tried["refused"]
    assert "no gradient beyond 2" in found.refusal


def test_shapes_vary_together_and_data_stay():
    shapes = set()

    def func(X, w, v):
        shapes.add((X.shape, w.shape, v.shape))
        return (X @ w).sum() + v.sum()

    found = search(func, [np.ones((5, 2)), np.ones(2), np.ones(3)], wrt=[1, 2], vary=True, **FEW)
    assert found.ok
    assert {(x, w) for x, w, _ in shapes} == {((5, 2), (2,))}
    assert {v for *_, v in shapes} >= {(1,), (2,), (3,)}


def test_nan_among_the_inputs():
    """The gradient for the other elements must be right all the same."""
    found = search(lambda x: tape.nansum(x * x), np.array([1.0, 2.0]), examples=24)
    assert found.ok, str(found)

    def spoiled(x):
        return tape.where(x.isnan(), 0.0, x * x).sum() * tape.where(
            x.isnan().any(), x.detach().nansum() / x.nansum(), 1.0
        )

    assert not search(spoiled, np.array([1.0, 2.0]), examples=40).ok


def test_arrays_and_gradients_by_hand():
    def numpy_only(x):
        y = np.zeros(2)
        y[:] = x
        return y @ y

    assert search(numpy_only, np.array([1.0, 2.0]), arrays=True, **FEW).ok
    found = search(numpy_only, np.array([1.0, 2.0]), gradient=lambda x: np.where(x > 2, 2.0 * x, 2.1 * x), **FEW)
    assert not found.ok


def test_the_time_ends_it():
    found = search(lambda x: tape.tanh(x).sum(), np.ones(3), examples=10_000, seconds=0.2)
    assert found.ok
    assert found.tried.total() < 10_000


def test_without_hypothesis(monkeypatch):
    monkeypatch.setattr("tape.gradcheck.searching.find_spec", lambda name: None)
    with pytest.raises(NeedsHypothesis, match=r"pip install 'wengert\[search\]'"):
        search(np.sin, 1.0)


def test_elements_are_made_simple():
    (x,) = smaller([np.array([7.31, -2.6, 9.0])], lambda point: point[0][0] > 7.2)
    assert x.tolist() == [8.0, 0.0, 0.0] or x.tolist() == [7.3, 0.0, 0.0]


@pytest.mark.parametrize(
    "value",
    [
        np.array([0.1, np.nan, -np.inf]),
        np.float32(0.1),
        np.zeros((0, 2)),
        np.array([[1 + 2j]]),
        np.array([1, 2]),
        "a",
        3,
    ],
)
def test_values_are_written_to_the_last_digit(value):
    made = eval(written(value), {"np": np})
    np.testing.assert_array_equal(made, value)
    assert np.asarray(made).dtype == np.asarray(value).dtype


def test_the_text_for_a_function_that_can_be_imported():
    text = text_of_function(beyond_two, {"x": np.array([3.0])}, [0], {"rtol": 1e-5, "atol": None})
    assert f"from {beyond_two.__module__} import beyond_two" in text
    assert "check(beyond_two, list(inputs.values()), wrt=[0], names=list(inputs), rtol=1e-05)" in text
    assert "import the function here" in text_of_function(lambda x: x, {"x": 1.0}, [0])


BUG = """
import numpy as np
import tape

def loss(w, X, *, b=0.5):
    residual = np.where(w > 2, tape.stop_gradient(w), w) * X.mean() + b
    return (residual * residual).sum()
"""


def test_the_command_prints_a_test_that_fails(folder):
    (folder / "buggy.py").write_text(BUG)
    arguments = "buggy.py:loss", "-i", "w=[0.1, 0.2]", "-i", "X=data.npz[X]", "-i", "b=0.25", "--wrt", "w"
    status, out, err = run(*arguments, "--search", "--examples", "60")
    assert (status, err) == (1, "")
    assert "right" in out.partition("search:")[0]
    text = out.partition("This test fails as it does:")[2].partition("\nwrong: ")[0]
    (folder / "test_found.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_found.py"], cwd=folder,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "1 failed" in done.stdout, done.stdout + done.stderr
    assert "Jacobian mismatch" in done.stdout
    mended = BUG.replace("tape.stop_gradient(w)", "w")
    (folder / "buggy.py").write_text(mended)
    assert run(*arguments, "--search", "--examples", "8")[0] == 0


def test_the_command_says_what_does_not_go_together(folder):
    for options, word in ((["--search", "--order", "2"], "exclude"), (["--vary-shapes"], "--search")):
        status, _, err = command("root", "-i", "x=[1.0]", *options)
        assert status == 2
        assert word in err


def test_json_of_a_search(folder):
    import json

    status, out, _ = command("root", "-i", "x=[1.0, 4.0]", "--search", "--examples", "20", "--json")
    found = json.loads(out)["search"]
    assert status == 0
    assert (found["inputs"], found["test"]) == (None, None)
    assert sum(found["tried"].values()) >= 20
