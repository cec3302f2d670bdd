"""What the command ``gradcheck`` says of a function, or a usage, that it can do nothing with."""

from pathlib import Path

import pytest
from command_line import check, run

import tape

ROOT = Path(tape.__file__).parents[1]

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
    "no rule": (["model.py:unsupported", "--input", "x=0.5"], "np.sin (vectorized)"),
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
