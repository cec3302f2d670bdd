"""Kernels of vectors: how their code is laid out."""

from __future__ import annotations

import re

import numpy as np

import tape
from tape.jit.fused import Writer
from tape.program.kernels import task_of
from tape.program.layout import Layout
from tape.program.replay import KernelStep


def code_of(function, *args):
    """The LLVM code of the one kernel that a function becomes."""
    program = tape.record(function, *args)
    steps = [step for step in program.replay.steps if isinstance(step, KernelStep)]
    assert len(steps) == 1
    return Writer(task_of(Layout(program.listing, steps[0].group))).text()


def head_of(code):
    (head,) = re.findall(r"^define void @kernel.*$", code, re.MULTILINE)
    return head


def test_what_a_function_of_vectors_puts_aside_lies_within_lines_of_the_cache():
    assert "alignstack(64)" in head_of(code_of(lambda x: x * x, np.ones(100)))
    assert "alignstack" not in head_of(code_of(lambda x: x * x, np.asarray(1.0)))
