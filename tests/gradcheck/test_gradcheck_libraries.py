"""Gradients of others: written by hand, returned beside the value, and of other libraries."""

from importlib.util import find_spec

import numpy as np
import pytest
from command_line import run

from tape.gradcheck import GradcheckError, Unfit, check
from tape.gradcheck.derivatives.libraries import LIBRARIES, Library

X = np.array([0.3, 1.2, -0.5])


class Pairs(Library):
    """A library whose functions take and give lists, and whose derivative of the sum of squares is off by `factor`."""

    name = "pairs"
    factor = 1.0

    def native(self, x):
        return x.tolist() if isinstance(x, np.ndarray) else x

    def plain(self, x):
        return np.array(x)[()] if isinstance(x, list) else x

    def pullback(self, func, xs):
        assert isinstance(func(*map(self.native, xs)), (float, list))
        return lambda g: [g * 2.0 * self.factor * x for x in xs]


@pytest.fixture
def pairs(monkeypatch):
    monkeypatch.setitem(LIBRARIES, "pairs", Pairs)
    monkeypatch.setattr("tape.gradcheck.derivatives.libraries.find_spec", lambda name: True)
    return Pairs


def squares(x):
    assert type(x) is list
    return sum(v * v for v in x)


def test_a_library_is_three_functions(pairs, monkeypatch):
    report = check(squares, X, library="pairs")
    assert report.ok
    assert report.comparisons[0].mode == "pairs"
    monkeypatch.setattr(pairs, "factor", 1.001)
    assert not check(squares, X, library="pairs").ok
    assert not check(squares, X, library="pairs", fast=True).ok


def test_gradients_of_the_wrong_shape_are_refused(pairs, monkeypatch):
    monkeypatch.setattr(pairs, "pullback", lambda self, func, xs: lambda g: [np.ones(2)])
    with pytest.raises(
        GradcheckError, match=r"of pairs for input 0 has shape \(2,\); it must have the input's, \(3,\)"
    ):
        check(squares, X, library="pairs")
    with pytest.raises(Unfit, match="a gradient of pairs is checked for real inputs and outputs"):
        check(squares, X + 1j, library="pairs")


def test_what_is_not_installed_is_said():
    with pytest.raises(ValueError, match="checked of torch, jax, autograd, or of tape itself; got 'theano'"):
        check(np.sin, X, library="theano")
    with pytest.raises(ValueError, match="exclude each other"):
        check(np.sin, X, library="torch", gradient=np.cos)


def in_torch(x, y):
    import torch

    return {"a": torch.sin(x) * y, "b": x.detach().sum()}


def in_jax(x, y):
    import jax.numpy as jnp

    return {"a": jnp.sin(x) * y, "b": jnp.sum(x) * 0.0}


def in_autograd(x, y):
    import autograd.numpy as anp

    return {"a": anp.sin(x) * y, "b": anp.sum(x) * 0.0}


@pytest.mark.parametrize("function", [in_torch, in_jax, in_autograd])
def test_libraries_that_are_installed(function):
    library = function.__name__.removeprefix("in_")
    if find_spec(library) is None:
        with pytest.raises(ValueError, match=f"{library} is not installed"):
            check(function, (X, 2.0), library=library)
        return
    report = check(function, (X, 2.0), names=["x", "y"], library=library)
    assert {c.output for c in report.comparisons if c.ok} >= {"a"}
    lost = [c for c in report.comparisons if not c.ok]
    assert {(c.output, c.input) for c in lost} == ({("b", "x")} if library == "torch" else set())
    assert library == "torch" or check(function, (X.astype(np.float32), 2.0), library=library).ok


def test_value_and_gradient():
    right = check(lambda x, y: (np.sum(x * x) * y, 2 * x * y, np.sum(x * x)), (X, 2.0), gradient=True)
    assert right.ok
    assert not check(lambda x: (np.sum(x * x), 2.001 * x), X, gradient=True).ok
    with pytest.raises(Unfit, match="must return its value and its gradient, as a tuple; got float64"):
        check(lambda x: np.sum(x * x), X, gradient=True)


def test_the_command_checks_others(folder, pairs):
    (folder / "other.py").write_text(
        "import numpy as np\n"
        "def both(x):\n    return np.sum(x**2), 2.001 * x\n"
        "def squares(x):\n    return sum(v * v for v in x)\n"
    )
    status, out, err = run("other.py:both", "-i", "x=[1.0, 2.0]", "--value-and-gradient")
    assert (status, err) == (1, "")
    assert "returned" in out
    for others in (["--forward"], ["--health"], ["--order", "2"], ["--library", "torch"]):
        status, _, err = run("other.py:both", "-i", "x=[1.0, 2.0]", "--value-and-gradient", *others)
        assert status == 2
        assert "exclude each other" in err
