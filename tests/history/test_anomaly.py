"""Anomaly mode: which operation, which line, which number; what it costs; that it changes nothing else."""

from __future__ import annotations

import contextlib
import io
import re
import warnings

import numpy as np
import pytest

import tape
from tape.autograd import Function, detect_anomaly, grad, set_detect_anomaly
from tape.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from tape.history.anomaly import INDUCED, MODE


@pytest.fixture(autouse=True)
def restored():
    """The mode is the process's, so every test leaves it off."""
    yield
    assert (MODE.enabled, MODE.check_nan) == (False, True)
    assert not INDUCED


@contextlib.contextmanager
def quiet(check_nan=True):
    """The mode, without its warnings."""
    with warnings.catch_warnings(action="ignore"), detect_anomaly(check_nan):
        yield


def line_of(text):
    """Where a piece of source is in this file."""
    with open(__file__, encoding="utf-8") as file:
        return next(k for k, line in enumerate(file, 1) if text in line and "line_of" not in line)


def leaf(*values):
    return tape.tensor(list(values), requires_grad=True)


def fails(function, *texts, check_nan=True):
    """The RuntimeError that a backward raises under the mode; its text holds these."""
    with pytest.raises(RuntimeError) as info, quiet(check_nan), np.errstate(all="ignore"):
        function()
    for text in texts:
        assert text in str(info.value)
    return info.value


def test_names_the_op_the_line_the_index_and_the_numbers(either):
    x = leaf(1.0, 2.0, 3.0, 0.0)
    with np.errstate(all="ignore"):
        y = x * 2.0
        z = x / y  # the quotient
    error = fails(
        z.sum().backward,
        "Function 'DivBackward0' returned nan values in its 1th output.",
        f"test_anomaly.py:{line_of('# the quotient')} in test_names_the_op",
        "the first nan at index [3] of the gradient of operand y comes from",
        "g[3] = 1.0, the gradient that came in",
        "y[3] = 0.0, computed at",
        "y = x * 2.0",
    )
    assert "was nan already" not in str(error)
    assert x.grad is None


def test_the_index_is_that_of_the_numbers_under_broadcasting(either):
    x, w = tape.ones(3, 1, requires_grad=True), tape.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]])
    with np.errstate(all="ignore"):
        z = (x * 0.0) / w.requires_grad_()
    fails(z.sum().backward, "DivBackward0", "index [1, 0] of the gradient of operand y", "y[1, 0] = 0.0, a leaf")


def test_matrices_and_reductions_show_the_first_strange_number(either):
    a = tape.tensor([[1.0, 2.0], [3.0, np.inf]])
    b = tape.ones(2, 2, requires_grad=True)
    fails(
        lambda: (a @ b).backward(tape.zeros(2, 2)), "'MmBackward0'", "in its 1th output", "x[1, 1] is infinite",
        "g[0, 0] is 0",
    )  # fmt: skip
    c = leaf(2.0, np.inf, 0.0)
    fails(lambda: c.prod().backward(), "'ProdBackward0'", "x[1] is infinite", "g, of shape (), is finite")


@pytest.mark.parametrize("shape", [(), (1,), (5,), (40,), (3, 700)])
@pytest.mark.parametrize("dtype", [tape.float64, tape.float32, tape.float16])
def test_every_size_and_dtype(shape, dtype, either):
    """Below and above the size from which a kernel does the search."""
    values = np.ones(shape)
    values[(...,) if not shape else (-1,) * len(shape)] = 0.0
    x = tape.tensor(values, dtype=dtype, requires_grad=True)
    place = f"[{', '.join(str(n - 1) for n in shape)}]"
    with np.errstate(all="ignore"):
        out = (x / x).sum()
    texts = (f"y{place} = 0.0", f"index {place} of") if shape else ("y = 0.0",)
    fails(out.backward, "'DivBackward0'", *texts)


def test_a_nan_that_is_masked_away_later_is_seen(either):
    """It never reaches a leaf."""
    x = leaf(1.0, 0.0)
    with np.errstate(all="ignore"):
        y = tape.where(tape.tensor([True, False]), x, 0.0)
        loss = (y / y).sum()
    loss.backward(retain_graph=True)
    assert np.isfinite(x.grad.numpy()).all()
    fails(loss.backward, "'DivBackward0'")


def test_the_first_record_is_named_not_those_that_spread_it(either):
    x = leaf(0.0)
    with np.errstate(all="ignore"):
        y = x
        for _ in range(30):
            y = y * 1.0
        y = y / y
        for _ in range(30):
            y = y * 1.0
    fails(y.sum().backward, "'DivBackward0'")


def test_infinite_gradients_that_cancel(either):
    x = leaf(0.0)
    with np.errstate(all="ignore"):
        y = x * 1.0
        loss = (y.sqrt() - y.sqrt()).sum()
    fails(loss.backward, "'MulBackward0'", "g[0] = nan", "was nan already")


def test_a_gradient_that_is_nan_from_the_start(either):
    x = leaf(1.0, 1.0)
    fails(lambda: (x * 2.0).backward(tape.tensor([0.0, np.nan])), "'MulBackward0'", "was nan already")


def test_infinity_is_no_error(either):
    x = leaf(0.0)
    with quiet():
        x.sqrt().sum().backward()
    assert x.grad.item() == np.inf


class Faulty(Function):
    """Gives nan with respect to one of its inputs, or raises."""

    @staticmethod
    def forward(ctx, x, y, fault):
        ctx.fault = fault
        return x.sum() + y.sum()

    @staticmethod
    def backward(ctx, g):
        if ctx.fault < 0:
            raise KeyError("of my own")
        bars = [g.expand(3).clone(), g.expand(3).clone()]
        bars[ctx.fault][1] = np.nan
        return *bars, None


@pytest.mark.parametrize("fault", [0, 1])
def test_custom_functions(fault, either):
    x = leaf(1.0, 2.0, 3.0)
    loss = Faulty.apply(x, x * 1.0, fault)
    fails(loss.backward, f"Function 'FaultyBackward' returned nan values in its {fault}th output.", "index [1]")
    loss = Faulty.apply(x, x * 1.0, fault)
    with quiet(check_nan=False):
        loss.backward()
    assert np.isnan(x.grad.numpy()).sum() == 1


def test_an_error_of_the_users_carries_a_note(either):
    x = leaf(1.0, 2.0, 3.0)
    with pytest.raises(KeyError, match="of my own") as info, quiet():
        Faulty.apply(x, x, -1).backward()  # the faulty call
    (note,) = info.value.__notes__
    assert note.startswith("Error detected in FaultyBackward, recorded at")
    assert f"test_anomaly.py:{line_of('# the faulty call')}" in note
    with pytest.raises(KeyError) as info:
        Faulty.apply(x, x, -1).backward()
    assert not hasattr(info.value, "__notes__")


def test_the_error_is_warned_of_on_the_users_line(either):
    x = leaf(0.0)
    with np.errstate(all="ignore"):
        y = (x / x).sum()
    with warnings.catch_warnings(record=True, action="always") as seen, detect_anomaly(), pytest.raises(RuntimeError):
        y.backward()  # warned of here
    assert [str(w.message).split(",")[0].split(":")[0] for w in seen] == [
        "Anomaly Detection has been enabled", "Error detected in DivBackward0",
    ]  # fmt: skip
    assert (seen[1].filename, seen[1].lineno) == (__file__, line_of("# warned of here"))


def test_where_warnings_are_errors_the_error_itself_stands():
    x = leaf(0.0)
    shown = io.StringIO()
    with np.errstate(all="ignore"):
        y = (x / x).sum()
    with set_detect_anomaly(True), contextlib.redirect_stderr(shown), pytest.raises(RuntimeError, match="DivBackward0"):
        y.backward()
    assert "Error detected in DivBackward0" in shown.getvalue()


def test_a_change_in_place_is_warned_of_too():
    x, w = leaf(1.0, 2.0), tape.ones(2)
    loss = (x * w).sum()
    w += 1.0
    set_detect_anomaly(True)
    with warnings.catch_warnings(record=True, action="always") as seen, pytest.raises(RuntimeError, match="mul"):
        loss.backward()
    set_detect_anomaly(False)
    assert str(seen[0].message).startswith("Error detected in MulBackward0")


class Outer(Function):
    """Its backward records a function of ours."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sum()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return Faulty.apply(g * x, g + x, 0).expand(3)  # the inner call


def test_a_recorded_backward_is_blamed_with_what_it_was_the_gradient_of():
    x = leaf(1.0, 2.0, 3.0)
    with warnings.catch_warnings(record=True, action="always") as seen, detect_anomaly():
        (g,) = grad(Outer.apply(x), x, create_graph=True)  # the outer call
        with pytest.raises(RuntimeError, match="Function 'FaultyBackward'") as info:
            g.sum().backward()
    texts = [str(w.message) for w in seen]
    assert len(texts) == 3
    assert texts[2:] == info.value.__notes__  # the first place is in the error itself
    assert re.search(f"Error detected in FaultyBackward.*:{line_of('# the inner call')} in backward", texts[1])
    assert re.search(f"the gradient of OuterBackward.*:{line_of('# the outer call')} ", texts[2])


def test_create_graph_is_checked_while_it_runs():
    x = leaf(0.0)
    with np.errstate(all="ignore"):
        y = (x / x).sum()
    fails(lambda: grad(y, x, create_graph=True), "'DivBackward0'", "y[0] = 0.0")


def test_targets_hooks_and_accumulation_are_what_they_are_without(either):
    x = leaf(1.0, 2.0)
    y = x * 3.0
    seen = []
    y.register_hook(lambda g: seen.append(g) or g * 2)
    y.retain_grad()
    z = (y * x).sum()
    expected = grad(z, [x, y], retain_graph=True)
    with quiet():
        found = grad(z, [x, y], retain_graph=True)
        z.backward(retain_graph=True)
        z.backward()
    for a, b in zip(expected, found):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    np.testing.assert_array_equal(x.grad.numpy(), 2 * expected[0].numpy())
    assert len(seen) == 4


def test_a_failed_backward_releases_nothing_and_adds_nothing(either):
    x = leaf(0.0, 1.0)
    y = x.exp()
    with np.errstate(all="ignore"):
        z = (y + x / x).sum()
    fails(z.backward)
    assert x.grad is None
    z.backward()
    assert np.isnan(x.grad.numpy()[0])


def test_a_gradient_that_is_not_wanted_is_not_computed(either):
    x, y = leaf(0.0), leaf(1.0)
    with np.errstate(all="ignore"):
        z = (x / x + y).sum()
    with quiet():
        (g,) = grad(z, y, retain_graph=True)
    assert g.item() == 1.0
    fails(lambda: grad(z, x), "'DivBackward0'")


def test_switches():
    with warnings.catch_warnings(action="ignore"):
        with detect_anomaly():
            assert is_anomaly_enabled()
            assert is_anomaly_check_nan_enabled()
            with set_detect_anomaly(True, check_nan=False):
                assert (tape.is_anomaly_enabled(), tape.is_anomaly_check_nan_enabled()) == (True, False)
            with set_detect_anomaly(False):
                assert not is_anomaly_enabled()
            assert is_anomaly_enabled()
        assert not is_anomaly_enabled()
    set_detect_anomaly(True, False)
    assert is_anomaly_enabled()
    set_detect_anomaly(False)
    assert not is_anomaly_enabled()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        detect_anomaly()


def test_forward_over_reverse_and_func_are_watched_too():
    x = tape.tensor(0.0)
    with np.errstate(all="ignore"):
        fails(lambda: tape.func.grad(lambda x: x / x)(x), "'DivBackward0'")
        fails(lambda: tape.func.jvp(tape.func.grad(lambda x: x / x), (x,), (x,)), "'DivBackward0'")
