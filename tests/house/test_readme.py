"""The README says what is so: its programs run, its commands find their files, its copies are faithful."""

import contextlib
import inspect
import io
import linecache
import re
import shlex
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner
from dask_cluster import MISSING

from ops.pointwise import elementary
from tape.gradcheck.terminal.command import main
from tape.jit.sweeps import sweep

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


SWEEP = inspect.getsource(sweep.reverse_sweep)
PROGRAMS = [block for block in blocks("python") if block != SWEEP and not block.startswith("@")]
COMMANDS = [line for block in blocks("bash") for line in block.splitlines()]
CHECKS = [words for words in map(shlex.split, COMMANDS) if any("notebooks/models" in word for word in words)]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_prints_what_its_comments_say(program):
    if "tape.dask" in program:
        pytest.importorskip("dask.array", reason=MISSING)
    lines = program.splitlines(keepends=True)
    linecache.cache["README.md"] = len(program), None, lines, "README.md"
    printed = io.StringIO()
    code = compile(program, "README.md", "exec")
    # A thread of its own has a list of its own, without the records of other tests.
    with contextlib.redirect_stdout(printed), ThreadPoolExecutor(1) as pool:
        pool.submit(exec, code, {"__name__": "__main__"}).result()
    promised = [line.partition("#")[2].partition(", where")[0].strip() for line in lines if "print(" in line]
    assert promised
    for promise in promised:
        assert promise in printed.getvalue()


def test_the_sweep_printed_is_the_sweep_that_runs():
    assert SWEEP in blocks("python")


def test_the_declaration_printed_is_in_the_ops():
    (declaration,) = blocks("text")
    words = "".join(inspect.getsource(elementary).split())
    assert "".join(declaration.split()) in words.replace(")#fmt:skip", ")")


def test_the_picture_is_of_the_first_program(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import drawing

    with ThreadPoolExecutor(1) as pool:
        picture = pool.submit(drawing.readme_picture).result()
    assert picture == (ROOT / "notebooks/pictures/list.svg").read_text(encoding="utf-8")
    for line in inspect.getsource(drawing.readme_picture).splitlines()[2:5]:
        assert line.strip() in PROGRAMS[0]


@pytest.mark.parametrize("words", CHECKS, ids=lambda words: words[0])
def test_a_model_is_right_as_the_command_says(words, monkeypatch):
    monkeypatch.chdir(ROOT)
    arguments = words[next(i for i, word in enumerate(words) if word.endswith("gradcheck")) + 1 :]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "right:" in result.output


def test_commands_name_scripts_and_extras_that_exist():
    extras = {name for line in COMMANDS for name in re.findall(r"\.\[(\w+)\]", line)}
    assert extras <= set(PROJECT["optional-dependencies"])
    assert "test" in extras
    module, _, function = PROJECT["scripts"]["gradcheck"].partition(":")
    assert getattr(import_module(module), function) is main


def test_commands_that_set_up_are_single_lines():
    assert all(len(block.splitlines()) == 1 for block in blocks("bash"))
    assert sum(line.startswith("python3 -m venv .venv && .venv/bin/pip install -q ") for line in COMMANDS) == 4


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_every_dependency_has_a_reason():
    reasons = README.partition("## What it stands on")[2].partition("\n## ")[0].lower()
    for requirement in PROJECT["dependencies"]:
        assert f"[{re.match(r'[a-z]+', requirement)[0]}]" in reasons


def test_every_setting_is_explained_and_every_explanation_is_of_a_setting():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tape").rglob("*.py"))
    assert set(re.findall(r"\"(TAPE_\w+)\"", sources)) == set(re.findall(r"`(TAPE_\w+)", README))


def test_every_room_named_exists():
    rooms = README.partition("## The house")[2]
    assert all((ROOT / room).is_dir() for room in re.findall(r"^\| `([\w/]+)/`", rooms, flags=re.MULTILINE))
