"""What Sphinx and the theme would do again for each page, done once: half of the time that the site takes."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.domains.python import PythonDomain


class Objects(PythonDomain):
    """Python's objects, each looked for once: a type in a signature is compared with the names of all of them."""

    def find_obj(self, env: Any, modname: str, classname: str, name: str, type: str | None, searchmode: int = 0) -> Any:
        found = self.__dict__.setdefault("found", {})
        key = len(self.objects), modname, classname, name, type, searchmode  # objects are only ever added
        if key not in found:
            found[key] = super().find_obj(env, modname, classname, name, type, searchmode)
        return list(found[key])


def titles(toc: Any) -> Any:
    """What belongs to a page in a tree of titles: without its sections and objects, but with the pages below it."""
    toc = toc.deepcopy()
    for item in toc.children:
        if len(item) > 1:
            below = list(item.findall(addnodes.toctree))
            item[1:] = [nodes.bullet_list("", *below)] if below else []
    return toc


def short_tree(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """The theme asks each page for the titles of all pages: Sphinx would copy all that lies below them, and drop it."""
    whole, env = context.get("toctree"), app.env
    if whole is None:
        return
    if not hasattr(app, "short_tocs"):
        app.short_tocs = {name: titles(toc) for name, toc in env.tocs.items()}

    def toctree(**options: Any) -> Any:
        if not options.get("titles_only"):
            return whole(**options)
        kept, env.tocs = env.tocs, app.short_tocs
        try:
            return whole(**options)
        finally:
            env.tocs = kept

    context["toctree"] = toctree


def setup(app: Any) -> None:
    app.add_domain(Objects, override=True)
    app.connect("html-page-context", short_tree, priority=100)  # before the theme's own
