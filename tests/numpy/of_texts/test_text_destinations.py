"""Where texts of recorded numbers go: to people, or where it is not seen who reads a number there."""

from __future__ import annotations

import contextlib
import fractions
import logging
import re
import sqlite3
import sys
import warnings
from decimal import Decimal

import numpy as np
import pytest
from common.texts_told import X, is_told_of, lengthened

import tape
import tape.numpy
from tape.numpy.arrays.leaving import _told

# ruff: noqa: PT031, UP031, UP032
COMPOSED = {
    "formatted": lambda v: float("%.17g" % v), "put together": lambda v: float(f"0{v:.17g}"),
    "joined": lambda v: float("".join([str(v)])), "encoded": lambda v: float(str(v).encode()),
    "decimal": lambda v: float(Decimal(str(v))), "complex": lambda v: complex(str(v)).real,
    "searched": lambda v: float(re.sub("a", "", f"a{v}")), "lengthened": lambda v: lengthened("0" + str(v) + "0"),
    "filled": lambda v: lengthened(str(v).zfill(30)),
}  # fmt: skip


to_number = float


def parsed(text):
    """A parser of the user's own."""
    whole, _, fraction = text.partition(".")
    return int(whole + fraction) / 10 ** len(fraction)


def executed(text):
    names = {"text": text}
    exec("number = float(text)", names)
    return names["number"]


def by_variable(number):
    text = f"0{number}"
    return to_number(text)


def by_list(numbers):
    lines = [f"0{v}" for v in numbers]
    return sum(map(to_number, lines))


class Kept:
    def __init__(self, number):
        self.text = f"{number:.9f}"

    def __repr__(self):
        return self.text


def selected(number):
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        return base.execute(f"select 1 * {number}").fetchone()[0]


def written_down(number):
    return f"{number:.6f}"


UNSEEN = {
    "an alias": lambda x: to_number(f"0{x[0]}"), "an alias of a text": lambda x: to_number(str(x[0])),
    "executed": lambda x: executed(str(x[0])), "evaluated": lambda x: eval("float(t)", {"t": f"0{x[0]}"}),
    "a parser": lambda x: parsed(f"0{x[0]}"), "a parser by name": lambda x: parsed(text=f"{x[0]:.9f}"),
    "decimal": lambda x: float(decimals(f"{x[0]}")), "sql": lambda x: selected(x[0]),
    "a variable": lambda x: by_variable(x[0]), "a list": by_list, "an attribute": lambda x: to_number(Kept(x[0]).text),
    "a representation": lambda x: to_number(repr(Kept(x[0]))), "returned": lambda x: to_number(written_down(x[0])),
    "a fraction": lambda x: float(fractions.Fraction(written_down(x[0]))),
    "mapped": lambda x: sum(map(to_number, map(written_down, x))),
    "formatted": lambda x: to_number("0%.17g" % x[0]), "a whole number": lambda x: int("0" + f"{x[1]:.0f}"),
    "an array": lambda x: to_number(np.array2string(x[0])), "a dict": lambda x: to_number({"a": f"0{x[0]}"}["a"]),
}  # fmt: skip


def decimals(text):
    return Decimal(text)


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("way", UNSEEN)
def test_a_text_that_goes_where_it_is_not_seen_is_told_of(way):
    is_told_of(UNSEEN[way])


class Shown:
    def __init__(self, number):
        self.number = number

    def __repr__(self):
        return f"Shown({self.number:.3f})"

    def describe(self):
        text = "number: "
        text += str(self.number)
        return text + "."


def raised(x):
    with contextlib.suppress(ValueError):
        message = f"at {x[0]}: {x}"
        raise ValueError(message)
    with contextlib.suppress(KeyError):
        raise KeyError(f"{x[0]:.3f}" + "!")
    assert x[0] < 100, f"too large: {x}"


def with_a_bar(x):
    width = len(f"{x[0]:.2f}")
    print("-" * width, f"{x[0]!r:>{width}}", sep="\n")


def dropped(x):
    str(x), repr(x[0])
    f"{x[0]:.3f}"


TO_PEOPLE = {
    "printed": lambda x: print(x, x[0], f"{x[0]:.2f}", "%.3f" % x[1], "{} {:.2f}".format(x, x[0]), "%r" % x),
    "to the terminal": lambda x: print(f"at {x[0]}", x, file=sys.stderr),
    "to the screen": lambda x: (sys.stdout.write(f"{x[0]}\n"), sys.stderr.writelines([f"{x[0]}", "\n"])),
    "unpacked": lambda x: print(*[f"{v:.1f}" for v in x], sep=","),
    "joined": lambda x: print(", ".join(written_down(v) for v in x), " ".join([f"{v}" for v in x]), *map(str, x)),
    "logged": lambda x: (logging.getLogger("a").info("%s %f", x, x[0]), logging.getLogger("a").error(f"at {x[0]}")),
    "raised": raised, "of objects": lambda x: print(Shown(x[0]), repr(Shown(x[1])), f"{Shown(x[0])}"),
    "described": lambda x: print(Shown(x[0]).describe().strip().upper()),
    "dropped": dropped,
    "compared": lambda x: f"{x[0]:.1f}" == "1.2" or "nan" in str(x), "NumPy's": lambda x: print(np.array2string(x)),
    "warned of": lambda x: warnings.warn(f"at {x[0]}", DeprecationWarning, stacklevel=2), "a bar": with_a_bar,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:at :DeprecationWarning")
@pytest.mark.parametrize("transformation", [tape.func.grad, tape.func.jacfwd])
@pytest.mark.parametrize("way", TO_PEOPLE)
def test_texts_for_people_are_not_told_of(way, transformation, capsys):
    _told.clear()
    transformation(lambda x: (TO_PEOPLE[way](x), (x * x).sum())[1])(X)


@pytest.mark.parametrize("read", COMPOSED.values(), ids=COMPOSED)
def test_a_number_that_is_read_from_a_text_it_was_put_into_is_told_once(read):
    _told.clear()
    x = np.array([1.5, 2.0])
    with pytest.warns(UserWarning, match="the text of a value that carries a gradient") as caught:
        for _ in range(2):
            np.testing.assert_array_equal(tape.func.grad(lambda x: read(x[0]) * x[1])(x), [0.0, 1.5])
    assert len(caught) == 1


def test_a_text_for_people_is_not_told(capsys):
    def function(x):
        print(f"{x[0]:.3f}", "%.2f" % x[1], "{:g}".format(x[0]))
        return (x * x).sum()

    np.testing.assert_array_equal(tape.func.grad(function)(np.array([1.5, 2.0])), [3.0, 4.0])
    assert capsys.readouterr().out == "1.500 2.00 1.5\n"
