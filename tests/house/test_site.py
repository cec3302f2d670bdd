"""What the documentation names exists: files, names of other libraries and ours; and its programs run."""

import contextlib
import importlib
import io
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import ops
import tape
from ops.core.op import answers

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "notebooks/site/pages").rglob("*.md"))
PROGRAMS = [
    pytest.param(program, id=f"{path.stem}-{i}")
    for path in PAGES
    for i, program in enumerate(
        re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    )
]


@pytest.fixture
def site(monkeypatch):
    """A module of the site's, by name."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: importlib.import_module(f"notebooks.site.{name}")


def found(path):
    """What a dotted name stands for: a module, or what is in one."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            value = getattr(value, name)
        return value
    return getattr(importlib.import_module("builtins"), path)


def test_what_the_reference_imports_comes_with_the_site():
    """Every public module is imported, so the extra `site` has what the extras have that some of these need."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {*extras["dask"], *extras["search"]} <= {*extras["site"]}


def test_found_finds_and_misses():
    assert found("numpy.linalg.norm") is np.linalg.norm
    assert found("dict") is dict
    with pytest.raises(AttributeError):
        found("tape.func.no_such")


@pytest.mark.parametrize("library", ["torch", "autograd", "jax", "casadi"])
def test_every_name_of_ours_exists(library, site):
    names = site("names")
    rows = names.LIBRARIES[library]
    assert len(rows) > 10
    for _, ours, _ in rows:
        for name in names.several(ours):
            assert found(name) is not None, name


@pytest.mark.parametrize("library", ["torch", "autograd", "jax", "casadi"])
@pytest.mark.filterwarnings("ignore")  # theirs, while they are imported
def test_every_name_of_theirs_exists(library, site):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed; the extra `bench` has it")
    for theirs, _, _ in site("names").LIBRARIES[library]:
        found(theirs)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_what_its_comments_say(program):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), ThreadPoolExecutor(1) as pool:
        pool.submit(exec, compile(program, "page.md", "exec"), {"__name__": "__main__"}).result()
    promised = [line.partition("#")[2].strip() for line in program.splitlines() if "print(" in line]
    assert promised
    for promise in promised:
        assert promise in printed.getvalue()


def test_every_file_named_exists():
    named = re.findall(
        r"`((?:tape|ops|tests|notebooks)/[\w./-]*)`", (ROOT / "tape/README.md").read_text(encoding="utf-8")
    )
    assert len(named) > 40
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_answer_is_in_the_list(site):
    text = site("differentiated").of_numpy()
    listed = {found(name) for name in re.findall(r"`(numpy[\w.]*)`", text)}
    # einsum and the like are dispatched by the functions themselves; dtypes' methods are no functions
    assert {f for f in answers() if getattr(np, f.__name__, None) is f} <= listed
    assert "| yes |" in text
    assert "| no |" in text


def test_no_function_is_in_both_lists(site):
    lists = site("differentiated")
    answered = set(re.findall(r"`(numpy[\w.]*)`", lists.of_numpy()))
    others = set(re.findall(r"`(numpy[\w.]*)`", lists.unanswered()))
    assert "numpy.exp" in answered
    assert others
    assert not answered & others


def test_every_function_of_scipy_listed_exists(site):
    names = re.findall(r"`(scipy[\w.]*)`", site("differentiated").of_scipy())
    assert len(names) > 100
    assert all(found(name) is not None for name in names)


def test_every_public_name_has_an_entry(site):
    reference = site("reference")
    text = "\n".join(page for _, page in reference.pages())
    entries = set(re.findall(r"^\.\. (?:autoclass|autofunction|py:\w+):: (\S+)$", text, re.MULTILINE))
    for name in tape.__all__:
        if f"tape.{name}" not in reference.modules():
            assert f"tape.{name}" in entries
    for room in ("func", "linalg", "fft", "special", "autograd.functional"):
        module = importlib.import_module(f"tape.{room}")
        assert {f"tape.{room}.{name}" for name in module.__all__} <= entries
    assert {"tape.compile", "tape.record", "tape.Program", "tape.vmap", "ops.elementwise"} <= entries
    assert "ops.exp" not in entries  # ops have a list
    assert "`exp`" in site("differentiated").all_ops()
    assert len(entries) > 900


def test_every_entry_exists(site):
    for _, page in site("reference").pages():
        for name in re.findall(r"^\.\. (?:autoclass|autofunction|automodule|py:\w+):: (\S+)$", page, re.MULTILINE):
            found(name)


def test_every_generated_part_is_asked_for(site):
    build = site("build")
    asked = {
        name for path in PAGES for name in re.findall(r"^<!-- generated: (.+) -->$", path.read_text(), re.MULTILINE)
    }
    assert asked == set(build.GENERATED)


def test_every_lesson_is_in_the_contents():
    index = (ROOT / "notebooks/site/pages/index.md").read_text(encoding="utf-8")
    assert re.findall(r"^lessons/(\S+)$", index, re.MULTILINE) == sorted(
        p.stem for p in (ROOT / "notebooks").glob("*.ipynb")
    )


def test_links_that_lead_nowhere_are_found(site, tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#there">2</a><a href="https://x.y">3</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here"><img src="c.svg"><a href="#">top</a></p>')
    assert list(site("links").broken(tmp_path)) == [
        "a.html: b.html#there has no such place",
        "b.html: c.svg is not there",
    ]


def test_every_table_escapes_bars(site):
    assert site("names").markdown(("a",), [("|x|",)]).splitlines()[-1] == r"| \|x\| |"


def test_the_registry_is_listed_whole(site):
    text = site("differentiated").all_ops()
    assert sum(f"| `{name}` |" in text for name in ops.REGISTRY) > 400


def test_the_citation_is_of_this_version():
    assert f"\nversion: {tape.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_what_contributors_are_told_to_run_exists():
    text = (ROOT / ".github/CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"\b((?:tests|notebooks|ops)/[\w./-]*\w)", text.replace("notebooks/09-title.ipynb", ""))
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).exists()] == []
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not (ROOT / ".github" / link).exists()] == []


def test_weights_are_moved_by_sliders(monkeypatch):
    pytest.importorskip(
        "ipywidgets", reason="the picture is moved with ipywidgets, which the extra `notebooks` installs"
    )
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    weights = importlib.import_module("weights")
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    picture = weights.Weights(x * x, x, [1.0, 0.0])
    moving = picture.moving()
    sliders, shown = moving.children
    assert "2.00" in shown.value
    sliders.children[1].value = 0.5
    assert picture.v == [1.0, 0.5]
    assert repr(picture).endswith("= [2.0, 2.0]")
    assert shown.value == picture.svg()
    assert {"text/plain", "image/svg+xml"} <= set(picture._repr_mimebundle_())


def test_signatures_of_the_reference_are_those_of_help(site):
    """Functions of ops share their code, whose own signature says Any."""
    written = site("reference").written
    assert written(tape.exp) == ("(input: Operand, *, out: Tensor | None = None)", "Tensor")
    assert written(tape.Tensor.exp, method=True) == ("(*, out: Tensor | None = None)", "Tensor")
