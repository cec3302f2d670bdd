"""Every example in a docstring of the library runs: in modules, on ops, and on what is installed on tensors."""

import doctest
import importlib
import pkgutil
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


def examples():
    finder, parser = Finder(exclude_empty=True), doctest.DocTestParser()
    for module in list(map(importlib.import_module, modules())):  # all at once: reading docstrings imports some
        for test in finder.find(module):
            test.globs = {**REGISTRY, "np": np, **test.globs}  # functions of `tape` have the docs of their ops
            yield test
    for op in REGISTRY.values():
        yield parser.get_doctest(op.__doc__ or "", {**REGISTRY, "np": np}, f"op {op.name}", None, None)


# What is shown under two names (an op, and the function of `tape` with its doc) runs once.
EXAMPLES = {tuple(e.source for e in test.examples): test for test in examples() if test.examples}.values()


@pytest.mark.parametrize("test", EXAMPLES, ids=lambda test: test.name)
def test_example(test):
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
    assert outcome.failed == 0, "".join(report)
