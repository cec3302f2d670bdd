"""A program on arrays: its statements, and the NumPy function that they are."""

from __future__ import annotations

import ast
import itertools
import linecache
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from ..tree import Statement

FIRST = (
    "x, m, a = x.copy(), m.copy(), a * 1",
    "v0, v1, v2 = x * 1, x + 0.5, m[0].copy()",
    "m0, m1 = m * 1, m.T + m",
    "s0, s1, s2 = x.sum(), a * x[0], m[1, 2] * 1",
    "p0, p1, i0, i1 = 0.5, -1.25, 1, 2",
    "w0, w1, u0 = np.zeros(3), np.full((3, 3), 0.25), v0[:2]",
    "l0 = [x[0], x[1] * 2]",
)
"""Every name of a program is bound before anything else, so that any statement may be taken out."""


@dataclass(frozen=True)
class Program:
    """A function of a vector, a matrix and a number.

    Attributes:
        body: the statements between the first lines and the return.
        result: what is returned.
        converts: whether numbers of Python that were made of values go on into the result.
    """

    seed: int
    body: tuple[Statement, ...]
    result: str
    converts: bool = False

    @property
    def source(self) -> str:
        lines = ["def f(x, m, a):", *(f"    {line}" for line in FIRST)]
        for statement in self.body:
            lines += statement.lines("    ")
        return "\n".join([*lines, f"    return {self.result}", ""])

    @property
    def reads_memory(self) -> bool:
        """Whether something is made that shows what was in memory before."""
        return EMPTY.search(self.source) is not None

    def with_body(self, body: tuple[Statement, ...]) -> Program:
        return replace(self, body=body)

    def function(self, poison: float | None = None, apart: bool = False) -> Callable[..., Any]:
        """The function; what it sees around it are NumPy, `math` and two functions.

        With a poison, this is what `np.empty` and its like give, so that whoever reads it is found.  Set `apart`,
        what is assigned to a part of an array is copied first: NumPy reads on from where it has written in
        ``w[:, 2] = w[1]``, which is to do as if it did not.
        """
        file = f"<array program {self.seed}, {next(RUN)}>"
        text, code = compiled(self.source, poison is not None, apart)
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        names: dict[str, Any] = {"__name__": f"array_program_{self.seed}", "np": np, "math": math}
        names["poisoned"] = lambda like, dtype=None, order="C": np.full(
            getattr(like, "shape", like), poison, order=order
        )
        names["apart"] = lambda z: z.copy() if type(z) is np.ndarray else z
        exec(in_file(code, file), names)
        return names["f"]


@lru_cache(maxsize=8)
def compiled(source: str, poisoned: bool, apart: bool) -> tuple[str, CodeType]:
    """A program with what is around it: its text, and the code of that in no file yet."""
    text = SURROUNDINGS + (EMPTY.sub("poisoned(", source) if poisoned else source)
    tree = ast.parse(text)
    if apart:
        tree = ast.fix_missing_locations(Apart().visit(tree))
    return text, compile(tree, "", "exec", dont_inherit=True)


def in_file(code: CodeType, file: str) -> CodeType:
    """The same code in a file; compiling it again takes a hundred times as long."""
    parts = (in_file(part, file) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(parts))


class Apart(ast.NodeTransformer):
    """Copies what is assigned to parts of arrays."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        copies: list[ast.expr] = [ast.Call(ast.Name("apart", ast.Load()), [value], []) for value in values]
        if any(isinstance(part, ast.Subscript) for target in node.targets for part in ast.walk(target)):
            node.value = ast.Tuple(copies, ast.Load()) if isinstance(node.value, ast.Tuple) else copies[0]
        return node


RUN = itertools.count()
"""Each function has a file of its own: a warning that is given once for a line is given for each of them."""

EMPTY = re.compile(r"np\.(empty|empty_like|ndarray)\(")
SURROUNDINGS = """
import collections, dataclasses, functools, itertools, operator
C = np.array([0.5, -1.5, 2.0])
def helper(t):
    return t * t if t.sum() > 1.75 else t - 1
def written(t, y):
    t[:] = t * 0.5 + y
    return t[1:]
"""


def inputs(program: Program, number: int) -> tuple[np.ndarray, ...]:
    """Arguments number so many: a vector of three, a matrix of three by three, a number without axes."""
    rng = np.random.default_rng((program.seed, number))
    scale = (1.0, 0.4, 2.0)[number % 3]
    return tuple(np.asarray(rng.standard_normal(shape) * scale) for shape in ((3,), (3, 3), ()))
