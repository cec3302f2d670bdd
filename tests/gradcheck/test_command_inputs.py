"""Inputs of the command ``gradcheck`` as they are written."""

import numpy as np
import pytest

from tape.gradcheck.terminal.inputs import BadInput, Reader


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x=0.5", 0.5), ("x=3", 3), ("x=-1e-3", -1e-3), ("x=true", True), ("x=None", None), ("x='a=b'", "a=b"),
        ("x=[1, 2.5]", np.array([1, 2.5])), ("x=[[1], [2]]", np.array([[1], [2]])), ("x=0:1:3", np.array([0, 0.5, 1])),
        ("x=-1:1e1:2", np.array([-1.0, 10.0])), ("x = 2.0", 2.0),
    ],
)  # fmt: skip
def test_values(text, value):
    found = Reader(0, None, ()).read(text).value
    assert type(found) is type(value)
    assert np.array_equal(found, value)


def test_shapes():
    assert np.shape(Reader(0, None, ()).read("x=(2, 3)").value) == (2, 3)
    assert np.shape(Reader(0, None, ()).read("x=()").value) == ()
    assert Reader(0, np.dtype("float32"), ()).read("x=(2,)").value.dtype == np.float32


@pytest.mark.parametrize("text", ["x=(2.5,)", "x=(-1,)", "x=[[1, 2], [3]]", "x=['a']", "x={}", "x=f(3)", "1x=3", "=3"])
def test_what_is_no_value(text):
    with pytest.raises(BadInput):
        Reader(0, None, ()).read(text)


def test_tables(tmp_path):
    (tmp_path / "t.csv").write_text("# pelts\nyear, hare\n1900,30.0\n1901,47.2\n")
    (tmp_path / "bare.csv").write_text("1,2\n3,4\n")
    (tmp_path / "words.csv").write_text("a\nb\n")
    reader = Reader(0, None, (tmp_path,))
    assert np.array_equal(reader.read("x=t.csv").value, [[1900, 30.0], [1901, 47.2]])
    assert np.array_equal(reader.read("x=t.csv[hare]").value, [30.0, 47.2])
    assert np.array_equal(reader.read("x=t.csv[hare,year]").value, [[30.0, 1900], [47.2, 1901]])
    assert np.array_equal(reader.read("x=bare.csv").value, [[1, 2], [3, 4]])
    with pytest.raises(BadInput, match="no column 'fox'; its heading is year, hare"):
        reader.read("x=t.csv[fox]")
    with pytest.raises(BadInput, match="not a table of numbers"):
        reader.read("x=words.csv")
