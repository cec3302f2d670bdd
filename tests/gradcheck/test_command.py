"""The command ``gradcheck`` as a user meets it: what it prints of right and wrong gradients, and its exit status."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import check, run

import tape
from tape.gradcheck.terminal.inputs import Reader

ROOT = Path(tape.__file__).parents[1]

MODELS = Path(__file__).parents[2] / "notebooks" / "models"
LOGISTIC = [
    f"{MODELS / 'logistic.py'}:loss", "--input", "w=(30,)", "--input", "b=0.5",
    "--input", "X=breast_cancer.npz[X]", "--input", "y=breast_cancer.npz[y]",
]  # fmt: skip
PREDATOR_PREY = [
    f"{MODELS / 'predator_prey.py'}:loss", "--input", "rates=[0.55, 0.028, 0.84, 0.026]",
    "--input", "start=[34.0, 5.9]", "--input", "observed=hudson_bay.csv[hare,lynx]",
]  # fmt: skip


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
    from ops.core.differentiate import Rule
    from tape.jit.emission.kernels import KERNELS

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


@pytest.mark.parametrize("which", "kgsbe")
@pytest.mark.parametrize("function", ["raises", "raises_in_its_gradient"])
def test_whatever_the_function_raises_is_an_error_of_it(folder, function, which):
    """Also what ends a process: with status 0 or 1 it would be taken for a verdict."""
    before = signal.getsignal(signal.SIGINT)
    status, out, err = check(function, "--input", "x=1.0", "--input", f"which='{which}'")
    assert (status, out) == (2, "")
    assert "cannot be" in err
    assert signal.getsignal(signal.SIGINT) is before


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
    done = process("-m", "tape.gradcheck", "model:hooked", "-i", "x=[1.0]", "--tensors", cwd=folder)
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

    from tape.gradcheck.terminal import progress_table

    clock = iter([0.0, 0.5, 1.5])
    monkeypatch.setattr(progress_table.time, "monotonic", lambda: next(clock))
    screen = io.StringIO()
    monkeypatch.setattr(progress_table, "Console", lambda **_: Console(file=screen, force_terminal=True, width=60))
    with progress_table.Progress() as progress:
        progress(1, 10)
        assert progress.bar is None
        monkeypatch.undo()
        monkeypatch.setattr(progress_table, "PATIENCE", 0.0)
        monkeypatch.setattr(progress_table, "Console", lambda **_: Console(file=screen, force_terminal=True, width=60))
        progress(4, 10)
        assert progress.bar is not None
    assert "checking" in screen.getvalue()
    assert "40%" in screen.getvalue()
