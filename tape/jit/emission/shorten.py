"""The passes over a listing that visit every record: what is needed, what is equal, what is constant."""

from __future__ import annotations

import math

import numpy as np

from ..machine.gradual import Pass, inner

HALF, LOW = 32, (1 << 32) - 1
"""A word of `merge`'s table holds a record in its lower half, and in the upper one part of its hash."""


@Pass
def mark_needed(first, args, outputs, needed):  # type: ignore[no-untyped-def]
    """Set ``needed`` for every record that an output depends on."""
    for k in range(outputs.size):
        needed[outputs[k]] = True
    for k in range(first.size - 2, -1, -1):
        if needed[k]:
            for j in range(first[k], first[k + 1]):
                needed[args[j]] = True


@Pass
def mark_constant(code, first, args, fixed):  # type: ignore[no-untyped-def]
    """Extend ``fixed``, set for constant rows, to every record that depends on nothing else."""
    for k in range(code.size):
        if code[k] >= 0:
            same = True
            for j in range(first[k], first[k + 1]):
                same = same and fixed[args[j]]
            fixed[k] = same


@inner
def equal(x, y, signed):  # type: ignore[no-untyped-def]
    """Whether two numbers are the same, zeros of two signs only where there are no signs."""
    return x == y and (x != 0.0 or not signed or math.copysign(1.0, x) == math.copysign(1.0, y))


@inner
def repeated(code, first, args, repeats, number, k):  # type: ignore[no-untyped-def]
    """The constant that a record repeats, or the record."""
    if number[k] == number[k]:
        while code[k] >= 0 and repeats[code[k]]:
            k = args[first[k]]
    return k


@inner
def decided(args, number, decides, op, start, end):  # type: ignore[no-untyped-def]
    """The operand that a record gives back because of a truth value among its operands, -1 if it gives none."""
    for i in range(min(2, end - start)):
        truth = number[args[start + i]]
        if truth == 0.0 or truth == 1.0:
            given = decides[(op * 2 + i) * 2 + int(truth)]
            if given >= 0:
                return args[start + given]
    return np.int64(-1)


@Pass
def merge(  # type: ignore[no-untyped-def]
    code, first, args, param, spec, real, signed, number, left, right, kept, twice, repeats, spreads, decides, place,
    table,
):  # fmt: skip
    """Find for every record the earliest that is the same; ``place`` says which.

    Operands in ``args`` become the earliest ones.  `number` is what a constant row stands for, else nan;
    by opcode, `left` and `right` are the numbers that leave the other operand as it is, `kept` tells
    whether the op gives its operand back (2: if that is real, which `real` tells by spec), `twice` whether
    applying it twice does, `repeats` whether it repeats its operand's numbers, `spreads` whether it does so
    where they differ in shape from the other operand's: it takes a repeated number as that number.
    By opcode, position (0 or 1) and truth value there, `decides` is the position of the operand that is given
    back then, or -1.
    """
    mask = np.uint64(table.size - 1)
    for k in range(code.size):
        start, end, op = first[k], first[k + 1], code[k]
        for j in range(start, end):
            args[j] = place[args[j]]
        place[k] = k
        if op < 0:
            continue
        if repeats[op]:
            number[k] = number[args[start]]
        chosen = decided(args, number, decides, op, start, end)
        if chosen >= 0 and spec[chosen] == spec[k]:
            place[k] = chosen
            continue
        if end - start == 2:
            x, y = args[start], args[start + 1]
            exact = signed[spec[k]] if spec[k] >= 0 else True
            if equal(number[y], right[op], exact) and spec[x] == spec[k]:
                place[k] = x
                continue
            if equal(number[x], left[op], exact) and spec[y] == spec[k]:
                place[k] = y
                continue
            for j in range(2):
                if spreads[op] and spec[args[end - 1 - j]] == spec[k]:
                    args[start + j] = repeated(code, first, args, repeats, number, args[start + j])
        elif end - start == 1:
            x = args[start]
            if spec[x] == spec[k] and (kept[op] == 1 or (kept[op] == 2 and real[spec[k]])):
                place[k] = x
                continue
            if twice[op] and code[x] == op and spec[args[first[x]]] == spec[k]:
                place[k] = args[first[x]]
                continue
        h = np.uint64(op) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(param[k] + 1)
        for j in range(start, end):
            h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(args[j])
        h = (h ^ (h >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
        slot = (h >> np.uint64(20)) & mask
        tag = np.int64(h >> np.uint64(33))  # tells records apart without a look at them
        while table[slot] >= 0:
            other = table[slot] & LOW
            if table[slot] >> HALF == tag and code[other] == op and param[other] == param[k] and spec[other] == spec[k]:
                begin = first[other]
                alike = first[other + 1] - begin == end - start
                j = 0
                while alike and j < end - start:
                    alike = args[begin + j] == args[start + j]
                    j += 1
                if alike:
                    place[k] = other
                    break
            slot = (slot + np.uint64(1)) & mask
        if place[k] == k:
            table[slot] = (tag << HALF) | k
