"""Gathers the sources of the site in one folder, has Sphinx make pages of them, and follows every link.

Nothing that the library knows is written by hand: the reference comes from docstrings, the lists of functions from the
registry of ops, the tables of other libraries' names from `names`, each name of which a test looks up.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from . import differentiated, links, names, reference

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GIVEN = {
    "tape/README.md": "inside.md",
    "CHANGELOG.md": "changes.md",
    ".github/CONTRIBUTING.md": "contributing.md",
    ".github/SECURITY.md": "security.md",
}
"""Pages of the repository that are pages of the site too, by the name that they have there."""

GENERATED: dict[str, Callable[[], str]] = {
    "numpy functions": differentiated.of_numpy,
    "numpy constructors": differentiated.constructors,
    "scipy functions": differentiated.of_scipy,
    "ops": differentiated.all_ops,
    "numpy refused": differentiated.unanswered,
    **{f"names {library}": table for library, table in names.TABLES.items()},
}
"""What stands in a page in the place of a line ``<!-- generated: … -->``."""


def filled(text: str) -> str:
    """A page with its generated parts."""
    return re.sub(r"^<!-- generated: (.+) -->$", lambda found: GENERATED[found[1]](), text, flags=re.MULTILINE)


def given(name: str) -> str:
    """A page of the repository with its links to other files of the repository as plain names."""

    def link(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        if "://" in target or target.startswith("#"):
            return found[0]
        path = ((ROOT / name).parent / target).resolve().relative_to(ROOT).as_posix()
        if path in GIVEN:
            return f"[{text}]({GIVEN[path]})"
        return f"[{text}](lessons/{Path(path).name})" if path.endswith(".ipynb") else text

    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", link, (ROOT / name).read_text(encoding="utf-8"))


def pages() -> Iterator[tuple[str, str]]:
    """Every page that is text, by its path: written, taken over, generated."""
    for path in sorted((HERE / "pages").rglob("*.md")):
        yield path.relative_to(HERE / "pages").as_posix(), filled(path.read_text(encoding="utf-8"))
    for name, page in GIVEN.items():
        yield page, given(name)
    for name, text in reference.pages():
        yield f"reference/{name}.rst", text


def assemble(folder: Path) -> None:
    """All sources of the site, in a folder that is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "lessons").mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shutil.copy(path, folder / "lessons")
    shutil.copytree(ROOT / "notebooks" / "pictures", folder / "pictures")


def build(out: Path) -> int:
    """The pages, in the folder `out`; the exit status: 0, or 1 where Sphinx warned or a link leads nowhere."""
    from sphinx.cmd.build import build_main

    out = out.resolve()
    sources = out.with_name(f"{out.name}-sources")
    assemble(sources)
    shutil.rmtree(out, ignore_errors=True)
    options = ["--quiet", "--fail-on-warning", "--conf-dir", str(HERE), "--doctree-dir", str(sources / ".doctrees")]
    if build_main(["--builder", "html", *options, str(sources), str(out)]):
        return 1
    broken = list(links.broken(out))
    for line in broken:
        print(line, file=sys.stderr)
    print(f"{sum(1 for _ in out.rglob('*.html'))} pages in {out}; {len(broken)} links lead nowhere")
    return 1 if broken else 0
