"""The command ``gradcheck`` as a user meets it: what it prints, and its exit status."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tape
from tape.gradcheck.command import main
from tape.gradcheck.inputs import BadInput, Reader

ROOT = Path(tape.__file__).parents[1]
MODELS = Path(__file__).parents[1] / "notebooks" / "models"
LOGISTIC = [
    f"{MODELS / 'logistic.py'}:loss", "--input", "w=(30,)", "--input", "b=0.5",
    "--input", "X=breast_cancer.npz[X]", "--input", "y=breast_cancer.npz[y]",
]  # fmt: skip
PREDATOR_PREY = [
    f"{MODELS / 'predator_prey.py'}:loss", "--input", "rates=[0.55, 0.028, 0.84, 0.026]",
    "--input", "start=[34.0, 5.9]", "--input", "observed=hudson_bay.csv[hare,lynx]",
]  # fmt: skip

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
        y = tape.tanh(x).sum(dim=0)
        return y, y.pow(2)

    def hooked(x):
        y = np.exp(x)
        y.register_hook(lambda g: 1.0001 * g)
        return np.sum(y)

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
        return np.interp(x, [0.0, 1.0], [0.0, 1.0])

    def interrupted(x):
        raise KeyboardInterrupt

    def stopped(x):
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


def check(function, *arguments):
    return run(f"model.py:{function}", *arguments)


# Right and wrong gradients.


def test_the_command_of_the_specification(folder):
    status, out, err = run(
        "model.py:loss", "--input", "w=(3,)", "--input", "X=data.npz[X]", "--input", "b=0.5", "--wrt", "w,b"
    )
    assert (status, err) == (0, "")
    assert "right: 4 derivatives" in out
    for word in ("input", "shape", "worst", "tape", "difference", "error/tol", "(3,)"):
        assert word in out


def test_data_from_files_are_not_checked_unless_named(folder):
    inputs = "--input", "w=(3,)", "--input", "X=data.npz[X]"
    assert "right: 3 derivatives" in check("loss", *inputs)[1]
    assert "right: 15 derivatives" in check("loss", *inputs, "--wrt", "X")[1]


def test_defaults_are_used_and_can_be_checked(folder):
    status, out, _ = check("loss", "--input", "w=[1, 2, 3.0]", "--input", "X=X.npy", "--wrt", "b,w")
    assert status == 0
    assert "right: 4 derivatives" in out
    status, out, _ = check("loss", "--input", "w=[1, 2, 3.0]", "--input", "X=X.npy", "--input", "power=3")
    assert status == 0


def test_a_function_written_in_tape_with_several_outputs(folder):
    status, out, _ = check("in_tape", "--input", "x=(4, 2)", "--order", "2")
    assert status == 0
    assert "output 1" in out
    assert "second derivatives" in out
    assert "grad x" in out


def test_a_wrong_gradient_shows_the_lines_it_was_recorded_at(folder):
    status, out, err = check("hooked", "--input", "x=0:1:11")
    assert (status, err) == (1, "")
    assert "wrong: 11 derivatives" in out
    source = (folder / "model.py").read_text().splitlines()
    line = next(i for i, text in enumerate(source, 1) if "y = np.exp(x)" in text)
    assert f"{folder / 'model.py'}:{line} in hooked" in out
    assert "y = np.exp(x)" in out


def test_a_wrong_rule_is_named_with_the_line(folder, monkeypatch):
    from ops import REGISTRY
    from ops.core import Rule
    from tape.jit.kernels import KERNELS

    with monkeypatch.context() as patch:
        patch.setattr(REGISTRY["exp"], "rules", (Rule(lambda z: -z, True),))
        KERNELS.forget(REGISTRY["exp"])
        status, out, _ = check("hooked", "--input", "x=[1.0, 2.0]")
    KERNELS.forget(REGISTRY["exp"])
    assert status == 1
    assert "the rule of exp with respect to x gives" in out
    assert "y = np.exp(x)" in out


@pytest.mark.parametrize(("name", "status"), [("gradient", 0), ("wrong_gradient", 1)])
def test_a_gradient_by_hand(folder, name, status):
    arguments = "--input", "w=(3,)", "--input", "X=data.npz[X]", "--input", "b=0.5", "--gradient", name
    found, out, err = check("loss", *arguments)
    assert (found, err) == (status, "")
    assert name in out
    if status:
        assert "1 of 1 d output / d b" in out
        assert "d output / d w" not in out


def test_a_gradient_by_hand_that_does_not_fit(folder):
    arguments = "--input", "w=(3,)", "--input", "X=data.npz[X]", "--input", "b=0.5", "--gradient"
    status, _, err = check("loss", *arguments, "short_gradient")
    assert status == 2
    assert "short_gradient gave 1 gradient(s); 2 are checked, in this order: w, b" in err
    status, _, err = check("loss", *arguments, "flat_gradient")
    assert status == 2
    assert "flat_gradient gave float64 of shape (1,) for b; it must be floating point of shape ()" in err
    status, _, err = check("loss", *arguments, "partial_gradient")
    assert status == 2
    assert "partial_gradient gave a dict with 'w'; gradients for b are missing" in err
    status, _, err = check("loss", *arguments, "lacking_gradient")
    assert status == 2
    assert "lacking_gradient must take the arguments of the function" in err
    status, _, err = check("loss", *arguments, "nothing")
    assert status == 2
    assert "no function 'nothing'" in err
    status, _, err = check("loss", *arguments, "gradient", "--order", "2")
    assert status == 2
    assert "exclude each other" in err


def test_an_interrupt_is_not_a_wrong_gradient(folder):
    status, out, err = check("interrupted", "--input", "x=1.0")
    assert (status, out) == (130, "")
    assert "interrupted" in err
    status, out, err = check("interrupted", "--input", "x=1.0", "--json")
    assert (status, err) == (130, "")
    found = json.loads(out)
    assert (found["status"], found["ok"]) == (130, False)
    assert "nothing is known" in found["error"]


def test_control_c_in_a_real_process(folder):
    done = process("-m", "tape.gradcheck", "model.py:stopped", "-i", "x=1.0", cwd=folder)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_tolerances_and_dtype(folder):
    assert check("hooked", "--input", "x=[1.0]", "--rtol", "1e-3")[0] == 0
    assert check("hooked", "--input", "x=[1.0]", "--atol", "1e-3")[0] == 0
    assert check("hooked", "--input", "x=[1.0]", "--dtype", "float32")[0] == 1
    assert check("root", "--input", "x=[1.0, 2.0]", "--dtype", "float32", "--eps", "1e-3")[0] == 0


def test_the_seed_decides_the_random_inputs(folder):
    reader = [Reader(seed, None, ()).read("x=(3,)").value for seed in (0, 0, 1)]
    assert np.array_equal(reader[0], reader[1])
    assert not np.array_equal(reader[0], reader[2])
    assert not np.array_equal(reader[0], Reader(0, None, ()).read("y=(3,)").value)
    found = [check("chatty", "--input", "x=(2,)", "--seed", seed)[1] for seed in "001"]
    tables = [out.rpartition("right:")[0] for out in found]
    assert tables[0] == tables[1] != tables[2]


# What cannot be checked, each with a message of its own.

UNUSABLE = {
    "file missing": (["nowhere.py:loss"], "there is no file nowhere.py"),
    "module missing": (["no_such_module:loss"], "there is no module 'no_such_module'"),
    "module instead of file": (["model:nothing"], "no function 'nothing'"),
    "no function named": (["model.py"], "name a function as model.py:loss"),
    "no such function": (["model.py:nothing"], "it defines loss, gradient,"),
    "not a function": (["model.py:OTHER"], "has a int, not a function, called 'OTHER'"),
    "argument missing": (["model.py:loss", "--input", "w=(3,)"], "loss needs a value for 'X': add --input 'X=…'"),
    "unknown argument": (["model.py:root", "--input", "z=1.0"], "root has no argument 'z'; it has x"),
    "given twice": (["model.py:root", "--input", "x=1.0", "--input", "x=2.0"], "'x' is given twice"),
    "unknown wrt": (["model.py:root", "--input", "x=1.0", "--wrt", "y"], "--wrt y: root has no argument 'y'"),
    "wrt a string": (["model.py:root", "--input", "x='a'", "--wrt", "x"], "only numbers have a gradient; x is str"),
    "nothing to check": (["model.py:root", "--input", "x=1"], "write 1.0 instead of 1"),
    "not a value": (["model.py:root", "--input", "x=1.0.0"], "x=1.0.0: this is not a value"),
    "no equals sign": (["model.py:root", "--input", "x"], "an input is written name=value"),
    "data file missing": (["model.py:root", "--input", "x=none.npy"], "there is no file none.npy"),
    "array missing": (["model.py:root", "--input", "x=data.npz[Z]"], "there is no array 'Z'; it holds X, n"),
    "array not said": (["model.py:root", "--input", "x=data.npz"], "say which array; it holds X, n"),
    "non-float output": (["model.py:integer", "--input", "x=1.0"], "integer returned a value of type int"),
    "nan": (["model.py:logarithm", "--input", "x=[1.0, -1.0]"], "logarithm gives nan at these inputs"),
    "exception inside": (["model.py:deep", "--input", "x=1.0"], "KeyError: 'no such thing'"),
    "exit inside": (["model.py:quits", "--input", "x=1.0"], "quits cannot be run"),
    "no rule": (["model.py:unsupported", "--input", "x=0.5"], "TypeError"),
    "bad option": (["model.py:root", "--input", "x=1.0", "--order", "7"], "--order"),
    "unknown option": (["model.py:root", "--nonsense"], "--nonsense"),
    "bad tolerance": (["model.py:root", "--input", "x=1.0", "--rtol", "-1"], "--rtol"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_cannot_be_checked_exits_with_2_and_says_why(folder, name):
    arguments, message = UNUSABLE[name]
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert message in err


def test_messages_are_distinct():
    assert len({message for _, message in UNUSABLE.values()}) >= len(UNUSABLE) - 1


def test_a_traceback_shows_the_user_s_frames_alone(folder):
    _, _, err = check("deep", "--input", "x=1.0")
    assert err.count("File ") == 2
    assert "in deep" in err
    assert "in helper" in err
    assert str(ROOT / "tape") not in err
    assert str(ROOT / "ops") not in err


def test_a_module_that_cannot_be_imported_shows_its_traceback(folder):
    (folder / "broken.py").write_text("import numpy\n1 / 0\n")
    status, _, err = run("broken.py:f")
    assert status == 2
    assert "broken.py cannot be imported" in err
    assert "ZeroDivisionError" in err
    (folder / "syntax.py").write_text("def f(:\n")
    status, _, err = run("syntax.py:f")
    assert status == 2
    assert "SyntaxError" in err


def test_a_point_without_differences_is_unsettled(folder):
    status, out, _ = check("root", "--input", "x=[0.0, 1.0]")
    assert status == 2
    assert "unsettled" in out
    assert "not finite on both sides" in out


# Output for programs.


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
            "mode", "along", "input_part", "output_part", "input_number", "output_number",
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


# Inputs.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x=0.5", 0.5), ("x=3", 3), ("x=-1e-3", -1e-3), ("x=true", True), ("x=None", None), ("x='a=b'", "a=b"),
        ("x=[1, 2.5]", np.array([1, 2.5])), ("x=[[1], [2]]", np.array([[1], [2]])), ("x=0:1:3", np.array([0, 0.5, 1])),
        ("x=-1:1e1:2", np.array([-1.0, 10.0])), ("x = 2.0", 2.0),
    ],
)  # fmt: skip
def test_values(text, value):
    found = Reader(0, None, ()).read(text).value
    assert type(found) is type(value)
    assert np.array_equal(found, value)


def test_shapes():
    assert np.shape(Reader(0, None, ()).read("x=(2, 3)").value) == (2, 3)
    assert np.shape(Reader(0, None, ()).read("x=()").value) == ()
    assert Reader(0, np.dtype("float32"), ()).read("x=(2,)").value.dtype == np.float32


@pytest.mark.parametrize("text", ["x=(2.5,)", "x=(-1,)", "x=[[1, 2], [3]]", "x=['a']", "x={}", "x=f(3)", "1x=3", "=3"])
def test_what_is_no_value(text):
    with pytest.raises(BadInput):
        Reader(0, None, ()).read(text)


def test_tables(tmp_path):
    (tmp_path / "t.csv").write_text("# pelts\nyear, hare\n1900,30.0\n1901,47.2\n")
    (tmp_path / "bare.csv").write_text("1,2\n3,4\n")
    (tmp_path / "words.csv").write_text("a\nb\n")
    reader = Reader(0, None, (tmp_path,))
    assert np.array_equal(reader.read("x=t.csv").value, [[1900, 30.0], [1901, 47.2]])
    assert np.array_equal(reader.read("x=t.csv[hare]").value, [30.0, 47.2])
    assert np.array_equal(reader.read("x=t.csv[hare,year]").value, [[30.0, 1900], [47.2, 1901]])
    assert np.array_equal(reader.read("x=bare.csv").value, [[1, 2], [3, 4]])
    with pytest.raises(BadInput, match="no column 'fox'; its heading is year, hare"):
        reader.read("x=t.csv[fox]")
    with pytest.raises(BadInput, match="not a table of numbers"):
        reader.read("x=words.csv")


# The models that ship, and real processes.


@pytest.mark.parametrize("options", [[], ["--order", "2"], ["--gradient", "gradient"], ["--dtype", "float32"]])
def test_logistic_regression(options):
    status, out, _ = run(*LOGISTIC, *options)
    assert status == 0, out


@pytest.mark.parametrize("options", [[], ["--dtype", "float32"]])
def test_predator_and_prey(options):
    status, out, _ = run(*PREDATOR_PREY, *options)
    assert status == 0, out


def process(*arguments, cwd):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_real_process(folder):
    done = process("-m", "tape.gradcheck", "model.py:loss", "-i", "w=(3,)", "-i", "X=data.npz[X]", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "right: 3 derivatives" in done.stdout
    done = process("-m", "tape.gradcheck", "model:hooked", "-i", "x=[1.0]", cwd=folder)
    assert done.returncode == 1
    done = process("-m", "tape.gradcheck", "nowhere.py:f", cwd=folder)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_importing_tape_does_not_import_the_command_line():
    code = "import sys, tape; print(sorted({'click', 'rich'} & {m.partition('.')[0] for m in sys.modules}))"
    assert process("-c", code, cwd=ROOT).stdout.strip() == "[]"


def test_progress_appears_after_a_second(monkeypatch):
    import io

    from rich.console import Console

    from tape.gradcheck import show

    clock = iter([0.0, 0.5, 1.5])
    monkeypatch.setattr(show.time, "monotonic", lambda: next(clock))
    screen = io.StringIO()
    monkeypatch.setattr(show, "Console", lambda **_: Console(file=screen, force_terminal=True, width=60))
    with show.Progress() as progress:
        progress(1, 10)
        assert progress.bar is None
        monkeypatch.undo()
        monkeypatch.setattr(show, "PATIENCE", 0.0)
        monkeypatch.setattr(show, "Console", lambda **_: Console(file=screen, force_terminal=True, width=60))
        progress(4, 10)
        assert progress.bar is not None
    assert "checking" in screen.getvalue()
    assert "40%" in screen.getvalue()
