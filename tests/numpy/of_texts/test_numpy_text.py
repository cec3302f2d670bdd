"""Numbers as text: what is printed, and what is read back from it."""

from __future__ import annotations

import ast
import configparser
import csv
import io
import json
import locale
import logging
import pickle
import re
import string
import urllib.parse
import warnings

import numpy as np
import pytest
from common.texts_told import X, is_told_of, lengthened

import tape
import tape.numpy
from ops.core.batching import LanesDiffer
from tape.numpy.arrays.leaving import _told


# ruff: noqa: UP031, UP032
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
