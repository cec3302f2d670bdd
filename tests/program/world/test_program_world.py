"""What a compiled function may do and stay compiled, and what it says of what it may not do."""

from __future__ import annotations

import abc
import collections
import contextlib
import dataclasses
import datetime
import enum
import fractions
import functools
import itertools
import math
import operator
import sys
import time
import types
import typing
import warnings

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.sparse
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

import tape

# ruff: noqa: B009, FURB192, PT031
X = np.arange(1.0, 4.0)
FACTOR = 2.0
NUMBERS, NAMED, ARRAY = [1.0, 2.0], {"a": 1.0}, np.ones(3)


class Color(enum.Enum):
    RED = 1.0


class Level(enum.IntEnum):
    LOW = 2


@dataclasses.dataclass
class Parameters:
    k: float = 1.0


@dataclasses.dataclass(frozen=True)
class Model:
    name: str = "m"
    w: np.ndarray = dataclasses.field(default_factory=lambda: np.ones(3), compare=False)


class Pair(typing.NamedTuple):
    a: float
    b: float


class Base(abc.ABC):
    @abc.abstractmethod
    def apply(self, x): ...


class Layer(Base):
    def __init__(self):
        self.w, self.stream = np.ones(3), sys.stdout

    def apply(self, x, verbose=False):
        if verbose:
            print("applied", file=self.stream)
        return x * self.w

    @property
    def scale(self):
        return 3.0

    @functools.cached_property
    def late(self):
        return 4.0

    @staticmethod
    def twice(x):
        return x * 2

    @classmethod
    def thrice(cls, x):
        return x * 3

    def __repr__(self):
        return f"{time.time()}"


@contextlib.contextmanager
def managed():
    yield 3.0


def uses(x):
    with managed() as k, np.errstate(all="ignore"):
        return np.log(x) * k


def raises(x):
    if x.sum() < 0:
        raise ValueError(f"negative: {x}")
    try:
        return x * NAMED["zz"]
    except KeyError:
        return x


def makes_a_class(x):
    class Own:
        def __init__(self, k):
            self.k = k

        def twice(self):
            return self.k * 2

    return Own(x).twice()


def matches(x, color=Color.RED):
    match color:
        case Color.RED:
            return x
    return x * 2


def imports(x):
    import math as m

    from numpy import cos

    return cos(x) * m.pi


def by_module(x, xp=np):
    return xp.sin(x) * xp.pi


@dataclasses.dataclass(frozen=True)
class Formula:
    of: typing.Callable[..., typing.Any]
    constants: tuple[typing.Any, ...] = ()


def recursive(x, n=3):
    return x if n == 0 else recursive(x * 2, n - 1)


def inner(k):
    return lambda x: x * k


LAYER, PARAMETERS, MODEL, PAIR, SPACE = Layer(), Parameters(), Model(), Pair(1.0, 2.0), types.SimpleNamespace(k=1.0)
SPARSE, SPLINE = scipy.sparse.csr_matrix(np.eye(3)), scipy.interpolate.CubicSpline(np.arange(4.0), np.arange(4.0) ** 2)
COMPILED = tape.compile(lambda x: x * 2)
FORMULA = Formula(lambda xp, x, w: xp.sin(x) * w, (np.arange(3.0),))
ORDINARY = {
    "global": lambda x: x * FACTOR, "list": lambda x: x * NUMBERS[0], "dict": lambda x: x * NAMED["a"],
    "array": lambda x: x * ARRAY, "array alone": lambda x: x * ARRAY.sum(), "enum": lambda x: x * Color.RED.value,
    "enum by value": lambda x: x * Color(1.0).value, "int enum": lambda x: x * Level.LOW,
    "dataclass": lambda x: x * PARAMETERS.k, "frozen": lambda x: x * MODEL.w, "asdict": lambda x: x
    * dataclasses.asdict(PARAMETERS)["k"], "made": lambda x: x * Model("n").w,
    "named tuple": lambda x: x * PAIR.a * PAIR._replace(a=3.0).a * Pair(x, 2.0).b, "namespace": lambda x: x * SPACE.k,
    "method": lambda x: LAYER.apply(x), "property": lambda x: x * LAYER.scale, "cached property": lambda x: x
    * LAYER.late, "static method": lambda x: LAYER.twice(x), "class method": lambda x: LAYER.thrice(x),
    "sparse": lambda x: x * float(SPARSE.sum()), "sparse product": lambda x: x * (SPARSE @ ARRAY),
    "spline": lambda x: x * float(SPLINE(1.5)), "special": lambda x: x * scipy.special.erf(0.5),
    "solve": lambda x: scipy.linalg.solve(np.eye(3), ARRAY) * x, "context": uses, "raises": raises,
    "class inside": makes_a_class, "match": matches, "import": imports, "module": by_module, "recursive": recursive,
    "module of a formula": lambda x: FORMULA.of(np, x, *FORMULA.constants), "closure": inner(2.0),
    "compiled": lambda x: COMPILED(x), "partial": functools.partial(operator.mul, 2.0),
    "reduce": lambda x: functools.reduce(operator.add, [x, x]), "math": lambda x: x * math.sin(1.0),
    "itertools": lambda x: sum(a * b for a, b in itertools.product([1, 2], [3, 4])) * x,
    "generator": lambda x: sum(v for v in (x * k for k in range(3))), "getattr": lambda x: x * getattr(SPACE, "k"),
    "getattr by name": lambda x, n="k": x * getattr(SPACE, n), "hasattr": lambda x: x * hasattr(SPACE, "k"),
    "isinstance": lambda x: x if isinstance(x, (float, np.ndarray)) else x * 2, "norm": lambda x: np.linalg.norm(x),
    "seeded": lambda x: x * np.random.default_rng(3).normal(), "grad": lambda x: tape.func.grad(
        lambda t: (t * t * FACTOR).sum())(x), "text": lambda x: x * float(f"{FACTOR:.2f}"),
    "counter": lambda x: x * collections.Counter("aab")["a"], "fraction": lambda x: x * float(fractions.Fraction(1, 2)),
    "timedelta": lambda x: x * datetime.timedelta(days=1).total_seconds(), "interp": lambda x: np.interp(
        x, [0.0, 5.0], [0.0, 1.0]), "sorted": lambda x: x * sorted(NUMBERS, key=abs)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_programs_stay_compiled(name):
    function = ORDINARY[name]
    fast = tape.compile(function)
    expected = function(X)
    for _ in range(3):
        assert_allclose(fast(X), expected)
    assert not fast.statistics().eager
    assert fast.statistics().replays >= 2


@typing.runtime_checkable
class Marked(typing.Protocol):
    mark: float


@pytest.mark.parametrize(
    "read",
    [
        lambda module, name: getattr(module, name, 2.0),
        lambda module, name: vars(module).get(name, 2.0),
        lambda module, name: 3.0 if isinstance(module, Marked) else 2.0,
        lambda module, name: 3.0 if typing.get_type_hints(Holder(module)) else 2.0,
    ],
    ids=["getattr", "vars", "protocol", "hints"],
)
@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_what_is_read_of_a_module_beside_a_dataclass(read, monkeypatch):
    fast = tape.compile(lambda x, name: x * read([np][0], name) * FORMULA.constants[0])
    for _ in range(3):
        assert_array_equal(fast(X, "mark"), 2 * X * np.arange(3.0))
    monkeypatch.setattr(np, "mark", 3.0, raising=False)
    monkeypatch.setattr(np, "__annotations__", {"mark": float}, raising=False)
    assert_array_equal(fast(X, "mark"), 3 * X * np.arange(3.0))


class Holder:
    """Shows what a module says of its types as its own."""

    def __init__(self, module):
        self.module = module

    @property
    def __annotations__(self):
        return getattr(self.module, "__annotations__", {})


def test_the_warning_names_the_line_and_the_ways_out():
    fast = tape.compile(lambda x: x * time.monotonic())
    with pytest.warns(RuntimeWarning) as caught:
        for _ in range(3):
            fast(X)
    (warning,) = caught
    text = str(warning.message)
    assert "test_program_world.py:" in text
    assert "reads time.monotonic, which is not known to give the same again" in text
    assert "pass what it gives as an argument" in text
    assert "assume_constant" in text


def test_what_is_assumed_to_be_constant_is_not_looked_at():
    count = itertools.count()
    table = functools.lru_cache(None)(lambda: next(count) + 2.0)
    fast = tape.compile(lambda x: x * table(), assume_constant=[table])
    for _ in range(3):
        assert_array_equal(fast(X), 2 * X)
    assert fast.statistics().replays == 3
    held = [2.0]
    fast = tape.compile(assume_constant=[held])(lambda x: x * held[0])
    assert_array_equal(fast(X), 2 * X)
    held[0] = 5.0
    assert_array_equal(fast(X), 2 * X)


def test_what_is_doubtful_counts_only_where_it_is_reached(capsys):
    def f(x, verbose):
        if verbose:
            print("told")
        return x * 2

    fast = tape.compile(f)
    for _ in range(3):
        assert_array_equal(fast(X, False), 2 * X)
    assert fast.statistics().replays == 3
    with pytest.warns(RuntimeWarning, match="reads print"):
        for _ in range(3):
            assert_array_equal(fast(X, True), 2 * X)
    assert capsys.readouterr().out == "told\n" * 3


def test_what_a_function_warns_of_it_warns_of_in_every_call():
    def f(x):
        warnings.warn("told", UserWarning, stacklevel=1)
        return x * 2

    fast = tape.compile(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            fast(X)
    assert [w.category for w in caught].count(UserWarning) == 3


def test_arguments_are_compared_by_what_is_read_of_them():
    fast = tape.compile(lambda m, x: m.w * x)
    for k in (1.0, 5.0, 1.0, 7.0):
        assert_array_equal(fast(Model("m", np.full(3, k)), X), k * X)
    assert len(fast.programs) == 3
    same = Parameters(1.0)
    fast = tape.compile(lambda m, x: m.k * x)
    for k in (1.0, 5.0, 1.0):
        same.k = k
        assert_array_equal(fast(same, X), k * X)
        other = Parameters(k)
        other.unread = object()
        assert_array_equal(fast(other, X), k * X)
    fast = tape.compile(lambda d, x: x / (type(next(iter(d))) is int))
    assert_array_equal(fast({1: 2.0}, X), X)
    with np.errstate(all="ignore"):
        assert np.isinf(fast({1.0: 2.0}, X)).all()


class Zone(datetime.tzinfo):
    def __init__(self, hours):
        self.hours = hours

    def utcoffset(self, when):
        return datetime.timedelta(hours=self.hours)

    def __repr__(self):
        return "Zone()"


NOON = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("read", "one", "other"),
    [
        (lambda v: v.stop, range(0, 3, 2), range(0, 4, 2)),
        (lambda v: v.hour, NOON, NOON.astimezone(datetime.timezone(datetime.timedelta(hours=1)))),
        (lambda v: v.fold, datetime.time(1), datetime.time(1, fold=1)),
        (lambda v: len(v.tzname(None)), *(datetime.timezone(datetime.timedelta(hours=1), n) for n in ("a", "long"))),
        (lambda v: v.__args__[0] is int, int | str, str | int),
        (lambda v: len(str(v)), np.datetime64("2020", "Y"), np.datetime64("2020-01-01", "D")),
        (lambda v: len(v.metadata or ()), np.dtype("f8"), np.dtype("f8", metadata={"a": 1})),
        (lambda v: np.copysign(1.0, v.k), Parameters(np.float64(0.0)), Parameters(np.float64(-0.0))),
        (lambda v: np.copysign(1.0, v.k), Parameters(np.float32(0.0)), Parameters(np.float32(-0.0))),
    ],
    ids=["range", "time zone", "fold", "name of a zone", "union", "unit", "metadata", "zero", "narrow zero"],
)
def test_arguments_that_are_equal_and_not_the_same(read, one, other):
    fast = tape.compile(lambda v, x: x * read(v))
    for v in (one, one, other, other, one):
        assert_array_equal(fast(v, X), X * read(v))
    assert fast.statistics().replays == 5


@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_a_zone_of_the_users_is_asked_anew():
    zones = [Zone(1), Zone(2)]
    zones.append(zones[0])
    fast = tape.compile(lambda v, x: x * v.utcoffset().seconds)
    for zone in zones:
        for _ in range(2):
            assert_array_equal(fast(NOON.replace(tzinfo=zone), X), X * 3600 * zone.hours)
        zones[0].hours = 3


def test_read_only_arrays_are_not_compared():
    large = np.ones(300_000)
    large.flags.writeable = False
    fast = tape.compile(lambda x: x * large.max())
    assert_array_equal(fast(X), X)
    watched = [a for a in fast._surroundings.arrays.values() if a.array is large]
    assert [a.copy for a in watched] == [None]


def test_other_globals_may_change():
    fast = tape.compile(lambda x: x * FACTOR)
    for k in range(600):
        globals()["COUNT"] = k
        assert fast(2.0) == 4.0
    assert fast.statistics().replays == 600
    assert fast._entry is not None
    assert fast._entry((2.0,), {}) == 4.0


def test_the_classes_of_dtypes_are_known():
    compiled = tape.compile(lambda x: x * 2 if isinstance(x.dtype, np.dtypes.Float64DType) else x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert compiled(np.ones(2)).tolist() == [2.0, 2.0]
    assert compiled.programs
