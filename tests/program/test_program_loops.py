"""Loops found again in a list: the functions that a kernel is cut into compute what its rows say."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.jit.emission.function_plan import FunctionPlan, Lines, Slots, Strided
from tape.jit.emission.segments import loops_of
from tape.program.plans.groups import Group

PRIME = 2_147_483_647


def value(code, xs):
    """A number that hardly another op gives, or other operands."""
    return hash((code, *xs)) % PRIME


def directly(codes, operands, inputs):
    values = list(inputs)
    for code, xs in zip(codes, operands):
        values.append(value(code, [values[x] for x in xs if x >= 0]))
    return values


class Machine:
    """Runs the functions of a plan, each of which knows only its own results, the slots, and the memory."""

    def __init__(self, plan, codes, operands, inputs, sources, wanted, sinks):
        self.plan, self.codes, self.operands, self.given = plan, codes, operands, len(inputs)
        self.inputs, self.wanted = inputs, wanted
        self.memory = {tuple(words): x for words, x in zip(sources.tolist(), inputs) if words[0] >= 0}
        self.sources, self.sinks = sources.tolist(), sinks.tolist()
        self.slots, self.written, self.done = [None] * plan.slots, {}, []
        for segment in plan.segments:
            known = dict(enumerate(inputs))
            if isinstance(segment, Lines):
                self.straight(segment, known)
            else:
                self.loop(segment, known)

    def seen(self, known, x):
        return known[x] if x in known else self.slots[self.plan.slot[x]]

    def straight(self, segment, known):
        for x, slot in segment.fills:
            self.slots[slot] = known[x]
        for k in segment.rows:
            known[self.given + k] = value(self.codes[k], [self.seen(known, x) for x in self.operands[k] if x >= 0])
            if self.given + k in self.plan.slot:
                self.slots[self.plan.slot[self.given + k]] = known[self.given + k]
            self.done.append(k)
        for number in segment.outputs:
            self.written[tuple(self.sinks[number])] = self.seen(known, self.wanted[number])

    def loop(self, segment, known):
        for q in range(segment.iterations):
            made = []
            for j, k in enumerate(segment.rows):
                pairs = [(x, c) for x, c in zip(self.operands[k], segment.reads[j]) if x >= 0]
                xs = [
                    self.read(segment, known, q, c) if c >= 0 else made[x - self.given - segment.rows.start]
                    for x, c in pairs
                ]
                made.append(value(self.codes[k], xs))
                if j in segment.writes:
                    first, step = segment.writes[j]
                    self.slots[first + step * q] = made[-1]
                for number, memory, offset in segment.outputs.get(j, ()):
                    kind, base, start = self.sinks[number]
                    self.written[kind, base + memory * q, start + offset * q] = made[-1]
                self.done.append(k + q * len(segment.rows))

    def read(self, segment, known, q, c):
        column = segment.columns[c]
        if isinstance(column, Slots):
            return self.slots[column.first + column.step * q]
        if isinstance(column, Strided):
            kind, memory, offset = self.sources[column.number]
            return self.memory[kind, memory + column.memory * q, offset + column.offset * q]
        return self.seen(known, column)


def random_list(seed):
    """Codes and operands of rows in which bodies come again and again, between others that do not."""
    rng = np.random.default_rng(seed)
    given, codes, operands, wanted = int(rng.integers(1, 60)), [], [], [0]
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
            wanted += [given + len(codes) - 1 - offsets[0, 0] % body] if offsets[0, 1] % 2 else []
        wanted += rng.integers(0, given + len(codes), 3).tolist()
    return np.array(codes), np.array(operands), given, [int(x) for x in wanted]


def random_places(rng, n):
    """Where values lie: their kind, memory and offset; some follow one another, some lie nowhere."""
    kinds = np.sort(rng.integers(-1, 2, n))
    return np.stack([kinds, *(np.arange(n), np.zeros(n))[:: rng.choice([1, -1])]], axis=1).astype(np.int64)


@pytest.mark.parametrize("seed", range(60))
def test_functions_compute_what_the_rows_say(seed):
    codes, operands, given, wanted = random_list(seed)
    rng = np.random.default_rng(seed)
    kinds = np.zeros(given + len(codes), dtype=np.int64)
    loops = loops_of(codes, operands.reshape(-1), kinds, given, wanted)
    sources, sinks = random_places(rng, given), random_places(rng, len(wanted))
    sinks[:, 0] = np.abs(sinks[:, 0])
    inputs = [value(-1, [k]) for k in range(given)]
    plan = FunctionPlan(operands.reshape(-1), loops, sources, wanted, sinks)
    machine = Machine(plan, codes, operands, inputs, sources, wanted, sinks)
    expected = directly(codes, operands, inputs)
    assert machine.written == {tuple(sinks[n]): expected[x] for n, x in enumerate(wanted)}
    assert sorted(machine.done) == list(range(len(codes)))


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
    return np.stack(path)


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


def every_step(x, r):
    path = []
    for _ in range(100):
        x = x + 0.1 * np.sin(r * x)
        path.append(x)
    return path


def sums(x, r):
    path = []
    for _ in range(100):
        x = x + 0.1 * np.sin(r * x)
        path += [x.sum(), (x * x).mean()]
    return path


def elements(x, r):
    total = 0.0
    for k in range(len(x) - 1):
        total = total + (x[k + 1] - x[k] * x[k]) ** 2 * r[k]
    return total


def rows(x, r):
    return sum(np.exp(-(x[k] * r)) for k in range(len(x)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (every_step, [(21,), (21,)]), (every_step, [(), ()]), (sums, [(21,), ()]), (sums, [(8,), (8,)]),
        (elements, [(100,), (100,)]), (rows, [(90, 11), (11,)]), (rows, [(90, 4, 3), (4, 1)]),
    ],
)  # fmt: skip
def test_memory_of_iterations(function, shapes, dtype):
    """What iterations read and write lies at equal distances, in one array or in many."""
    rng = np.random.default_rng(0)
    examples = [[np.asarray(rng.uniform(0.5, 1.0, shape), dtype=dtype) for shape in shapes] for _ in range(2)]

    def results(*xs):
        found = function(*xs)
        return found if isinstance(found, list) else [found]

    def wanted(*xs):
        gradients = tape.func.grad(lambda *xs: sum(tape.sum(z) for z in results(*xs)), argnums=(0, 1))(*xs)
        return [*results(*xs), *gradients]

    program = tape.record(wanted, *examples[0], tier="optimised")
    for xs in examples:
        for z, e in zip(program(*xs), wanted(*map(tape.tensor, xs)), strict=True):
            np.testing.assert_allclose(z, e.detach().numpy(), rtol=1e-9 if dtype is np.float64 else 1e-3)
    assert loops_in(program)
