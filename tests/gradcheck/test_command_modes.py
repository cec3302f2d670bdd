"""The command ``gradcheck`` with --fast, --forward and --batched, and with complex inputs."""

import json

import pytest
from command_line import check

W = "--input", "w=(3,)", "--input", "X=data.npz[X]", "--input", "b=0.5"


def test_fast_mode_compares_a_number_for_each_input(folder):
    status, out, _ = check("loss", *W, "--fast", "--verbose")
    assert status == 0
    assert "right: 2 derivatives" in out
    assert "along u, v" in out
    assert "u · d output / d w · v along random u, v" in out


def test_fast_mode_shows_the_elements_of_what_is_wrong(folder):
    status, out, _ = check("hooked", "--input", "x=[1.0, 2.0]", "--fast")
    assert status == 1
    assert "along u, v" in out
    assert "wrong: " in out
    assert "2 of 2 d output / d x" in out


def test_the_seed_decides_the_random_directions(folder):
    def gradient(seed):
        _, out, _ = check("loss", "--input", "w=[1.0, 2.0, 3.0]", *W[2:], "--fast", "--json", "--seed", seed)
        return json.loads(out)["orders"][0]["comparisons"][0]["analytic"]

    assert gradient(1) == gradient(1) != gradient(2)


@pytest.mark.parametrize("fast", [[], ["--fast"]])
def test_forward_mode(folder, fast):
    status, out, _ = check("loss", *W, "--forward", *fast)
    assert status == 0
    assert "mode" in out
    assert out.count("forward") == 2
    assert out.count("reverse") == 2
    assert check("custom", "--input", "x=[0.1, 0.2]", *fast)[0] == 0
    status, out, _ = check("custom", "--input", "x=[0.1, 0.2]", "--forward", *fast)
    assert status == 1
    assert "here the forward rule of Double with respect to" in out
    assert "off by 0.01 %" in out


def test_forward_mode_in_json(folder):
    status, out, _ = check("custom", "--input", "x=[0.1, 0.2]", "--forward", "--order", "1", "--json")
    (order,) = json.loads(out)["orders"]
    assert status == 1
    assert [(c["mode"], c["verdict"]) for c in order["comparisons"]] == [("reverse", "right"), ("forward", "wrong")]
    (suspect,) = order["suspects"]
    assert (suspect["op"], suspect["mode"], suspect["order"]) == ("Double", "forward", 1)
    assert suspect["off"] == pytest.approx(1e-4, rel=1e-2)
    assert suspect["where"]["text"] == "return np.exp(Double.apply(tape.as_tensor(x)))"


def test_batched(folder):
    assert check("loss", *W, "--batched", "--forward", "--order", "2")[0] == 0


@pytest.mark.parametrize(
    "inputs", [["z=[1+2j, 0.5]"], ["z=0.3-1j", "k=1.5"], ["z=(2,)", "k=1j"], ["z=(1, 2)", "k=(1, 2)"]]
)
def test_complex_inputs_and_outputs(folder, inputs):
    given = [x for text in inputs for x in ("--input", text)]
    status, out, _ = check("wave", *given, "--dtype", "complex128", "--forward", "--order", "2")
    assert status == 0, out
    assert ".real" in out or ".imag" in out


def test_complex_numbers_have_no_real_dtype(folder):
    status, _, err = check("wave", "--input", "z=1+2j", "--dtype", "float32")
    assert status == 2
    assert "write complex128 or complex64" in err


@pytest.mark.parametrize("option", [["--forward"], ["--batched"], ["--order", "2"]])
def test_a_gradient_by_hand_is_checked_by_itself(folder, option):
    assert check("loss", *W, "--gradient", "gradient", "--fast")[0] == 0
    assert check("loss", *W, "--gradient", "wrong_gradient", "--fast")[0] == 1
    status, _, err = check("loss", *W, "--gradient", "gradient", *option)
    assert status == 2
    assert f"--gradient and {' '.join(option)} exclude each other" in err
