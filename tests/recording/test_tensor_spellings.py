"""Every op of the registry as public function and method, in NumPy's and in PyTorch's spelling."""

import numpy as np
import pytest

import tape
from ops import REGISTRY
from tape.recording.calls import derived
from tape.recording.functions import INTERNAL, SPELLINGS, TRANSFORMS, is_method, public

PRIMITIVE = [op for op in REGISTRY.values() if op.kind != "composite" and op.name not in INTERNAL and op.cases]


def as_tensors(values):
    return [tape.tensor(v) if isinstance(v, np.ndarray) else v for v in values]


def numbers(result):
    if isinstance(result, (tuple, list)):
        return [numbers(r) for r in result]
    return result.numpy() if isinstance(result, tape.Tensor) else np.asarray(result)


def check_same(ours, expected):
    for a, b in zip(ours, expected, strict=True) if isinstance(ours, list) else [(ours, expected)]:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("op", PRIMITIVE, ids=lambda op: op.name)
def test_both_spellings_reach_the_op(op):
    """The derived function takes each parameter by the op's own name, and by every other name it answers to."""
    function = derived.get(op.name) or public(op)
    for operands, params in op.cases(np.random.default_rng(0)):
        expected = numbers(op(*operands, **params))
        spelt = {word: known for word, meant in SPELLINGS.items() for known in meant if known in params}
        spelt = {word: known for word, known in spelt.items() if word not in op.params}
        for renamed in ({}, *({known: word} for word, known in spelt.items())):
            named = {
                renamed.get(k, k): list(v) if isinstance(v, tuple) and k == "axis" else v for k, v in params.items()
            }
            given = as_tensors(operands)
            result = function(given, **named) if op.variadic else function(*given, **named)
            check_same(numbers(result), expected)


def test_every_op_is_public():
    for op in REGISTRY.values():
        if op.name.startswith(TRANSFORMS):
            assert op.kind != "composite" or callable(getattr(tape.fft, op.name.removeprefix(TRANSFORMS))), op.name
        elif op.name not in INTERNAL and not op.name.startswith("special_"):
            assert callable(getattr(tape, op.name)), op.name
            if is_method(op):
                assert hasattr(tape.Tensor, op.name), op.name


def test_functions_give_tensors_also_of_plain_numbers():
    for result in (
        tape.sum(np.ones(2)),
        tape.exp(np.ones(2)),
        tape.mul(2.0, np.ones(2)),
        tape.clamp(np.ones(2), min=2.0),
        tape.cat([np.ones(1), np.ones(1)]),
    ):
        assert isinstance(result, tape.Tensor)


def test_operands_by_name():
    x = tape.tensor([[1.0, 2.0]])
    assert tape.sum(input=x, dim=1).tolist() == [3.0]
    assert tape.dot(input=x[0], other=x[0]).item() == 5.0
    assert tape.sum(x, dim=0, dtype=tape.float32).dtype == tape.float32


def test_out_receives_the_result():
    x, target = tape.tensor([1.0, 2.0]), tape.zeros(())
    assert tape.sum(x, out=target) is target
    assert target.item() == 3.0
