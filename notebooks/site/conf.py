"""How Sphinx makes the pages; see `build`."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

from notebooks.site import brevity
from notebooks.site.reference import written
from tape.release import __version__

project, author, copyright = "wengert", "the authors of wengert", "the authors of wengert; Apache 2.0"
version = release = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "myst_nb"]
root_doc = "index"
exclude_patterns = [".doctrees"]

html_theme, html_title = "furo", f"wengert {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. |\$ ", True

nb_execution_mode = "off"  # the tests run the lessons, and compare what is stored
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a page made of a table has no heading of its own level

napoleon_use_ivar = True
default_role = "code"
autodoc_use_type_comments = False  # there are none; to look for them every function would be parsed
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "alphabetical"
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"

CODE = re.compile(r"(``.+?``|`[^`]+`)")


def plain(text: str) -> str:
    """A line of a docstring in which bars, stars and final underscores mean themselves: |x|, a * b, add_."""
    item = re.match(r"\s*(\* )?", text)
    begin = item.end() if item else 0
    parts = CODE.split(text[begin:])
    parts[::2] = [re.sub(r"(?<!\*)\*(?!\*)|\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
    return text[:begin] + "".join(parts)


def read_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are prose with code in backticks and examples; nothing else in them is markup."""
    example = False
    for i, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example and not set(line.strip()) <= {"="}:
            lines[i] = plain(line)


def read_signature(app: Any, what: str, name: str, obj: Any, options: Any, shown: Any, gives: Any) -> Any:
    """Signatures as `help` has them: Sphinx would take those of the code that all functions of ops share."""
    return written(obj, what == "method") if hasattr(obj, "__signature__") else None


def formula(self: Any, node: Any) -> None:
    """A formula as MathML, which browsers draw themselves."""
    block = isinstance(node, nodes.math_block)
    mathml = convert(node.astext(), display="block" if block else "inline")
    self.body.append(f'<div class="math">{mathml}</div>' if block else mathml)
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", read_docstring, priority=100)
    app.connect("autodoc-process-signature", read_signature)
    app.add_html_math_renderer("mathml", inline_renderers=(formula, None), block_renderers=(formula, None))
    brevity.setup(app)
