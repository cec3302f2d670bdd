"""Every example in a docstring of the library runs: in modules, on ops, and on what is installed on tensors."""

import doctest
import importlib
import linecache
import pkgutil
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest

import ops
import tape
from ops import REGISTRY

DASK = find_spec("distributed") is not None
"""Without Dask, the examples of `tape.dask` are not among the tests; its own tests are skipped with a reason."""


def modules():
    for package in (ops, tape):
        yield package.__name__
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=lambda name: None):
            if not info.name.endswith(".__main__") and (DASK or not info.name.startswith("tape.dask")):
                yield info.name


class Finder(doctest.DocTestFinder):
    """Looks for the line of what has examples only: thousands have none, and the search goes through the source."""

    def _find_lineno(self, obj, source_lines):
        return super()._find_lineno(obj, source_lines) if ">>>" in str(getattr(obj, "__doc__", "")) else None


@pytest.fixture(scope="module")
def everything():
    """All modules, imported before the first docstring is read, which imports some."""
    return {name: importlib.import_module(name) for name in modules()}


def fail(examples):
    """What the report says of examples that do not give what they show; nothing, if all do."""
    report: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        # The debugger that comes with every runner would see whether any file has changed that was ever shown.
        patched.setattr(linecache, "checkcache", lambda filename=None: None)
        for test in examples:
            doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
    return "".join(report)


# Docstrings of ops work out their examples when they are read: in the tests that run them, not where tests are found.
@pytest.mark.parametrize("name", list(modules()))
def test_examples_of_a_module(name, everything):
    """What it shows of its ops' runs with these, in the next test."""
    found = Finder(exclude_empty=True).find(everything[name])
    tests = [test for test in found if sources(test) not in shown_of_ops()]
    for test in tests:
        test.globs = {**REGISTRY, "np": np, **test.globs}  # functions of `tape` have the docs of their ops
    assert not fail(tests)


@cache
def examples_of_ops():
    parser = doctest.DocTestParser()
    texts = {op.name: op.__doc__ or "" for op in REGISTRY.values()}
    return [
        parser.get_doctest(text, {**REGISTRY, "np": np}, f"op {name}", None, None)
        for name, text in texts.items()
        if ">>>" in text
    ]


def sources(test):
    return tuple([example.source for example in test.examples])


@cache
def shown_of_ops():
    return set(map(sources, examples_of_ops()))


def test_examples_of_ops():
    assert len(examples_of_ops()) > 5
    assert not fail(examples_of_ops())
