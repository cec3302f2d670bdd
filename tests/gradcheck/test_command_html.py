"""The page that the command writes: whole, by itself, and with a curve that says what it should."""

import math
from html.parser import HTMLParser

import numpy as np
from command_line import check as command

from tape.gradcheck import check
from tape.gradcheck.terminal.page import plot

VOID = {"meta", "br", "circle", "line", "polyline", "rect"}


class Nesting(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text):
    parser = Nesting()
    parser.feed(text)
    assert parser.open == []
    assert len(set(parser.ids)) == len(parser.ids)
    return parser


def test_the_page_is_whole_and_needs_nothing_else(folder):
    status, _, err = command("loss", "-i", "w=(3,)", "-i", "X=X.npy", "--wrt", "w,b", "--html", "report.html")
    assert (status, err) == (0, "")
    text = (folder / "report.html").read_text(encoding="utf-8")
    found = parsed(text)
    assert [tag for tag, _ in found.seen].count("svg") == 2
    assert not [a for _, attrs in found.seen for a in attrs if a in ("src", "href")]
    assert "http" not in text
    for word in ("d output / d w", "tolerance", "step h", "right"):
        assert word in text


def test_what_is_wrong_is_on_the_page(folder):
    status, _, _ = command("hooked", "-i", "x=[1.0, 2.0]", "--html", "report.html", "--search", "--examples", "3")
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert status == 1
    parsed(text)
    assert "y = np.exp(x)" in text
    assert "def test_gradient_of_hooked" in text
    assert "&lt;" in text or "<script" not in text


def test_a_page_that_cannot_be_written(folder):
    status, _, err = command("root", "-i", "x=[1.0]", "--html", "nowhere/report.html")
    assert status == 2
    assert "nowhere/report.html cannot be written" in err


def curve(function, x, **how):
    report = check(function, (x,), curves=True, **how)
    (found,) = report.curves
    return np.array(found.steps), np.array(found.errors), np.array(found.rounding), report.comparisons[0]


def test_truncation_and_rounding_meet():
    steps, errors, rounding, _ = curve(np.exp, 1.0)
    long = (steps > 1e-3) & (steps < 1e-1)
    slope = np.polyfit(np.log(steps[long]), np.log(errors[long]), 1)[0]
    assert 1.95 < slope < 2.05
    short = steps < 1e-8
    assert np.all(errors[short] <= 8 * rounding[short])
    best = steps[np.argmin(errors)]
    assert 1e-7 < best < 1e-4  # about the cube root of the rounding


def test_a_wrong_gradient_stays_on_its_level():
    steps, errors, _, _ = curve(np.exp, 1.0, gradient=lambda x: 1.001 * np.exp(x))
    level = errors[(steps < 1e-3) & (steps > 1e-10)]
    np.testing.assert_allclose(level, 0.001 * math.e, rtol=1e-2)


def test_no_curve_where_there_is_no_error():
    report = check(lambda x: x, (np.zeros(2),), curves=True)
    c = report.comparisons[0]
    assert "there is no error to draw" in plot(report.curves[0], "t", c.step, c.tolerance)
