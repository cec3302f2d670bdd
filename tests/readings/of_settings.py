"""What all of Python, NumPy or this library was told, and objects that go on after they were asked."""

from __future__ import annotations

import codecs
import collections
import copy
import copyreg
import ctypes
import fractions
import functools
import mmap
import operator
import sys
import types
import typing
import warnings
import weakref

import numpy as np
import scipy.special

import tape

from .kit import READINGS, reading


@reading
def copied_as_copyreg_says():
    class Own:
        k = 2.0

    def made():
        own = Own()
        own.k = 5.0
        return own

    own = Own()
    return (lambda x: x * copy.copy(own).k), lambda: copyreg.pickle(Own, lambda _: (made, ()))


@reading
def a_copy_of_its_own():
    own, other = types.SimpleNamespace(k=2.0), types.SimpleNamespace(k=5.0)
    kind = type("Own", (), {"k": 2.0})
    thing = kind()
    return (lambda x: x * copy.copy(thing).k * own.k), lambda: setattr(kind, "__copy__", lambda _: other)


@reading
def print_options_of_tensors():
    w = tape.tensor([1.23456789])
    return (lambda x: x * len(repr(w))), lambda: tape.set_printoptions(precision=2)


@reading
def how_masked_elements_are_printed():
    masked = np.ma.array([1.0, 2.0], mask=[True, False])
    return (lambda x: x * len(str(masked))), lambda: np.ma.masked_print_option.set_display("nothing")


@reading
def print_options_of_polynomials():
    p = np.polynomial.Polynomial([1.0, 2.0, 3.0])
    return (lambda x: x * len(str(p))), lambda: np.polynomial.set_default_printstyle("ascii")


@reading
def warning_that_becomes_an_error():
    def f(x):
        try:
            warnings.warn("of a reading", stacklevel=1)
        except UserWarning:
            return x * 5.0
        return x

    return f, lambda: warnings.filterwarnings("error", "of a reading")


@reading
def released_memory():
    view = memoryview(bytearray(b"\2\3"))

    def f(x):
        try:
            return x * view[0]
        except ValueError:
            return x * 5.0

    return f, view.release


@reading
def number_of_c():
    number = ctypes.c_double(2.0)
    return (lambda x: x * number.value), lambda: setattr(number, "value", 5.0)


@reading
def array_on_memory_of_c():
    numbers = (ctypes.c_double * 3)(2.0, 2.0, 2.0)
    array = np.ctypeslib.as_array(numbers)
    array.flags.writeable = False
    return (lambda x: x * array), lambda: operator.setitem(numbers, 0, 5.0)


@reading
def array_on_a_map_of_memory():
    memory = mmap.mmap(-1, 24)
    memory[:] = np.full(3, 2.0).tobytes()
    array = np.frombuffer(memory)
    return (lambda x: x * array), lambda: operator.setitem(memory, slice(0, 8), np.full(1, 5.0).tobytes())


@reading
def weakly_held():
    kind = type("Own", (), {})
    held = [kind()]
    seen = weakref.ref(held[0])
    return (lambda x: x * (2.0 if seen() is not None else 5.0)), held.clear


@reading
def how_many_are_weakly_held():
    kind = type("Own", (), {})
    held = [kind(), kind()]
    seen = weakref.WeakSet(held)
    return (lambda x: x * len(seen)), held.clear


@reading
def bases_of_an_exception():
    kind = type("Own", (ValueError,), {})

    def f(x):
        try:
            raise kind
        except KeyError:
            return x * 5.0
        except ValueError:
            return x * 2.0

    return f, lambda: setattr(kind, "__bases__", (KeyError,))


@reading
def operator_of_the_other_operand():
    left, right = type("Left", (), {}), type("Right", (), {})
    a, b = left(), right()

    def f(x):
        try:
            return x * (a + b)
        except TypeError:
            return x * 2.0

    return f, lambda: setattr(right, "__radd__", lambda *_: 5.0)


@reading
def no_hash_any_more():
    kind = type("Own", (), {})
    own = kind()

    def f(x):
        try:
            return x * len({own})
        except TypeError:
            return x * 5.0

    return f, lambda: setattr(kind, "__hash__", None)


@reading
def slot_that_becomes_a_property():
    kind = type("Own", (), {"__slots__": ("k",)})
    own = kind()
    own.k = 2.0
    return (lambda x: x * own.k), lambda: setattr(kind, "k", property(lambda _: 5.0))


@reading
def order_of_bases():
    first, second = type("First", (), {"k": 2.0}), type("Second", (), {"k": 5.0})
    kind = type("Own", (first, second), {})
    own = kind()
    return (lambda x: x * own.k), lambda: setattr(kind, "__bases__", (second, first))


@reading
def names_of_what_is_matched():
    class Pair:
        __match_args__ = ("a", "b")
        a, b = 2.0, 5.0

    pair = Pair()

    def f(x):
        match pair:
            case Pair(value):
                return x * value

    return f, lambda: setattr(Pair, "__match_args__", ("b", "a"))


@reading
def more_of_a_mapping_that_is_matched():
    settings = {"k": 2.0}

    def f(x):
        match settings:
            case {"more": value}:
                return x * value
            case {"k": value}:
                return x * value

    return f, lambda: settings.update(more=5.0)


@reading
def default_of_a_named_tuple():
    kind = collections.namedtuple("Pair", "a b", defaults=(2.0,))
    return (lambda x: x * kind(1.0).b), lambda: setattr(kind.__new__, "__defaults__", (5.0,))


@reading
def field_of_a_named_tuple():
    class Pair(typing.NamedTuple):
        a: float = 2.0

    pair = Pair()
    return (lambda x: x * pair.a), lambda: setattr(Pair, "a", 5.0)


@reading
def numerator_of_a_fraction():
    half = fractions.Fraction(1, 2)
    return (lambda x: x * float(half)), lambda: setattr(half, "_numerator", 5)


@reading
def state_of_a_partial():
    times = functools.partial(operator.mul, 2.0)
    return (lambda x: times(x)), lambda: times.__setstate__((operator.mul, (5.0,), {}, None))


@reading
def builtins_of_its_own():
    space = {"__builtins__": {"abs": abs}}
    exec("def f(x): return x * abs(-2.0)", space)
    return space["f"], lambda: space["__builtins__"].update(abs=lambda _: 5.0)


@reading
def cell_without_content():
    k = 2.0

    def inner():
        return k

    def empty():
        nonlocal k
        k = 5.0
        del k

    def f(x):
        try:
            return x * inner()
        except NameError:
            return x * 5.0

    return f, empty


@reading
def another_interpreter_limit():
    return (lambda x: x * sys.getrecursionlimit()), lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 7)


BEFORE = scipy.special.seterr
"""Known here before anything is compiled."""


def failing(x):
    try:
        return x * (2.0 if scipy.special.gammaln(0.0) > 0 else 3.0)
    except scipy.special.SpecialFunctionError:
        return x * 5.0


@reading
def errors_of_special_functions():
    return failing, lambda: scipy.special.seterr(singular="raise")


@reading
def errors_of_special_functions_by_another_name():
    return failing, lambda: BEFORE(singular="raise")


@reading
def errors_of_special_functions_by_a_context():
    entered = []
    return failing, lambda: entered.append(scipy.special.errstate(all="raise").__enter__())


def of_texts(name, write):
    """Register what needs more digits than are allowed later."""

    def make():
        def f(x):
            try:
                return x * (2.0 if write() else 3.0)
            except ValueError:
                return x * 5.0

        return f, lambda: sys.set_int_max_str_digits(700)

    READINGS[name] = make


MANY = 10**1000
of_texts("digits_of_a_text", lambda: str(MANY))
of_texts("digits_in_a_text", lambda: f"{MANY}")
of_texts("digits_of_a_format", lambda: "%d" % MANY)  # noqa: UP031
of_texts("digits_that_are_read", lambda: int("9" * 1000))


def with_handler(name, code):
    """Register what turns texts into bytes or back, with an error handler of the user's."""

    def make():
        codecs.register_error(f"readings.{name}", lambda error: ("?", error.end))
        change = lambda: codecs.register_error(f"readings.{name}", lambda error: ("????", error.end))  # noqa: E731
        return (lambda x: x * len(code(f"readings.{name}"))), change

    READINGS[name] = make


with_handler("handler_of_errors", lambda errors: "aé".encode("ascii", errors))
with_handler("handler_of_errors_of_bytes", lambda errors: b"a\xff".decode("ascii", errors))
with_handler("handler_of_errors_of_a_class", lambda errors: str(b"a\xff", "ascii", errors))
