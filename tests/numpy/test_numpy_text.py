"""Numbers as NumPy's scalars have them, and as text: what is printed, and what is read back from it."""

from __future__ import annotations

import ast
import configparser
import contextlib
import csv
import fractions
import io
import json
import locale
import logging
import pickle
import re
import sqlite3
import string
import sys
import urllib.parse
import warnings
from decimal import Decimal

import numpy as np
import pytest

import tape
import tape.numpy
from ops.core.batching import LanesDiffer
from tape.numpy.arrays.leaving import _told

# ruff: noqa: PT031, UP031, UP032
X = np.array([1.25, 2.0])
SCALARS = [
    np.float64(1.5), np.float64(2.0), np.float64(np.inf), np.float32(0.5), np.float16(3.0), np.int64(5), np.uint8(7),
    np.bool_(True), np.complex128(1.5 + 2j),
]  # fmt: skip
APART = {"data", "dumps", "getfield", "view", "reshape", "newbyteorder", "dump", "tofile"}
"""Those that need arguments, or are not equal to themselves."""
DEFECTS = {("clip", "?")}  # NumPy has no clip of truth values
NAMES = sorted({name for x in SCALARS for name in dir(x) if not name.startswith("_")} - APART)


def outcome(x, name):
    try:
        found = getattr(x, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = found() if callable(found) else found
        return "value", np.asarray(found).tolist() if isinstance(found, (np.ndarray, np.generic)) else found
    except AttributeError:
        return "missing", None
    except Exception as error:
        return "raised", isinstance(error, (TypeError, ValueError, OverflowError))


@pytest.mark.parametrize("name", NAMES)
def test_a_number_has_what_numpys_scalars_have(name):
    for x in SCALARS:
        if (name, x.dtype.char) in DEFECTS:
            continue
        (how, expected), (found_how, found) = outcome(x, name), outcome(tape.numpy.array(np.asarray(x))[()], name)
        assert how == found_how, x
        if name not in ("flags", "flat", "base", "T", "device"):
            np.testing.assert_equal(found, expected)


def test_numbers_are_pickled_as_numbers():
    found = pickle.loads(pickle.dumps(tape.numpy.array(X)[0]))
    assert type(found) is np.float64
    assert found == 1.25
    assert type(pickle.loads(tape.numpy.array(X)[1].dumps())) is np.float64


@pytest.mark.parametrize("method", ["hex", "as_integer_ratio"])
def test_what_says_exactly_what_a_number_is_has_no_derivative(method):
    with pytest.raises(TypeError, match=method):
        tape.func.grad(lambda x: x[0] * len(getattr(x[0], method)()))(X)


def test_a_whole_number_is_known_by_its_values_alone():
    function = tape.compile(tape.func.grad(lambda x: x[0] ** 2 if x[0].is_integer() else x[0] ** 3))
    for first in (1.25, 1.5, 2.0, 4.0):
        expected = 2 * first if first == round(first) else 3 * first**2
        np.testing.assert_allclose(function(np.array([first, 0.0])), [expected, 0.0])


def printing(x, lines):
    lines += [f"{x[0]:.2f}", str(x[0]), repr(x[1]), f"{x}", str(x[0]).strip(), f"{x[0]!r:>20}", format(x[1], ".1f")]
    lines.append(", ".join([str(v) for v in x]))
    return (x * x).sum()


@pytest.mark.filterwarnings("ignore:A text of a value that carries a gradient")
def test_printing_is_numpys_under_every_transform():
    expected = []
    printing(X, expected)
    for transformation in (tape.func.grad, tape.func.jacfwd, tape.func.hessian):
        lines = []
        transformation(lambda x: printing(x, lines))(X)  # noqa: B023
        assert lines[:8] == expected
    lines = []
    tape.vmap(lambda x: printing(x, lines))(np.stack([X, X + 1]))
    assert lines[:2] == ["batched(1.25, 2.25)", "batched(1.25, 2.25)"]


READ_BACK = {
    "part of an array's": lambda x: float(repr(x)[7:11]),
    "f-string": lambda x: float(f"{x[0]:.3f}"), "str": lambda x: float(str(x[0])), "repr": lambda x: float(f"{x[0]}"),
    "stripped": lambda x: float(str(x[0]).strip().split()[0]), "int": lambda x: int(f"{x[1]:.0f}"),
    "numpy": lambda x: np.float64(str(x[0])),
}  # fmt: skip


def is_told_of(read):
    """What reads a text is warned of, in every mode, eagerly and compiled."""

    def program(x):
        return read(x) * x.sum()

    for transformation in (tape.func.grad, lambda f: tape.compile(tape.func.grad(f)), tape.func.jacfwd):
        _told.clear()
        with pytest.warns(UserWarning, match="makes a plain number of the text of a value that carries a gradient"):
            transformation(program)(X)


@pytest.mark.parametrize("way", READ_BACK)
def test_a_number_that_is_read_back_is_warned_of(way):
    is_told_of(READ_BACK[way])


@pytest.mark.parametrize("write", [np.array2string, np.array_str, np.array_repr])
def test_numpys_texts_are_texts_of_what_carries_a_gradient(write):
    _told.clear()
    with pytest.warns(UserWarning, match="makes a plain number of the text of a value that carries a gradient"):
        tape.func.grad(lambda x: float(write(x).strip("ary([").split()[0].strip(",")) * x.sum())(X)


PARSED = {
    "literal_eval": lambda x: ast.literal_eval(f"({x[0]}, 1)")[0],
    "json": lambda x: json.loads(f'{{"a": [{x[0]}, 2]}}')["a"][0],
    "eval": lambda x: eval(repr(x).replace("array", ""))[0],
    "fromstring": lambda x: np.fromstring(str(x)[1:-1], sep=" ").sum(),
    "loadtxt": lambda x: np.loadtxt([" ".join(map(str, x))]).sum(),
    "loadtxt of a file": lambda x: np.loadtxt(io.StringIO(" ".join(map(str, x)))).sum(),
    "genfromtxt": lambda x: np.genfromtxt(io.StringIO(f"{x[0]:.3f},{x[1]:.3f}"), delimiter=",").sum(),
    "json of a file": lambda x: json.load(io.StringIO("[" + ",".join(map(str, x)) + "]"))[0],
    "array of texts": lambda x: np.array(list(map(str, x))).astype(float).sum(),
    "array of parts": lambda x: np.array(" ".join([str(v) for v in x]).split()).astype("f4").sum(),
    "array of texts that were changed": lambda x: np.strings.strip(np.array([f" {v} " for v in x])).astype(float).sum(),
    "array in a dtype": lambda x: np.asarray(",".join([f"{v}" for v in x]).split(","), dtype=float).sum(),
    "full": lambda x: np.full(2, str(x[0]), float).sum(),
    "joined": lambda x: sum(float(t) for t in " ".join(map(str, x)).split()),
    "mapped": lambda x: sum(map(float, ";".join([f"{v:.4f}" for v in x]).split(";"))),
    "formatted": lambda x: float("{[0]}".format(x)), "complex": lambda x: complex("+".join([str(x[0]), "2j"])).real,
    "printed": lambda x: float(printed(x[0])), "found": lambda x: float(re.findall(r"[\d.]+", str(x))[0]),
    "bytes": lambda x: float(" ".join([str(x[0])]).encode()), "substituted": lambda x: float(NAMED.substitute(x=x[0])),
    "row": lambda x: float(next(csv.reader([",".join(map(str, x))]))[0]),
    "row of numbers": lambda x: next(csv.reader([",".join(map(str, x))], quoting=csv.QUOTE_NONNUMERIC))[0],
    "vectorised": lambda x: np.vectorize(str)(x).astype(float).sum(),
    "vectorised matrix": lambda x: np.vectorize(repr)(np.outer(x, x)).astype(float).sum(),
    "vectorised rows": lambda x: np.vectorize(texts, signature="(n)->(n)")(np.outer(x, x)).astype(float).sum(),
    "along an axis": lambda x: np.apply_along_axis(texts, 0, np.outer(x, x)).astype(float).sum(),
    "modulo": lambda x: np.char.mod("%f", x).astype(float).sum(),
    "modulo of one": lambda x: float(np.strings.mod("%.3e", x)[0]),
    "rounded by C": lambda x: lengthened("%.4f" % (x[0] / 3)), "a log": lambda x: float(logged("%f", x[0] / 7)),
    "a place's": lambda x: float(locale.str(x[0] / 3)), "a place's own": lambda x: locale.atof(locale.str(x[0])),
    "a file of settings": lambda x: settings(x[0]).getfloat("part", "value"),
    "a part of settings": lambda x: settings(x[0])["part"].getfloat("value"),
    "json by name": lambda x: json.loads(s=f"[{x[0]}]")[0],
    "json of a named file": lambda x: json.load(fp=file_of(x[0]))[0],
    "decoded": lambda x: json.JSONDecoder().decode(f"[{x[0]}]")[0],
    "decoded raw": lambda x: json.JSONDecoder().raw_decode(f"{x[0]} 1")[0],
    "a tree": lambda x: ast.parse(f"{x[0]}").body[0].value.value,
    "a query": lambda x: float(urllib.parse.parse_qs(urllib.parse.urlencode({"a": x[0]}))["a"][0]),
    "an expression": lambda x: np.fromregex(io.StringIO(str(x[0])), r"([.\d]+)", [("a", float)])["a"][0],
}  # fmt: skip


def file_of(number):
    return io.StringIO(f"[{number}]")


def texts(row):
    return np.array([str(v) for v in row])


def logged(text, *numbers):
    return logging.LogRecord("name", logging.INFO, "file", 1, text, numbers, None).getMessage()


def settings(number):
    found = configparser.ConfigParser()
    found.read_string(f"[part]\nvalue={number}")
    return found


NAMED = string.Template("$x")


def printed(x):
    file = io.StringIO()
    print(x, file=file)
    return file.getvalue()


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("way", PARSED)
def test_numbers_that_are_parsed_from_the_text_of_what_carries_a_gradient_are_warned_of(way):
    is_told_of(PARSED[way])


def test_what_reads_numbers_is_otherwise_what_it_is():
    """`float` and `complex`, where texts are written as well, and a number that was printed stands elsewhere too."""
    kinds = []

    def program(x):
        lines = [f"{x[0]:.2f}", " ".join(map(str, x)), "%s" % x[1]]
        y = np.array([1.25, 0.5]) + np.zeros(2, float) + np.ones(2).astype(float) + np.array(["3.5"], dtype=float)
        kinds.append((isinstance(y[0], float), isinstance("", (int, float)), float("0.25"), complex("2j")))
        kinds.append((float(len(lines)), y.dtype == float, float.fromhex("0x1p0"), np.array(["1.25"]).dtype.kind))
        return (y[0] * x * float("0.5")).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(tape.func.grad(program)(X), [2.875, 2.875])
    assert kinds == [(True, False, 0.25, 2j), (3.0, True, 1.0, "U")]


def test_other_numbers_are_parsed_in_silence():
    def program(x):
        str(x), repr(x[0])
        rate, scope = json.loads("[0.125, 7]"), {"z": 2.0, "x": x}
        return eval("(x * 3.0).sum()") * rate[0] + eval("z * x[0]", scope) + ast.literal_eval("4.5") * x[1]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(tape.func.grad(program)(X), [2.375, 4.875])
    json.loads(str(X[0]))  # after it nothing is remembered


@pytest.mark.filterwarnings("ignore:A text of a value that carries a gradient")
@pytest.mark.parametrize("shape", [(4,), (2, 2), (2, 1, 2)])
@pytest.mark.parametrize("write", [str, repr, lambda v: f"{v:.9f}".encode()])
def test_vectorised_texts_are_whole(write, shape):
    held, x = [], (np.arange(4.0) + 0.125).reshape(shape)
    tape.func.grad(lambda x: (held.append(np.vectorize(write)(x)), x.sum())[1])(x)
    expected = np.vectorize(write)(x)
    assert (held[0].tolist(), held[0].dtype) == (expected.tolist(), expected.dtype)


def test_numbers_that_are_near_those_that_c_code_has_written_are_parsed_in_silence():
    def program(x):
        print("%.6f" % x[0])
        return x.sum() * (float("1.24") + float("1.3") + float("1.2500001"))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tape.func.grad(program)(X)


def test_a_comparison_of_what_is_read_back_is_not():
    def program(x):
        return x.sum() ** 2 if float(f"{x[0]:.3f}") > 1 else x.sum()

    for transformation in (tape.func.grad, tape.func.jacfwd):
        np.testing.assert_allclose(transformation(program)(X), [6.5, 6.5])


@pytest.mark.filterwarnings("ignore:A text of a value that carries a gradient")
def test_text_is_text():
    held = []
    tape.func.grad(lambda x: (held.append(str(x[0])), x.sum())[1])(X)
    (text,) = held
    assert isinstance(text, str)
    assert {"1.25": 1}[text] == 1
    assert (text, text + "", text[:1], text.upper()) == ("1.25", "1.25", "1", "1.25")
    assert type(pickle.loads(pickle.dumps(text))) is str


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


def lengthened(text):
    """What was put together before it is read."""
    return float(text)


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


@pytest.mark.parametrize("decide", [
    lambda x: {"0": x[1], "1": x[2]}.get(f"{x[0]:.0f}", x[0]),
    lambda x: x[1] if str(x[0]).strip() == "0.3" else x[2],
    lambda x: x[1] if repr(x[0]) in ("0.3", "0.4") else x[2],
    lambda x: x[1] if str(x[0]) != "0.3" else x[2],
])  # fmt: skip
def test_a_text_of_several_lanes_decides_nothing(decide):
    with pytest.raises(LanesDiffer, match="the text of a value that differs from lane to lane"):
        tape.func.vmap(decide)(np.array([[0.3, 1.0, 2.0], [1.2, 1.0, 2.0]]))


OF_A_TEXT = {
    "length": lambda x: len(str(x)), "length of a part": lambda x: len("%s" % x[0]),
    "characters": lambda x: sum(map(ord, f"{x[0]:.1f}")), "a number": lambda x: float(f"{x[0]:.2f}"),
    "an integer": lambda x: int(f"{x[0]:.0f}"), "contains": lambda x: "1" in str(x[0]),
    "begins with": lambda x: str(x[0]).startswith("0"), "order": lambda x: f"{x[0]:.1f}" < "5",
    "first": lambda x: f"{x[0]:.1f}"[0] == "0", "larger": lambda x: max(f"{x[0]:.1f}", "5") == "5",
    "a key": lambda x: len({f"{x[0]:.1f}": 1}), "count": lambda x: repr(x).count("1"),
    "bytes": lambda x: f"{x[0]:.1f}".encode()[0], "part": lambda x: f"{x[0]:.1f}".split(".")[0] == "0",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:float.. makes a plain number of the text")
@pytest.mark.parametrize("told", OF_A_TEXT.values(), ids=OF_A_TEXT)
def test_nothing_is_read_from_a_text_that_differs_from_lane_to_lane(told):
    x = np.array([[0.125, 2.0], [10.5, 3.0]])
    with pytest.raises(LanesDiffer, match="the text of a value that differs from lane to lane"):
        tape.vmap(lambda x: x * told(x))(x)
    compiled = tape.compile(lambda x: x * told(x))
    for row in (*x, x[0] * 1.0001, x[0] + 0.01):
        np.testing.assert_array_equal(compiled(row), row * told(row))


def test_a_text_that_differs_from_lane_to_lane_can_be_shown(capsys):
    def f(x):
        print(f"{x[0]:.1f}", str(x[0]).upper(), f"<{x[1]}>" if str(x) else "")
        return x

    tape.vmap(f)(np.array([[0.125, 2.0], [10.5, 3.0]]))
    assert capsys.readouterr().out == "batched(0.1, 10.5) BATCHED(0.125, 10.5) <batched(2.0, 3.0)>\n"
