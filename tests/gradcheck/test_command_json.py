"""The output of the command ``gradcheck`` for programs."""

import json

import pytest
from command_line import check


def test_json_and_nothing_else(folder):
    status, out, err = check("chatty", "--input", "x=[1.0, 2.0]", "--json", "--order", "2")
    found = json.loads(out)
    assert status == found["status"] == 0
    assert "how do you do" in err
    assert (found["version"], found["ok"], found["error"]) == (1, True, None)
    assert found["inputs"] == [{"name": "x", "shape": [2], "dtype": "float64", "checked": True}]
    assert [order["order"] for order in found["orders"]] == [1, 2]
    comparison = found["orders"][0]["comparisons"][0]
    assert set(comparison) == {
        "input", "output", "input_shape", "output_shape", "checked", "wrong", "input_index", "output_index", "analytic",
        "numeric", "error", "tolerance", "uncertainty", "step", "method", "verdict", "complete", "ratio",
            "mode", "along", "input_part", "output_part", "input_number", "output_number", "kinks",
    }  # fmt: skip
    assert comparison["analytic"] == pytest.approx(comparison["numeric"], rel=1e-6)


def test_json_of_a_wrong_gradient_has_the_lines(folder):
    status, out, _ = check("hooked", "--input", "x=[1.0]", "--json")
    found = json.loads(out)
    assert (status, found["status"], found["ok"]) == (1, 1, False)
    (order,) = found["orders"]
    assert order["comparisons"][0]["verdict"] == "wrong"
    assert {"file", "line", "function", "text"} == set(order["lines"][0])
    assert any(line["text"] == "y = np.exp(x)" for line in order["lines"])


def test_json_of_an_error_is_json_too(folder):
    status, out, _ = check("deep", "--input", "x=1.0", "--json")
    found = json.loads(out)
    assert (status, found["status"]) == (2, 2)
    assert "KeyError" in found["error"]
    status, out, _ = check("root", "--input", "x=[0.0]", "--json")
    assert status == 2
    assert json.loads(out)["orders"][0]["comparisons"][0]["numeric"] is None


def test_verbose_tells_inputs_and_steps(folder):
    _, out, _ = check("loss", "--input", "w=(3,)", "--input", "X=data.npz[X]", "--verbose")
    assert "w: float64 (3,), checked" in out
    assert "X: float64 (5, 3)" in out
    assert "central with step" in out
