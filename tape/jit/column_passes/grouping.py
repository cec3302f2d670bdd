"""Which records of a listing run together in one kernel, and what such a group is made of."""

from __future__ import annotations

from .gradual import over

GIVEN, ALONE, LANE, ELEMENT, TOTAL, PACK = range(6)
"""What a record is: an input or constant; a step of its own; part of a kernel; a number that a kernel reads out
of an array; a sum or mean that a kernel makes; an array that a kernel writes number by number."""

FLOAT64, FLOAT32, TRUTH, WHOLE, OTHER = range(5)
"""Kinds of element; whole numbers are those of 64 bits."""


@over("llllll????llllll", "role", "family")
def classify(  # type: ignore[no-untyped-def]
    code, first, args, spec, shape, kind, single, plain, by_rows, whole, lane, gives, takes, part, role, family
):
    """Find what each record is (``role``) and, for those of a kernel, which shape and precision (``family``).

    By spec: the number of its shape, its kind, whether it holds one number.  By record: whether it is a
    plain number, and whether it is a sum `by_rows` that a kernel can make.  By opcode: whether it takes arrays of
    `whole` numbers as floating-point ones, whether it has a lane (2: where there are several elements), whether that
    gives truth values, bit by bit which operands are truth values, and the role that it may have else.
    """
    for k in range(len(code)):
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
            bits, fits, counted = -1, made < WHOLE and (made == TRUTH) == gives[op], False
            fits = fits and (lane[op] == 1 or not single[spec[k]])
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
                elif has == WHOLE and not plain[x]:
                    fits = fits and whole[op] and not single[spec[x]]
                    counted = True
                elif not plain[x]:
                    fits = fits and has < TRUTH and (bits < 0 or bits == has)
                    bits = has
                else:
                    fits = fits and has != TRUTH
            if counted:  # NumPy compares in double precision where the other operand is of that
                fits = fits and (made == FLOAT64 or bits == FLOAT64)
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


@over("llllll", "stage")
def stages(code, first, args, role, family, stage):  # type: ignore[no-untyped-def]
    """Find when each record runs: after what it needs, together with its kernel's others where it can."""
    last = 0
    for k in range(len(code)):
        if role[k] == GIVEN:
            stage[k] = -1
            continue
        when = 0
        for j in range(first[k], first[k + 1]):
            x = args[j]
            inside = role[x] == LANE or role[x] == ELEMENT
            together = inside and family[x] == family[k] and role[k] != ALONE and role[k] != ELEMENT
            after = stage[x] if together else stage[x] + 1
            if after > when:
                when = after
        stage[k] = when
        if when > last:
            last = when
    return last


@over("lllll?lll", "stage")
def postpone(first, args, outputs, role, family, several, latest, needed, stage):  # type: ignore[no-untyped-def]
    """Let kernels of arrays compute what only later kernels read in these, where that takes no more memory.

    What moves is not written and read again.  Of its operands at most one may be kept for it alone until then.
    By record: whether it has `several` elements, room for the `latest` stage at which it may run, at first more than
    there are records, and for that at which it is `needed` last, at first −1.
    """
    n = len(role)
    for k in outputs:
        latest[k] = -1
    for k in range(n - 1, -1, -1):
        if role[k] == GIVEN:
            continue
        if role[k] == LANE and several[k] and stage[k] < latest[k] <= n:
            kept = 0
            for j in range(first[k], first[k + 1]):
                x, again = args[j], False
                for i in range(first[k], j):
                    again = again or args[i] == x
                if not again and role[x] != GIVEN and several[x] and needed[x] < latest[k]:
                    kept += 1
            if kept <= 1:
                stage[k] = latest[k]
        for j in range(first[k], first[k + 1]):
            x = args[j]
            together = role[x] == LANE and family[x] == family[k] and role[k] != ALONE and role[k] != ELEMENT
            before = stage[k] if together else stage[k] - 1
            if before < latest[x]:
                latest[x] = before
            if stage[k] > needed[x]:
                needed[x] = stage[k]


@over("lllll?", "escapes")
def escaping(first, args, outputs, group, role, escapes):  # type: ignore[no-untyped-def]
    """Find the records whose results something outside of their kernel needs in memory."""
    for k in outputs:
        escapes[k] = True
    for k in range(len(group)):
        for j in range(first[k], first[k + 1]):
            x = args[j]
            if role[x] == ELEMENT:
                escapes[x] = escapes[x] or role[k] == ALONE or role[k] == ELEMENT
            elif group[x] != group[k] or role[k] == ELEMENT:
                escapes[x] = True


@over("llllll?lllllll", "inner", "outside", "operands", "targets", "values", "counts")
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
    for number in range(len(ends)):
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


@over("ll.?llli", "place", "out")
def instructions(numbers, operands, given, keep, place, last, free, out):  # type: ignore[no-untyped-def]
    """Write the instructions of a kernel's rows; a result goes where nothing is needed any more.

    The first `given` values have places already, a value to `keep` lasts.  There is room for the row that reads a
    value `last`, at first −1, and for as many `free` places as there are rows.  Gives how many places there are.
    """
    n = len(numbers)
    for k in range(n):
        for j in range(3):
            if operands[3 * k + j] >= 0:
                last[operands[3 * k + j]] = k
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
