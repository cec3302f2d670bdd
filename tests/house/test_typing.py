"""What type checkers are told about things that are installed at run time, and what they make of it."""

import ast
import functools
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tape
from ops import Operators
from ops.core import operators
from tape.stubs import stubs

HERE, ROOT = Path(__file__).parents[1], Path(tape.__file__).parents[1]
USES = HERE / "typed" / "uses.py"
STUBS = sorted(ROOT.glob("tape/**/*.pyi"))
"""Where they are; what belongs in them is worked out by the tests alone, in a second."""
derived = functools.cache(stubs)


def test_the_operators_declared_for_type_checkers_are_those_that_are_installed():
    (cls,) = ast.parse(inspect.getsource(Operators)).body
    (declared,) = [node for node in cls.body if isinstance(node, ast.If)]
    names = [target.id for node in declared.body if isinstance(node, ast.Assign) for target in node.targets]
    assert sorted(names) == sorted(operators.methods())


@pytest.mark.parametrize("path", STUBS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_stubs_are_what_is_derived_from_the_signatures(path):
    assert path.read_text(encoding="utf-8") == derived()[path], "write them again: python -m tape.stubs"


def test_no_stub_is_missing():
    assert sorted(derived()) == STUBS, "write them again: python -m tape.stubs"


def test_the_stubs_have_every_method_and_public_name():
    text = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in STUBS}
    declared = set(re.findall(r"^(?:def|class) (\w+)|^(\w+):| as (\w+)$", text["tape/__init__.pyi"], re.MULTILINE))
    assert {next(filter(None, names)) for names in declared} >= set(dir(tape))
    methods = set(re.findall(r"^    def (\w+)\(", text["tape/methods.pyi"], re.MULTILINE))
    own = {"dtype", "is_leaf", "ndim", "shape"}
    public = {name for name in dir(tape.Tensor) if name[0] != "_" and not name.startswith("numpy_")}
    assert public - own <= methods


def expected():
    """The lines of the file that are wrong."""
    lines = USES.read_text(encoding="utf-8").splitlines()
    return {k for k, line in enumerate(lines, 1) if line.endswith("# error")}


def test_mypy_on_a_users_file(tmp_path, pytestconfig):
    """``mypy --strict``: the marked lines and no others."""
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    shutil.copy(USES, tmp_path)
    cache = pytestconfig.cache.mkdir("mypy") if getattr(pytestconfig, "cache", None) else tmp_path
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary",
               "--hide-error-context", "--cache-dir", str(cache), "uses.py"]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment(), check=False)
    found = re.findall(r"^(.+?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    assert {file for file, *_ in found} == {"uses.py"}, done.stdout + done.stderr
    assert {int(line) for _, line, _ in found} == expected(), done.stdout


def test_pyright_on_a_users_file(tmp_path):
    """Pyright: the marked lines and no others."""
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    shutil.copy(USES, tmp_path)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"  # the one that NumPy's stubs were installed for
    settings = {"extraPaths": [str(ROOT)], "reportUnusedExpression": False, "pythonVersion": version}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "uses.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment(), check=False)
    try:
        found = json.loads(done.stdout)["generalDiagnostics"]
    except ValueError:
        pytest.skip(f"pyright did not run, as it does not without Node: {(done.stdout + done.stderr)[:300]}")
    lines = {d["range"]["start"]["line"] + 1 for d in found if d["severity"] == "error"}
    assert lines == expected(), done.stdout


def environment():
    """The library is found where it was imported from; mypy finds what is installed by itself."""
    installed = "site-packages" in ROOT.parts
    return {**os.environ, "MYPYPATH": "" if installed else str(ROOT), "PYTHONPATH": "" if installed else str(ROOT)}
