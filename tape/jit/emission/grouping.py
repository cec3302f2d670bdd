"""Which records of a listing run together in one kernel, and what such a group is made of."""

from __future__ import annotations

import numpy as np

from ..machine.gradual import Pass

GIVEN, ALONE, LANE, ELEMENT, TOTAL, PACK = range(6)
"""What a record is: an input or constant; a step of its own; part of a kernel; a number that a kernel reads out
of an array; a sum or mean that a kernel makes; an array that a kernel writes number by number."""

FLOAT64, FLOAT32, TRUTH, OTHER = range(4)
"""Kinds of element."""


@Pass
def classify(  # type: ignore[no-untyped-def]
    code, first, args, spec, shape, kind, single, plain, by_rows, lane, gives, takes, part, role, family
):
    """Find what each record is (``role``) and, for those of a kernel, which shape and precision (``family``).

    By spec: the number of its shape, its kind, whether it holds one number.  By record: whether it is a
    plain number, and whether it is a sum `by_rows` that a kernel can make.  By opcode: whether it has a lane,
    whether that gives truth values, bit by bit which operands are truth values, and the role that it may have
    else.
    """
    for k in range(code.size):
        family[k] = -1
        op = code[k]
        if op < 0:
            role[k] = GIVEN
            continue
        role[k] = ALONE
        if spec[k] < 0:
            continue
        start, end = first[k], first[k + 1]
        made = kind[spec[k]]
        if lane[op]:
            bits, fits = -1, made != OTHER and (made == TRUTH) == gives[op]
            for j in range(start, end):
                x = args[j]
                if spec[x] < 0:
                    fits = False
                    continue
                has = kind[spec[x]]
                if (takes[op] >> (j - start)) & 1:
                    fits = fits and has == TRUTH
                elif not plain[x] and has == TRUTH:
                    fits = fits and made < TRUTH  # it counts as 1 or 0
                elif not plain[x]:
                    fits = fits and has < TRUTH and (bits < 0 or bits == has)
                    bits = has
                else:
                    fits = fits and has != TRUTH
            if bits < 0 and made < TRUTH:
                bits = made
            if bits < 0:
                for j in range(start, end):
                    if family[args[j]] >= 0 and role[args[j]] == LANE:
                        bits = family[args[j]] & 1
            if bits < 0:
                bits = FLOAT64  # truth values out of others that something else gives
            if fits and bits >= 0 and (made == TRUTH or made == bits):
                role[k] = LANE
                family[k] = 2 * shape[spec[k]] + bits
        elif part[op] == ELEMENT:
            if single[spec[k]] and made < TRUTH:
                role[k] = ELEMENT
                family[k] = 2 * shape[spec[k]] + made
        elif part[op] == TOTAL:
            x = args[start]
            if (single[spec[k]] or by_rows[k]) and role[x] == LANE and kind[spec[x]] == made and made < TRUTH:
                role[k] = TOTAL
                family[k] = family[x]
        elif part[op] == PACK and made < TRUTH:
            fits = end > start
            for j in range(start, end):
                x = args[j]
                fits = fits and spec[x] >= 0 and single[spec[x]] and (plain[x] or kind[spec[x]] == made)
            if fits:
                role[k] = PACK
                family[k] = 2 * shape[spec[args[start]]] + made


@Pass
def stages(code, first, args, role, family, stage):  # type: ignore[no-untyped-def]
    """Find when each record runs: after what it needs, together with its kernel's others where it can."""
    last = 0
    for k in range(code.size):
        if role[k] == GIVEN:
            stage[k] = -1
            continue
        when = 0
        for j in range(first[k], first[k + 1]):
            x = args[j]
            inside = role[x] == LANE or role[x] == ELEMENT
            together = inside and family[x] == family[k] and role[k] != ALONE and role[k] != ELEMENT
            when = max(when, stage[x] + (0 if together else 1))
        stage[k] = when
        last = max(last, when)
    return last


@Pass
def postpone(first, args, outputs, role, family, several, stage):  # type: ignore[no-untyped-def]
    """Let kernels of arrays compute what only later kernels read in these, where that takes no more memory.

    What moves is not written and read again.  Of its operands at most one may be kept for it alone until then.
    By record: whether it has `several` elements.
    """
    n = role.size
    latest, needed = np.full(n, n + 1), np.full(n, -1)
    for k in outputs:
        latest[k] = -1
    for k in range(n - 1, -1, -1):
        if role[k] == GIVEN:
            continue
        if role[k] == LANE and several[k] and stage[k] < latest[k] <= n:
            kept = 0
            for j in range(first[k], first[k + 1]):
                x, before = args[j], False
                for i in range(first[k], j):
                    before = before or args[i] == x
                if not before and role[x] != GIVEN and several[x] and needed[x] < latest[k]:
                    kept += 1
            if kept <= 1:
                stage[k] = latest[k]
        for j in range(first[k], first[k + 1]):
            x = args[j]
            together = role[x] == LANE and family[x] == family[k] and role[k] != ALONE and role[k] != ELEMENT
            latest[x] = min(latest[x], stage[k] if together else stage[k] - 1)
            needed[x] = max(needed[x], stage[k])


@Pass
def escaping(first, args, outputs, group, role, escapes):  # type: ignore[no-untyped-def]
    """Find the records whose results something outside of their kernel needs in memory."""
    for k in range(outputs.size):
        escapes[outputs[k]] = True
    for k in range(group.size):
        for j in range(first[k], first[k + 1]):
            x = args[j]
            if role[x] == ELEMENT:
                escapes[x] = escapes[x] or role[k] == ALONE or role[k] == ELEMENT
            elif group[x] != group[k] or role[k] == ELEMENT:
                escapes[x] = True


@Pass
def localise(  # type: ignore[no-untyped-def]
    members, ends, first, args, role, group, escapes, place, inner, outside, operands, targets, values, counts
):
    """Number the values of each kernel: first what comes from outside, then the results of its rows.

    The rows of kernel k are ``members[ends[k - 1]:ends[k]]``.  Fills `inner` with those that are lanes and `operands`
    with three numbers for each of them, `outside` with the positions of what they read, `targets` with the positions
    of what is written and `values` with the numbers of what it is made of, one kernel's after another's.  By kernel,
    `counts` are how many inner rows, outside ones, targets, and values of all targets there were so far; for each
    target, its second word says where its values end.  ``place`` is −1 everywhere, before and after.
    """
    made, given, written, said, start = 0, 0, 0, 0, 0
    for number in range(ends.size):
        rows, start = members[start : ends[number]], ends[number]
        this, count, own, opening = group[rows[0]], 0, 0, made
        for k in rows:
            for j in range(first[k], first[k + 1]):
                x = args[j]
                if (group[x] != this or role[x] != LANE) and place[x] < 0:
                    place[x] = count
                    outside[given + count] = x
                    count += 1
        for k in rows:
            if role[k] == LANE:
                place[k] = count + own
                for j in range(first[k], first[k + 1]):
                    operands[3 * made + j - first[k]] = place[args[j]]
                inner[made] = k
                made += 1
                own += 1
        for k in rows:
            if role[k] == LANE and escapes[k]:
                values[said] = place[k]
                said += 1
                targets[2 * written], targets[2 * written + 1] = k, said
                written += 1
        for k in rows:
            if role[k] != LANE:
                for j in range(first[k], first[k + 1]):
                    values[said] = place[args[j]]
                    said += 1
                targets[2 * written], targets[2 * written + 1] = k, said
                written += 1
        for k in range(given, given + count):
            place[outside[k]] = -1
        for k in range(opening, made):
            place[inner[k]] = -1
        given += count
        counts[4 * number] = made
        counts[4 * number + 1] = given
        counts[4 * number + 2] = written
        counts[4 * number + 3] = said


@Pass
def instructions(numbers, operands, given, keep, place, out):  # type: ignore[no-untyped-def]
    """Write the instructions of a kernel's rows; a result goes where nothing is needed any more.

    The first `given` values have places already, a value to `keep` lasts.  Gives how many places there are.
    """
    n = numbers.size
    last = np.full(given + n, -1, np.int64)
    for k in range(n):
        for j in range(3):
            if operands[3 * k + j] >= 0:
                last[operands[3 * k + j]] = k
    free = np.empty(n, np.int64)
    available, top = 0, given
    for k in range(n):
        out[5 * k] = numbers[k]
        for j in range(3):
            x = operands[3 * k + j]
            out[5 * k + 2 + j] = place[x] if x >= 0 else 0
            if x >= given and last[x] == k and not keep[x]:
                last[x] = -1
                free[available] = place[x]
                available += 1
        if available:
            available -= 1
            place[given + k] = free[available]
        else:
            place[given + k] = top
            top += 1
        out[5 * k + 1] = place[given + k]
    return top
