"""What notebooks show of large tensors and arrays."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest

import tape
import tape.numpy as tnp
from tape.surface.pictures import html, png


def parsed(text):
    return ElementTree.fromstring(f"<div>{text}</div>")


def pixels(text):
    """The picture in a page, read as the standard has it."""
    data = base64.b64decode(re.search(r"base64,([^\"]*)", text)[1])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    columns, rows = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT")
    length = struct.unpack(">I", data[start - 4 : start])[0]
    content = zlib.decompress(data[start + 4 : start + 4 + length])
    lines = np.frombuffer(content, np.uint8).reshape(rows, 3 * columns + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(rows, columns, 3)


def test_what_prints_in_full_has_no_picture():
    assert tape.ones(10, 100)._repr_html_() is None
    assert tape.ones(())._repr_html_() is None
    with tape.printoptions(threshold=5):
        assert tape.ones(6)._repr_html_() is not None


def test_a_vector_is_a_curve_with_its_description():
    text = tape.linspace(-1.0, 3.0, 2000)._repr_html_()
    (svg,) = parsed(text).iter("{http://www.w3.org/2000/svg}svg")
    assert svg.get("role") == "img"
    assert "2,000 numbers" in svg.get("aria-label")
    assert "from -1 below to 3 above" in svg.get("aria-label")
    assert "<b>tensor</b> float64, 2000, from -1 to 3" in text


def test_a_matrix_is_shades():
    x = np.zeros((40, 60))
    x[3, 7] = 1.0
    x[5, 5] = np.nan
    text = tape.tensor(x, requires_grad=True)._repr_html_()
    shown = pixels(text)
    assert shown.shape == (40, 60, 3)
    assert shown[3, 7].tolist() == [18, 58, 107]
    assert shown[0, 0].tolist() == [244, 248, 255]
    assert shown[5, 5].tolist() == [214, 69, 65]
    assert "1 not finite" in text
    assert "requires grad" in text
    (image,) = parsed(text).iter("img")
    assert image.get("alt") == "Shades of a matrix of 40 × 60: 0 is light, 1 dark"


@pytest.mark.parametrize(
    ("x", "told"),
    [
        (np.arange(3000).reshape(3, 10, 100), "the first of 3 matrices of 10 × 100, of which 10 × 96"),
        (np.ones(2000, complex) * 3j, "modulus from 3 to 3"),
        (np.full(2000, np.nan), "2,000 not finite"),
        (np.arange(2000) % 2 == 0, "bool, 2000, from 0 to 1"),
        (np.r_[np.nan, np.ones(1999)], "1 not finite"),
    ],
)
def test_of_other_kinds(x, told):
    text = html("array", x)
    assert told in text
    parsed(text)


def test_no_elements():
    assert parsed(html("tensor", np.zeros((0, 3)))).find("div").find("b").text == "tensor"


def test_results_say_what_made_them():
    x = tape.ones(2000, requires_grad=True)
    assert "made by ExpBackward0" in x.exp()._repr_html_()


def test_arrays_too():
    assert "<b>array</b> float64, 2000" in tnp.array(np.ones(2000))._repr_html_()
    assert tnp.array(np.ones(3))._repr_html_() is None


def test_tensors_within_transformations_are_left_alone():
    seen = []
    tape.vmap(lambda x: (seen.append(x._repr_html_()), x)[1])(tape.ones(3, 2000))
    tape.record(lambda x: (seen.append(x._repr_html_()), x * 2)[1], tape.ones(2000))
    assert seen == [None, None]


def test_a_picture_is_a_png_file():
    assert png(np.zeros((1, 1, 3), np.uint8))[-8:-4] == b"IEND"
