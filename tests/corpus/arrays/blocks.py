"""Pieces of programs as people write them: loops that end on values, exceptions, objects with state, textbook methods.

Holes are those of `grammar`: ``{s}``, ``{v}``, ``{m}``, ``{p}``, ``{i}``, ``{k}``.  Each piece binds whatever else it
names, so that it can stand anywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from ..tree import Statement
from .array_blocks import ARRAYS, LINES, METHODS, NUMBERS
from .wide_blocks import ARGUMENTS, INDEXING, KINDS_OF_NUMBERS, MEMORY, REDUCING

LOOPS = """
for j in range(3):
    if {v}[j] > {s}:
        break
    w0[j] += {s}
else:
    s1 = s1 + {s}

for j, e in enumerate({v}):
    if e < {p}:
        continue
    w0[j] = e * {s}

t = {s} * {s} + 1.0
for j in range(12):
    old, t = t, 0.5 * (t + (1.5 + {s} ** 2) / t)
    if abs(t - old) < 1e-3:
        break
s1 = t + j

while True:
    s0 = s0 * 0.5
    w0[0] += s0
    if not abs(s0) > 0.25:
        break

for row, e in zip(w1, {v}):
    row *= e
    row[{k}] = {s}

for row in w1.T:
    row -= {v}.mean()

for part in np.split(w1, 3):
    part += {v}

for j, e in enumerate({m}.flat):
    w1.flat[j] += e * {s}

for (j, k), e in np.ndenumerate({m}):
    w1[j, k] += e * {v}[k]

for j, k in np.ndindex(2, 3):
    w1[j, k] = w1[j, k] * 0.5 + {v}[j] * {m}[k, j]

for j in reversed(range(2)):
    w0[j] = w0[j + 1] + {v}[j] * {s}

for a0, b0 in itertools.combinations({v}, 2):
    s1 = s1 + np.exp(-(a0 - b0) ** 2)

for j, k in itertools.product(range(2), range(1, 3)):
    w1[k, j] -= w1[j, k] * {s}

it = iter({v})
w0[0] = next(it)
for e in it:
    w0[1:] += e

for j in sorted(range(3), key=lambda k: {v}[k]):
    w0[j] = s1
    s1 = s1 * 0.5 + {v}[j]
"""

CONTROL = """
if {s} > {s} and {p} > 0:
    return v0 * {s} + w0

if ({v} < {p}).all():
    return {'early': w0 + v1, 'late': s0}

try:
    w0[{i} + 1] = {s}
except IndexError:
    w0[:2] = {v}[1:]

try:
    s1 = {v}[int({s} > 0) + 2] * {s}
except IndexError as error:
    s1 = {v}[0] * len(error.args)

try:
    if {s} > {p}:
        raise ValueError({s})
    s1 = s1 * 2
except ValueError as error:
    s1 = error.args[0] * {s}
finally:
    w0[{k}] = s1

try:
    w0[:2] = {v}
except ValueError:
    w0[:2] = {v}[1:]

try:
    v1 = np.linalg.solve(np.zeros((3, 3)), {v})
except np.linalg.LinAlgError:
    v1 = {v} * 2

with np.errstate(divide='ignore', invalid='ignore'):
    w0 = np.where({v} > 0, np.log(np.abs({v}) + 0.1), 0.0)

match int({s} > 0):
    case 0:
        w0[0] = {s}
    case _:
        w0[1:] *= {s}

assert np.isfinite({s}), 'finite'
s1 = s1 if isinstance({s}, float) and np.ndim({s}) == 0 else 0.0

if type({v}) is np.ndarray and np.isscalar({s}):
    w0 = w0 + {v}
"""

FUNCTIONS = """
def rec(n, t):
    return t if n == 0 else rec(n - 1, np.sin(t) * {s} + w0)
v1 = rec(3, {v})

def with_default(t, c={s}, *rest, scale=2.0, **named):
    return t * c * scale + sum(rest) + named.get('e', 0.0)
v1 = with_default({v}) + with_default({v}, 0.5, {s}, scale={s}, e={s})

memo = {}
def fib(n):
    if n not in memo:
        memo[n] = {s} if n < 2 else fib(n - 1) * 0.5 + fib(n - 2)
    return memo[n]
s1 = fib(4)

made = [lambda t, j=j: t * j + {s} for j in range(3)]
w0[0] = made[1]({s}) + made[2](w0[1])

def outer(t):
    part = np.zeros(2)
    def inner(j):
        part[j] += t[j] * {s}
        return part
    inner(0)
    return inner(1)
w0[1:] = outer({v})

half = functools.partial(np.multiply, 0.5)
half({v}, out=w0)

def steps():
    got = yield {s}
    while True:
        got = yield got * {s}
g = steps()
next(g)
s1 = g.send({s}) + g.send(w0[{k}])
"""

OBJECTS = """
class Point:
    count = 0
    def __init__(self, t):
        self.t = t
    @property
    def size(self):
        return np.sqrt((self.t ** 2).sum() + 1)
    def __add__(self, other):
        Point.count += 1
        return Point(self.t + other.t)
    def __getitem__(self, j):
        return self.t[j]
    def __call__(self, e):
        self.t = self.t * e
        return self
p = Point({v}) + Point({v})
s1 = p({s}).size * p[{k}] + Point.count

class Base:
    scale = 2.0
    def move(self, t):
        return t * self.scale
class Derived(Base):
    def move(self, t):
        self.scale = {s}
        return super().move(t) + {s}
v1 = Derived().move({v})

class Rule:
    def __enter__(self):
        self.kept = w0.copy()
        return self
    def __exit__(self, *what):
        w0[:] = w0 + self.kept * {s}
with Rule() as rule:
    w0 += {v}

@dataclasses.dataclass
class State:
    y: np.ndarray
    t: float = 0.0
state = State({v}.copy())
for j in range(2):
    state.y[j] += {s} * state.t
    state.t += 0.5
    state = dataclasses.replace(state, y=state.y * 2)
v1 = state.y

Pair = collections.namedtuple('Pair', 'y n')
pair = Pair({v}, 2)._replace(y={v} * {s})
s1 = pair.y.sum() * pair.n

d0 = {'a': {s}, 'b': {v}}
d0['a'] += {s}
d0.setdefault('c', []).append({s})
s1 = d0['a'] * d0['b'].sum() + d0['c'][0] + d0.get('e', 1.0)

queue = collections.deque([{s}, {s}], maxlen=2)
queue.append({s})
s1 = queue[0] * queue.pop()

first, *others = {v}
s1 = first * sum(others)
e0, e1, e2 = {v}
w0[:] = e2, e0 * {s}, e1

l0 = [{s}, {s}, {s}]
l0.sort()
l0[1:], l0[0] = l0[:2], l0[-1]
s1 = l0[0] * l0[1] - l0.pop()

rows = [row.copy() for row in {m}]
rows[0][1] = {s}
m1 = np.array(rows) if (total := sum(map(np.sum, rows))) > {s} else np.stack(rows) * total
"""


def pieces(text: str) -> list[tuple[str, ...]]:
    """The pieces of a text, which are parted by empty lines."""
    return [tuple(piece.split("\n")) for piece in text.strip("\n").split("\n\n")]


def parsed(lines: tuple[str, ...], filled: Callable[[str], str]) -> tuple[Statement, ...]:
    """Lines with their indentation as statements, with holes filled."""
    found: list[Statement] = []
    while lines:
        inner = next((n for n, line in enumerate(lines[1:], 1) if not line.startswith("    ")), len(lines))
        body = parsed(tuple(line[4:] for line in lines[1:inner]), filled)
        found.append(Statement(filled(lines[0]), body))
        lines = lines[inner:]
    return tuple(found)


BLOCKS = [piece for text in (LOOPS, CONTROL, FUNCTIONS, OBJECTS, ARRAYS, METHODS) for piece in pieces(text)]
WIDE = [piece for text in (KINDS_OF_NUMBERS, MEMORY, INDEXING, REDUCING, ARGUMENTS) for piece in pieces(text)]
ALONE = [(line,) for line in LINES.strip().splitlines()]
CONVERTING = [(line,) for line in NUMBERS.strip().splitlines()]
"""Lines whose numbers are Python's."""
