"""Tensors print as PyTorch's do: compared with it where it is installed, and with examples everywhere."""

import re

import numpy as np
import pytest

import tape


@pytest.fixture
def torch():
    module = pytest.importorskip("torch")
    module.set_default_dtype(module.float64)
    yield module
    module.set_default_dtype(module.float32)


def arrays():
    rng = np.random.default_rng(0)
    for shape in (
        (),
        (1,),
        (3,),
        (30,),
        (2, 3),
        (1, 1, 2),
        (2, 2, 12),
        (1001,),
        (7, 8, 30),
        (40, 40),
        (2, 600),
        (0,),
        (0, 3),
        (2, 0),
    ):
        base = rng.standard_normal(shape)
        for scale in (1.0, 1e-6, 1e3, 1e5, 1e9, 1e-300):
            yield np.asarray(base * scale)
        yield np.asarray(np.round(base * 3))
        yield np.asarray(np.round(base * 1e9))
        yield np.asarray(np.round(base * 3)).astype(np.int64)
        yield np.asarray(np.round(base * 1e6)).astype(np.int32)
        yield np.asarray(base > 0)
        yield np.asarray(base).astype(np.float32)
        yield np.asarray(base + 1j * rng.standard_normal(shape))
        yield np.asarray((base + 1j).astype(np.complex64))
        with_special = np.array(base)
        for k, special in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0)):
            with_special.reshape(-1)[k : k + 1] = special
        yield with_special
        yield np.asarray(np.round(with_special))
        yield np.full(shape, np.nan)
        yield np.zeros(shape)


def same(text):
    """A print as it is, but with all notes on one line if one is a dtype: ``torch.`` is longer than ``tape.``."""
    if "dtype" not in text:
        return text
    return re.sub(r",\n {7}(dtype|grad_fn|requires)", r", \1", text).replace("torch.", "tape.")


def test_prints_as_torch_does(torch):
    for array in arrays():
        theirs = torch.from_numpy(np.array(array))
        assert same(repr(tape.tensor(array))) == same(repr(theirs))
        if array.dtype.kind in "fc":
            ours = tape.tensor(array, requires_grad=True)
            assert same(repr(ours)) == same(repr(theirs.requires_grad_()))
            assert same(repr(ours * 1)) == same(repr(theirs * 1))


@pytest.mark.parametrize(
    "options", [{"precision": 2}, {"sci_mode": True}, {"sci_mode": False}, {"edgeitems": 1}, {"linewidth": 40}]
)
def test_options_act_as_in_torch(torch, options):
    array = np.random.default_rng(1).standard_normal((50, 30))
    torch.set_printoptions(**options)
    try:
        with tape.printoptions(**options):
            for part in (array, array[0], array[0, 0] * np.ones(())):
                assert repr(tape.tensor(part)) == repr(torch.from_numpy(np.array(part)))
    finally:
        torch.set_printoptions(profile="default")
        torch.set_printoptions(sci_mode=None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([2.0, 2.0], "tensor([2., 2.])"),
        (7.5, "tensor(7.5000)"),
        ([1, 20], "tensor([ 1, 20])"),
        ([1e-8, 1.0], "tensor([1.0000e-08, 1.0000e+00])"),
        ([True, False], "tensor([ True, False])"),
        (np.float32(2), "tensor(2., dtype=tape.float32)"),
        (np.zeros((0, 3)), "tensor([], size=(0, 3))"),
        ([np.inf, -1.5], "tensor([    inf, -1.5000])"),
    ],
)
def test_examples(value, text):
    assert repr(tape.tensor(value)) == text


def test_history_shows():
    x = tape.tensor([2.0, 2.0], requires_grad=True)
    assert repr(x) == "tensor([2., 2.], requires_grad=True)"
    assert repr((x * 3.75).mean()) == "tensor(7.5000, grad_fn=<MeanBackward0>)"
