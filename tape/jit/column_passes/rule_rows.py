"""Reverse mode on a list of simple records: each op's rule is a short run of records, copied where it applies."""

from __future__ import annotations

from .gradual import inner, over

G, X, Y, W, Z = -1, -2, -3, -4, -5
"""What an operand in a rule may be, beside an earlier record of the rule (0 and up) and a constant."""
FIRST_CONSTANT = -10
"""Constants have this number and those below."""
WORDS = 4  # of a record in a rule: opcode, three operands


@over("lll???", "leads")
def leading(code, first, args, differentiable, stopped, leads):  # type: ignore[no-untyped-def]
    """Extend ``leads``, set for the targets, to all records that lead to one of them."""
    for k in range(len(code)):
        if not leads[k] and code[k] >= 0 and not stopped[k] and differentiable[code[k]]:
            for j in range(first[k], first[k + 1]):
                leads[k] = leads[k] or leads[args[j]]


@over("lll????", "reached")
def consumed(code, first, args, differentiable, stopped, leads, reached):  # type: ignore[no-untyped-def]
    """Extend ``reached``, set for the roots, to the records whose rules a sweep runs, and unset it for all others."""
    for k in range(len(code) - 1, -1, -1):
        if reached[k]:
            reached[k] = False
            if code[k] >= 0 and not stopped[k] and differentiable[code[k]]:
                for j in range(first[k], first[k + 1]):
                    if leads[args[j]]:
                        reached[args[j]] = reached[k] = True


@over("llll??..?", "simple")
def find_simple(code, first, args, spec, number, rules, this, truth, simple):  # type: ignore[no-untyped-def]
    """Set ``simple`` for the records of spec `this` whose operands have it too, or are truth values or numbers."""
    for k in range(len(code)):
        good = code[k] >= 0 and rules[code[k]] and spec[k] == this and first[k + 1] - first[k] <= 3
        if good:
            for j in range(first[k], first[k + 1]):
                x = args[j]
                good = good and (spec[x] == this or spec[x] == truth or number[x])
        simple[k] = good


@inner
def resolve(ref, g, x, y, w, z, base, constants):  # type: ignore[no-untyped-def]
    """The record that an operand in a rule stands for; −1 for none."""
    if ref >= 0:
        return base + ref
    if ref == G:
        return g
    if ref == X:
        return x
    if ref == Y:
        return y
    if ref == W:
        return w
    if ref == Z:
        return z
    if ref <= FIRST_CONSTANT:
        return constants[FIRST_CONSTANT - ref]
    return -1


@over("..lll??l.lllll.ll", "bars", "out", "origin")
def reverse(  # type: ignore[no-untyped-def]
    start, stop, code, begin, args, simple, leads, bars, add, first, length, result, rules, constants, next_row,
    out, origin,
):  # fmt: skip
    """Append the adjoint of the simple records in [start, stop); ``bars`` are the adjoints by record, −1 for none.

    By opcode and operand, `first` and `length` say where in `rules` its records are and how many, `result` which
    value they give (−1 length: none).  Gives how many records were appended, or would have been if there
    is no room: ``out`` holds opcode and operands of each, ``origin`` the record that it comes from.
    """
    made = 0
    for k in range(stop - 1, start - 1, -1):
        g = bars[k]
        if g < 0 or not leads[k] or not simple[k]:
            continue
        count = begin[k + 1] - begin[k]
        x = args[begin[k]]
        y = args[begin[k] + 1] if count > 1 else -1
        w = args[begin[k] + 2] if count > 2 else -1
        for side in range(count):
            operand = args[begin[k] + side]
            rule = 3 * code[k] + side
            if not leads[operand] or length[rule] < 0:
                continue
            base = next_row + made
            for i in range(length[rule]):
                at, to = WORDS * (first[rule] + i), WORDS * made
                out[to] = rules[at]
                for j in range(1, WORDS):
                    out[to + j] = resolve(rules[at + j], g, x, y, w, k, base, constants)
                origin[made] = k
                made += 1
            bar = resolve(result[rule], g, x, y, w, k, base, constants)
            if bars[operand] >= 0:
                to = WORDS * made
                out[to], out[to + 1], out[to + 2], out[to + 3] = add, bars[operand], bar, -1
                origin[made] = k
                bar = next_row + made
                made += 1
            bars[operand] = bar
    return made
