"""The ops' rules as short lists of records, for lists too long to run the rules one by one."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ops import Op, Symbol
from ops.core.registry import OPS

from ...base.rooms import opened

NONE = -9


class Rules(NamedTuple):
    """By opcode and operand (three for each op), the records that a vjp appends.

    Attributes:
        first, length, result: where they are in `table`, how many (−1: there is no such list), what they give.
        table: opcode and three operands for each.
        constants: the plain numbers in them.
        simple: by opcode, whether every rule of the op is such a list.
        differentiable: by opcode, whether the op has rules.
        truth: by opcode, 1 if the op gives truth values.
    """

    first: np.ndarray
    length: np.ndarray
    result: np.ndarray
    table: np.ndarray
    constants: list[float]
    simple: np.ndarray
    differentiable: np.ndarray
    truth: np.ndarray


@cache
def rules(count: int) -> Rules:
    """The rules of all ops that are declared."""
    reverse = opened("tape.jit.column_passes.rule_rows")
    first, length, result = (np.full(3 * count, -1, dtype=np.int64) for _ in range(3))
    simple = np.zeros(count, dtype=np.bool_)
    differentiable = np.zeros(count, dtype=np.bool_)
    truth = np.zeros(count, dtype=np.int64)
    lines = opened("tape.jit.emission.lines")
    table: list[int] = []
    constants: dict[float, int] = {}
    for op in OPS[:count]:
        differentiable[op.code] = op.differentiable
        truth[op.code] = lines.has_lane(op) and lines.result_kind(op)
        written = [_written(op, i, constants, reverse) for i in range(op.arity)] if _is_simple(op) else [None]
        if None in written:
            continue
        simple[op.code] = True
        for i, rule in enumerate(written):
            assert rule is not None
            records, value = rule
            if value is not None:
                first[3 * op.code + i], length[3 * op.code + i] = len(table) // 4, len(records)
                result[3 * op.code + i] = value
                table += [word for record in records for word in record]
    return Rules(first, length, result, np.array(table, dtype=np.int64), list(constants), simple, differentiable, truth)


def _is_simple(op: Op) -> bool:
    has_lane = opened("tape.jit.emission.lines").has_lane
    return op.kind == "elementwise" and op.arity <= 3 and not op.params and has_lane(op)


def _written(op: Op, i: int, constants: dict[float, int], reverse: Any) -> tuple[list[Any], int | None] | None:
    """Records of the vjp of one operand and what they give (None: nothing flows); None if they cannot be written."""
    rule = op.rule(i)
    if rule is None:
        return [], None
    if not set(rule.names) <= {"g", "z", *op.operands}:
        return None
    lines = opened("tape.jit.emission.lines")
    try:
        bar = opened("tape.jit.emission.lanes").vjp_formula(op, i)
    except Exception:  # a user's rule, or one that ends in scalar code: it is run for each record, and raises there
        return None
    refs = {"g": reverse.G, "x": reverse.X, "y": reverse.Y, "w": reverse.W, "z": reverse.Z}

    def ref(x: Any) -> int:
        if isinstance(x, Symbol):
            return done[id(x)]
        return reverse.FIRST_CONSTANT - constants.setdefault(float(x), len(constants))

    done: dict[int, int] = {}
    records: list[Any] = []
    if not isinstance(bar, Symbol):
        return records, ref(bar)
    for symbol in bar.walk():
        if symbol.op is None:
            done[id(symbol)] = refs[symbol.name]
            continue
        operands = [ref(x) for x in symbol.operands]
        if lines.gives_back(symbol.op):  # as `conj` does with real numbers
            done[id(symbol)] = operands[0]
            continue
        done[id(symbol)] = len(records)
        records.append((symbol.op.code, *operands, *(NONE,) * (3 - len(operands))))
    return records, done[id(bar)]
