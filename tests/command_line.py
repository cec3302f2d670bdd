"""The command ``gradcheck`` for its tests: a model to check, and a way to run it."""

import textwrap

import numpy as np
import pytest
from click.testing import CliRunner

from tape.gradcheck.terminal.command import main

MODEL = """
    import os
    import signal

    import numpy as np
    import tape

    OTHER = 3

    def loss(w, X, b=0.5, *, power=2):
        return np.mean((X @ w + b) ** power)

    def gradient(w, X, b=0.5, *, power=2):
        residual = X @ w + b
        return 2 * X.T @ residual / len(residual), 2 * np.mean(residual)

    def wrong_gradient(w, X, b=0.5, *, power=2):
        residual = X @ w + b
        return {"w": 2 * X.T @ residual / len(residual), "b": 2.0002 * np.mean(residual)}

    def short_gradient(w, X, b=0.5, *, power=2):
        return w

    def flat_gradient(w, X, b=0.5, *, power=2):
        return gradient(w, X, b)[0], np.ones(1)

    def partial_gradient(w, X, b=0.5, *, power=2):
        return {"w": w}

    def lacking_gradient(w):
        return w

    def in_tape(x):
        y = tape.sum(tape.tanh(x), dim=0)
        return y, tape.pow(y, 2)

    def hooked(x):
        y = np.exp(x)
        y.register_hook(lambda g: 1.0001 * g)
        return np.sum(y)

    class Double(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g.sum() if g.ndim == 0 else 2 * g

        @staticmethod
        def jvp(ctx, x_dot):
            return 2.0002 * x_dot

    def custom(x):
        return np.exp(Double.apply(tape.as_tensor(x)))

    def wave(z, k=0.5):
        return np.abs(tape.exp(k * z)), z * np.conj(z)

    def chatty(x):
        print("how do you do")
        return x * x

    def integer(x):
        return 3

    def logarithm(x):
        return np.sum(np.log(x))

    def root(x):
        return np.sum(np.sqrt(x))

    def deep(x):
        return helper(x)

    def helper(x):
        raise KeyError("no such thing")

    def unsupported(x):
        return np.frompyfunc(np.sin, 1, 1)(x)

    def interrupted(x):
        signal.raise_signal(signal.SIGINT)
        return x * x

    def raises(x, which):
        raise {"k": KeyboardInterrupt, "g": GeneratorExit, "s": SystemExit, "b": Own, "e": Ellipsis}[which]

    def raises_in_its_gradient(x, which):
        x = tape.tensor(x) if not isinstance(x, tape.Tensor) else x
        if x.requires_grad:
            x.register_hook(lambda g: raises(g, which))
        return (x * x).sum()

    class Own(BaseException):
        pass

    def stopped(x):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have told its jobs to ignore it
        os.kill(os.getpid(), signal.SIGINT)
        return x * x

    def quits(x):
        raise SystemExit(0)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "model.py").write_text(textwrap.dedent(MODEL))
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", X=rng.standard_normal((5, 3)), n=np.arange(3))
    np.save(tmp_path / "X.npy", rng.standard_normal((5, 3)).astype(np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    """Exit status, standard output and standard error; a raw exception fails the test."""
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "tape/gradcheck" not in result.stderr
    return result.exit_code, result.stdout, result.stderr


OF_TENSORS = {"hooked"}
"""Models with methods that arrays do not have."""


def check(function, *arguments):
    return run(f"model.py:{function}", *arguments, *(["--tensors"] if function in OF_TENSORS else []))
