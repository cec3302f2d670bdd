"""gradcheck of functions that change tensors in place: of their own, through views, by index, by mask."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import run

import tape
from tape.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck


def leaf(*shape):
    numbers = np.random.default_rng(5).uniform(0.5, 1.5, shape)
    return tape.from_numpy(np.asarray(numbers)).requires_grad_()


def in_place(x):
    y = x.clone()
    y.mul_(x)
    y[0] = y[1] * 3
    return y.add_(x).exp_()


def through_a_view(x):
    y = x * 2
    y[1:].mul_(y[0])
    y.view(-1)[0] = 5.0
    return y


def by_mask(x):
    y = x.sin()
    y[x > 1.0] *= 2.0
    y.masked_fill_(x < 0.6, 0.25)
    return y


def in_a_loop(x):
    y = tape.zeros(4, dtype=x.dtype)
    for i in range(3):
        y[i] = x[i].prod()
        y[i + 1] = y[i] * y[i]
    return y


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
@pytest.mark.parametrize("func", [in_place, through_a_view, by_mask, in_a_loop])
def test_functions_that_change_tensors_in_place(func, fast):
    x = leaf(3, 2)
    assert gradcheck(func, x, fast_mode=fast, check_forward_ad=True)
    assert gradgradcheck(func, x, fast_mode=fast)


def test_a_change_that_hides_from_the_gradient_is_found():
    def hidden(x):
        y = x * 2
        y.data.mul_(x.detach())
        return y

    with pytest.raises(GradcheckError):
        gradcheck(hidden, leaf(3, 2))


PROGRAM = """
import tape

def smoothed(x):
    y = tape.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    y[1:].mul_(x[:-1])
    return y.sin_()
"""


def test_the_command_checks_functions_that_change_tensors_in_place(tmp_path):
    file = tmp_path / "smooth.py"
    file.write_text(PROGRAM)
    status, out, err = run(
        f"{file}:smoothed", "--input", "x=[0.3, 1.2, 0.7, 2.0]", "--order", "2", "--json", "--tensors"
    )
    assert (status, json.loads(out)["ok"]) == (0, True), err


def test_the_command_names_the_line_of_a_change_that_hides_from_the_gradient(tmp_path):
    file = tmp_path / "smooth.py"
    file.write_text(PROGRAM.replace("y[1:].mul_", "y.data[1:].mul_"))
    status, out, _ = run(f"{file}:smoothed", "--input", "x=[0.3, 1.2, 0.7, 2.0]", "--json", "--tensors")
    assert status == 1
    assert [line["text"] for line in json.loads(out)["orders"][0]["lines"]][-1] == "y.data[1:].mul_(x[:-1])"
