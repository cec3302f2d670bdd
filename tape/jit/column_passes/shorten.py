"""The passes over a listing that visit every record: what is needed, what is equal, what is constant."""

from __future__ import annotations

import math

from .gradual import inner, over

HALF, LOW = 32, (1 << 32) - 1
"""A word of `merge`'s table holds a record in its lower half, and in the upper one its hash."""
HASH, SPREAD = (1 << 31) - 1, 0x4F1BBCDD
"""The bits of a hash, and what spreads them: a product of the two is less than 2⁶²."""


@over("lll?", "needed")
def mark_needed(first, args, outputs, needed):  # type: ignore[no-untyped-def]
    """Set ``needed`` for every record that an output depends on."""
    for k in outputs:
        needed[k] = True
    for k in range(len(first) - 2, -1, -1):
        if needed[k]:
            for j in range(first[k], first[k + 1]):
                needed[args[j]] = True


@over("lll?", "fixed")
def mark_constant(code, first, args, fixed):  # type: ignore[no-untyped-def]
    """Extend ``fixed``, set for constant rows, to every record that depends on nothing else."""
    for k in range(len(code)):
        if code[k] >= 0:
            same = True
            for j in range(first[k], first[k + 1]):
                same = same and fixed[args[j]]
            fixed[k] = same


MOVE, SUM, PRODUCT, POWER = range(4)
"""How large the result of an op may be, by its operands: see `bound`."""


@over("lllldddd", "degree", "factor")
def bound(code, first, args, how, size, power, degree, factor):  # type: ignore[no-untyped-def]
    """Find for every record d and c such that of inputs that are at most t ≥ 1 it is at most c·tᵈ.

    `degree` and `factor` are d and c of inputs and constants already, and d is inf where nothing is known.  By opcode,
    `how` is -1 where nothing is known; `MOVE` where the record is at most the largest operand, `SUM` where it is at
    most the sum of all numbers in them, of which there are `size`; `PRODUCT` where it is at most their product;
    `POWER` where it is its `power`, by record, of the first; that is 0 where it is not known.
    """
    for k in range(len(code)):
        kind = how[code[k]] if code[k] >= 0 else -1
        if kind < 0:
            continue
        x = args[first[k]]
        d, c = degree[x], factor[x] * (size[x] if kind == SUM else 1.0)
        if kind == POWER:
            d = math.inf if power[k] == 0.0 else d * power[k]
            p = 1.0
            while p < power[k]:
                c *= factor[x]
                p += 1.0
        else:
            for j in range(first[k] + 1, first[k + 1]):
                x = args[j]
                if kind == PRODUCT:
                    d, c = d + degree[x], c * factor[x]
                else:
                    d = max(d, degree[x])
                    c = c + factor[x] * size[x] if kind == SUM else max(c, factor[x])
        degree[k], factor[k] = d, c


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
    for j in range(start, end if end - start < 2 else start + 2):
        truth = number[args[j]]
        if truth == 0.0 or truth == 1.0:
            given = decides[(op * 2 + j - start) * 2 + (1 if truth else 0)]
            if given >= 0:
                return args[start + given]
    return -1


@over("lllll??dddl???lll", "args", "place")
def merge(  # type: ignore[no-untyped-def]
    code, first, args, param, spec, real, signed, number, left, right, kept, twice, repeats, spreads, decides, place,
    table,
):  # fmt: skip
    """Find for every record the earliest that is the same; ``place`` says which.

    Operands in ``args`` become the earliest ones.  `number` is what a constant row stands for, else nan;
    by opcode, `left` and `right` are the numbers that leave the other operand as it is, if that is real (z·1 is
    z·(1 + 0i), where infinite parts and signs of zeros change), `kept` tells
    whether the op gives its operand back (2: if that is real, which `real` tells by spec), `twice` whether
    applying it twice does, `repeats` whether it repeats its operand's numbers, `spreads` whether it does so
    where they differ in shape from the other operand's: it takes a repeated number as that number.
    By opcode, position (0 or 1) and truth value there, `decides` is the position of the operand that is given
    back then, or -1.
    """
    mask = len(table) - 1
    for k in range(len(code)):
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
            exact, whole = (signed[spec[k]], real[spec[k]]) if spec[k] >= 0 else (True, False)
            if whole and equal(number[y], right[op], exact) and spec[x] == spec[k]:
                place[k] = x
                continue
            if whole and equal(number[x], left[op], exact) and spec[y] == spec[k]:
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
        h = (op * SPREAD + param[k] + 1) & HASH
        for j in range(start, end):
            h = ((h ^ (h >> 15)) * SPREAD + args[j]) & HASH
        h = ((h ^ (h >> 15)) * SPREAD) & HASH
        h ^= h >> 16
        slot = h & mask
        while table[slot] >= 0:
            other = table[slot] & LOW
            if table[slot] >> HALF == h and code[other] == op and param[other] == param[k] and spec[other] == spec[k]:
                begin = first[other]
                alike = first[other + 1] - begin == end - start
                j = 0
                while alike and j < end - start:
                    alike = args[begin + j] == args[start + j]
                    j += 1
                if alike:
                    place[k] = other
                    break
            slot = (slot + 1) & mask
        if place[k] == k:
            table[slot] = (h << HALF) | k
