"""Every link and picture of a built site, followed: the file must be there, and the place in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

UNREAD = re.compile(r"<!--.*?-->|<(script|style)\b(?P<kept>[^>]*)>.*?</\1>", re.DOTALL)
TAG = re.compile(r"<([a-zA-Z][\w-]*)\s([^>]*)>")
ATTRIBUTE = re.compile(r"""(?<![\w:-])(href|src|id|name)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")


class Page:
    """What a page refers to, and the places in it that others can refer to."""

    def __init__(self, text: str):
        self.targets: list[str] = []
        self.places: set[str] = set()
        for tag, attributes in TAG.findall(UNREAD.sub(r"<script\g<kept>>", text)):
            for name, quoted in ATTRIBUTE.findall(attributes):
                value = unescape(quoted.strip("\"'"))
                if name in ("href", "src") and tag != "link":
                    self.targets.append(value)
                elif (name == "id" or (tag == "a" and name == "name")) and value:
                    self.places.add(value)


def broken(folder: Path) -> Iterator[str]:
    """A line for each link of the pages in a folder that leads nowhere; links to other sites are not followed."""

    @cache
    def page(path: Path) -> Page:
        return Page(path.read_text(encoding="utf-8"))

    for path in sorted(folder.rglob("*.html")):
        for target in page(path).targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not found.is_file():
                yield f"{path.relative_to(folder)}: {target} is not there"
            elif parts.fragment and found.suffix == ".html" and unquote(parts.fragment) not in page(found).places:
                yield f"{path.relative_to(folder)}: {target} has no such place"
