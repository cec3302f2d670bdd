"""What has a history, and what a backward has used up, is the same in a compiled function as outside of one."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import tape
from tape.autograd import grad


def derivative(x):
    """Of x sin x."""
    return np.sin(x) + x * np.cos(x)


def twice_swept(x):
    y = x.sin() * x
    (g,) = grad(y.sum(), x)
    return y.exp().sum(), g


def swept_again_inside(x):
    y = x.sin() * x
    grad(y.sum(), x)
    return grad(y.sum(), x)[0]


def nothing_to_release(x):
    y = x * 2 + x
    grad(y.sum(), x)
    return grad(y.sum(), x)[0], y.sum()


def retained(x):
    y = x.sin() * x
    (g,) = grad(y.sum(), x, retain_graph=True)
    return y.exp().sum() + grad(y.sum(), x, create_graph=True)[0].sum(), g


def of_what_has_no_history(x):
    with tape.no_grad():
        y = x * 2
    return grad(y.sin().sum(), x, allow_unused=True, materialize_grads=True)[0]


def to_what_has_no_history(x):
    y = x.detach()
    return grad((x * y).sum(), y)[0]


def to_a_leaf_of_its_own(x):
    y = x.detach().requires_grad_()
    return grad((x * y).sin().sum(), y)[0]


def with_a_copy_without_history(x):
    with tape.no_grad():
        y = x.clone()
        y.copy_(x * 3)
    return (x * y).sum()


def outcome(f, x):
    """What a function gives of a tensor, and the gradient of that; or what is raised."""
    try:
        zs = f(x)
        zs = zs if isinstance(zs, tuple) else (zs,)
        total = sum(z.sum() for z in zs if z.requires_grad)
        return [np.asarray(z.detach()) for z in (*zs, *grad(total, x))] if isinstance(total, tape.Tensor) else zs
    except RuntimeError as error:
        return str(error).split("\n")[0]


RECORDED = twice_swept, nothing_to_release, retained, to_a_leaf_of_its_own, with_a_copy_without_history
REFUSED = swept_again_inside, of_what_has_no_history, to_what_has_no_history


@pytest.mark.parametrize("f", RECORDED + REFUSED)
def test_as_outside(f):
    fast = tape.compile(f)
    for seed in range(3):
        x = tape.tensor(np.random.default_rng(seed).standard_normal(3), requires_grad=True)
        expected = outcome(f, x)
        with pytest.warns(RuntimeWarning) if f in REFUSED and not seed else nullcontext():
            found = outcome(fast, x)
        if isinstance(expected, str):
            assert found == expected
        else:
            for z, w in zip(expected, found, strict=True):
                np.testing.assert_allclose(z, w, rtol=1e-14)


def test_a_second_backward_tells_the_line_and_the_first_result_stays():
    fast = tape.compile(twice_swept)
    x = tape.tensor([0.5, 1.5], requires_grad=True)
    value, g = fast(x)
    with pytest.raises(RuntimeError, match=r"a second time[^\n]*that mul needs[^\n]*\n  recorded at .*x\.sin\(\) \* x"):
        value.backward()
    assert x.grad is None
    np.testing.assert_allclose(g.numpy(), derivative(x.numpy(force=True)), rtol=1e-14)
    assert fast.statistics().eager == 0


def test_arrays_are_replayed_as_before():
    fast = tape.compile(twice_swept)
    x = np.array([0.5, 1.5])
    for _ in range(3):
        _, g = fast(x)
    np.testing.assert_allclose(g, derivative(x), rtol=1e-14)
    assert fast.statistics().replays == 3


def test_a_saved_program_remembers(tmp_path):
    x = tape.tensor([0.5, 1.5], requires_grad=True)
    tape.record(twice_swept, x).save(tmp_path / "p")
    value, _ = tape.load(tmp_path / "p")(x)
    with pytest.raises(RuntimeError, match="second time"):
        value.backward()
