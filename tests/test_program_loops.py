"""Loops found again in a list: the functions that a kernel is cut into compute what its rows say."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.jit.segments import Lines, Plan, Slots, loops_of
from tape.program.groups import Group

PRIME = 2_147_483_647


def value(code, xs):
    """A number that hardly another op gives, or other operands."""
    return hash((code, *xs)) % PRIME


def directly(codes, operands, inputs):
    values = list(inputs)
    for code, xs in zip(codes, operands):
        values.append(value(code, [values[x] for x in xs if x >= 0]))
    return values


def through(plan, codes, operands, inputs):
    """What the functions of a plan write, each of which knows only its own results, and the slots."""
    slots, written, given = [None] * plan.slots, {}, len(inputs)
    rows_done = []
    for segment in plan.segments:
        known = dict(enumerate(inputs))
        if isinstance(segment, Lines):
            for x, slot in segment.fills:
                slots[slot] = known[x]
            for k in segment.rows:
                xs = [known[x] if x in known else slots[plan.slot[x]] for x in operands[k] if x >= 0]
                known[given + k] = value(codes[k], xs)
                if given + k in plan.slot:
                    slots[plan.slot[given + k]] = known[given + k]
                rows_done.append(k)
            for number, wanted in ((n, WANTED(operands, given)[n]) for n in segment.outputs):
                written[number] = known[wanted] if wanted in known else slots[plan.slot[wanted]]
            continue
        fixed = {c: known.get(x, slots[plan.slot[x]] if x in plan.slot else None)
                 for c, x in enumerate(segment.columns) if not isinstance(x, Slots)}  # fmt: skip
        for q in range(segment.iterations):
            made = []
            for j, k in enumerate(segment.rows):
                xs = []
                for x, c in zip(operands[k], segment.reads[j]):
                    if x >= 0 and c < 0:
                        xs.append(made[x - given - segment.rows.start])
                    elif x >= 0:
                        column = segment.columns[c]
                        xs.append(slots[column.first + column.step * q] if isinstance(column, Slots) else fixed[c])
                made.append(value(codes[k], xs))
                if j in segment.writes:
                    first, step = segment.writes[j]
                    slots[first + step * q] = made[-1]
                rows_done.append(k + q * len(segment.rows))
    assert sorted(rows_done) == list(range(len(codes)))
    return written


def WANTED(operands, given):
    """The results that are written: some of all, the last one, and a given value."""
    n = len(operands)
    return [*range(given + 3, given + n, 37), given + n - 1, 0]


def random_list(seed):
    """Codes and operands of rows in which bodies come again and again, between others that do not."""
    rng = np.random.default_rng(seed)
    given, codes, operands = int(rng.integers(1, 60)), [], []
    for _ in range(rng.integers(1, 4)):
        for _ in range(rng.integers(0, 30)):
            codes.append(int(rng.integers(0, 9)))
            operands.append(rng.integers(-1, given + len(codes) - 1, 3))
        body = int(rng.choice([1, 2, 7, 30, 60, 130]))
        ops = rng.integers(0, 9, body)
        start = len(codes)
        kinds = rng.choice(
            ["inside", "last", "fixed", "given", "back", "none"], (body, 3), p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1]
        )
        offsets = rng.integers(0, 1 << 30, (body, 3))
        for q in range(int(rng.integers(2, 3 + 900 // body))):
            for j in range(body):
                here, row = len(codes), []
                for kind, offset in zip(kinds[j], offsets[j].tolist()):
                    x = {
                        "inside": given + here - 1 - offset % max(j, 1) if j else 0,
                        "last": given + here - body + offset % max(body - j, 1) if q else offset % given,
                        "fixed": given + offset % start if start else 0,
                        "given": (offset + q) % given,
                        "back": given + max(start - 1 - q * (1 + offset % 3), 0) if start else 0,
                        "none": -1,
                    }[kind]
                    row.append(min(x, given + here - 1))
                codes.append(int(ops[j]))
                operands.append(np.array(row))
    return np.array(codes), np.array(operands), given


@pytest.mark.parametrize("seed", range(60))
def test_functions_compute_what_the_rows_say(seed):
    codes, operands, given = random_list(seed)
    kinds = np.zeros(given + len(codes), dtype=np.int64)
    loops = loops_of(codes, operands.reshape(-1), kinds, given, WANTED(operands, given))
    inputs = [value(-1, [k]) for k in range(given)]
    wanted = WANTED(operands, given)
    plan = Plan(operands.reshape(-1), given, loops, wanted)
    expected = directly(codes, operands, inputs)
    assert through(plan, codes, operands, inputs) == {n: expected[x] for n, x in enumerate(wanted)}


# Programs.


def logistic_map(x, r):
    for _ in range(300):
        x = r * x * (1.0 - x)
    return x


def trajectory(x, r):
    path = []
    for _ in range(100):
        x = x + 0.1 * np.sin(r * x)
        path.append(x)
    return tape.stack([tape.as_tensor(p) for p in path])


def nested(x, r):
    total = x * 0.0
    for _ in range(12):
        y = x
        for _ in range(9):
            y = y * r + x / (1.0 + y * y)
        total = total + y
        x = x * 0.9
    return total


def with_choices(x, r):
    for _ in range(80):
        x = tape.where(x > r, x * 0.5, x + r * 0.25)
    return x


def with_numbers(x, r):
    for k in range(120):
        x = x + r * (0.01 * k) * x / (1.0 + k)
    return x


def two_loops(x, r):
    for _ in range(60):
        x = x + r * x * 0.01
    y = x
    for _ in range(60):
        y = tape.sin(y) + x * r
    return y


PROGRAMS = [logistic_map, trajectory, nested, with_choices, with_numbers, two_loops]


def loops_in(program):
    return [
        loop for s in program.replay.steps if isinstance(getattr(s, "group", None), Group) for loop in s.group.loops
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("tier", ["quick", "optimised"])
@pytest.mark.parametrize("function", PROGRAMS)
def test_loops_give_what_eager_gives(function, tier, dtype):
    wanted = tape.func.grad_and_value(lambda *xs: (function(*xs) * function(*xs)).sum(), argnums=(0, 1))
    x, r = dtype(0.3), dtype(1.7)
    program = tape.record(wanted, x, r, tier=tier)
    assert program(x, r)[1] is not None
    assert loops_in(program)
    for x, r in ((0.3, 1.7), (0.7, 1.2)):
        (dx, dr), z = program(dtype(x), dtype(r))
        (ex, er), e = wanted(tape.tensor(x, dtype=dtype), tape.tensor(r, dtype=dtype))
        tolerance = 1e-9 if dtype is np.float64 else 2e-2
        np.testing.assert_allclose([z, dx, dr], [float(e), float(ex), float(er)], rtol=tolerance)


@pytest.mark.parametrize("lanes", [1, 3, 8, 21])
@pytest.mark.parametrize("function", [logistic_map, nested, with_choices, with_numbers, two_loops])
def test_loops_in_lanes(function, lanes):
    wanted = tape.func.vmap(tape.func.grad_and_value(function, argnums=(0, 1)))
    x, r = np.linspace(0.2, 0.4, lanes), np.linspace(1.1, 1.6, lanes)
    program = tape.record(wanted, x, r, tier="optimised")
    (dx, dr), z = program(x, r)
    assert loops_in(program)
    for k in range(lanes):
        (ex, er), e = tape.func.grad_and_value(function, argnums=(0, 1))(tape.tensor(x[k]), tape.tensor(r[k]))
        np.testing.assert_allclose([z[k], dx[k], dr[k]], [float(e), float(ex), float(er)], rtol=1e-9)


def test_a_loop_is_compiled_once():
    program = tape.record(tape.func.grad(logistic_map), 0.3, 1.7, tier="optimised")
    program(0.3, 1.7)
    (group,) = [s.group for s in program.replay.steps]
    assert len(group.rows) > 2000
    assert group.rows_to_compile < 500
