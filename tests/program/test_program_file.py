"""Programs in files: what comes back, what cannot be saved, what is no program."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import random
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from samples import DIFFERENTIABLE, results, samples

import tape
from tape.program import ProgramFileError
from tape.program.files.container import DIGEST, HEAD, VERSION, packed, unpacked


def again(program, tmp_path):
    """A program after its way through a file."""
    program.save(tmp_path / "program")
    return tape.load(tmp_path / "program")


def model(x, t, w):
    y = tape.tanh(x @ w) * t if x[0, 0] > 0 else x @ w
    value, place = tape.sort(y.sum(0))
    return {"loss": (value * 2.0).mean(), "rest": [place, None, tape.where(y > 0.5, y, -1.0), "text"]}


def example(seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((3, 4)) + 0.1, 1.5, rng.random((4, 2))


# What comes back.


OF_MATRICES = {"sparse_product", "sparse_solve"}
"""They hold a sparse matrix, which a file cannot."""


@pytest.mark.parametrize("op", [op for op in DIFFERENTIABLE if op.name not in OF_MATRICES], ids=lambda op: op.name)
def test_every_op(op, tmp_path):
    for xs, params in samples(op):
        program = tape.record(lambda *xs, params=params: op(*xs, **params), *map(np.asarray, xs))
        back = again(program, tmp_path)
        for name in ("code", "first", "args", "spec", "outputs"):
            assert_array_equal(getattr(back.recorded, name), getattr(program.recorded, name))
        assert back.key == program.key
        found, expected = (results(p(*map(np.asarray, xs))) for p in (back, program))
        for z, w in zip(found, expected, strict=True):
            assert_array_equal(z, w)
            assert w is None or (np.shape(z) == np.shape(w) and np.asarray(z).dtype == np.asarray(w).dtype)


def test_a_model_with_structured_results(tmp_path):
    program = tape.record(model, *example())
    back = again(program, tmp_path)
    for args in (example(), example(1)):
        found, expected = back(*args), program(*args)
        assert found.keys() == expected.keys()
        assert found["rest"][1:4:2] == [None, "text"]
        assert_array_equal(found["loss"], expected["loss"])
        assert_array_equal(found["rest"][2], expected["rest"][2])
    assert back.tier == program.tier
    assert repr(back) == repr(program)


def test_arguments_of_every_kind(tmp_path):
    def f(x, n, *, name, options, scale, t):
        return (x * n + options["a"] + scale * t) if name == "right" else x

    kwargs = {"name": "right", "options": {"a": 2.5, "b": (1, None)}, "scale": np.float64(3.0), "t": tape.ones(2)}
    program = tape.record(f, np.ones(2), 3, **kwargs)
    back = again(program, tmp_path)
    assert_array_equal(back(np.ones(2) * 2, 3, **kwargs).numpy(), [11.5, 11.5])
    with pytest.raises(TypeError, match="recorded for arguments"):
        back(np.ones(2), 4, **kwargs)


def test_inputs_keep_their_names(tmp_path):
    def f(x, *rest, options, name="x"):
        return x * rest[0] + options["scale"] * rest[1]

    program = tape.record(f, np.ones(2), 2.0, np.ones(2), options={"scale": np.ones(2)})
    assert program._names() == again(program, tmp_path)._names() == ["x", "rest[0]", "rest[1]", "options['scale']"]


def test_values_are_exact(tmp_path):
    numbers = [0.1, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1 / 3]
    program = tape.record(lambda x: [x * 0 + c for c in numbers] + [x * (0.1 + 0.7j)], np.array(1.0))
    found, expected = again(program, tmp_path)(np.array(1.0)), program(np.array(1.0))
    assert [np.asarray(z).tobytes() for z in found] == [np.asarray(z).tobytes() for z in expected]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8", "int64", "bool", "complex64", "complex128"])
def test_dtypes(dtype, tmp_path):
    c = np.array([1, 0, 1]).astype(dtype)
    program = tape.record(lambda x: x * c, c)
    found = again(program, tmp_path)(c)
    assert found.dtype == np.dtype(dtype)
    assert_array_equal(found, c * c)


def test_lines_and_guards(tmp_path):
    program = tape.record(model, *example())
    back = again(program, tmp_path)
    assert [back.recorded.location(k) for k in range(len(back.recorded))] == [
        program.recorded.location(k) for k in range(len(program.recorded))
    ]
    x, t, w = example()
    with pytest.raises(tape.program.GuardMissed, match=r"test_program_file\.py:\d+ in model: y = "):
        back(-x, t, w)


def test_captured_tensors_are_saved_as_values(tmp_path):
    w, c = tape.tensor([2.0, 3.0], requires_grad=True), np.array([1.0, 1.0])
    back = again(tape.record(lambda x: (x * w + c).sum(), tape.ones(2)), tmp_path)
    with tape.no_grad():
        w.mul_(100.0)
    c *= 100.0
    x = tape.ones(2, requires_grad=True)
    y = back(x)
    assert y.item() == 7.0
    assert back.captures == ()
    y.backward()
    assert_array_equal(x.grad.numpy(), [2.0, 3.0])
    assert w.grad is None


def test_a_loaded_program_is_differentiated_twice(tmp_path):
    back = again(tape.record(lambda x: (x**3).sum(), tape.ones(2)), tmp_path)
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    (g,) = tape.autograd.grad(back(x), x, create_graph=True)
    (h,) = tape.autograd.grad(g.sum(), x)
    assert_array_equal(g.detach().numpy(), [3.0, 12.0])
    assert_array_equal(h.numpy(), [6.0, 12.0])


def test_saved_once_more(tmp_path):
    program = tape.record(model, *example())
    back = again(program, tmp_path)
    back.save(tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "program").read_bytes()


def test_a_program_of_nothing_and_a_long_one(tmp_path):
    assert again(tape.record(lambda: 3), tmp_path)() == 3

    def long(x):
        for _ in range(5000):
            x = x * 0.999 + 0.001
        return x

    program = tape.record(long, 2.0, tier="interpret")
    assert again(program, tmp_path)(3.0) == program(3.0)
    assert os.path.getsize(tmp_path / "program") < 20 * len(program.recorded)


# What cannot be saved.


class Point(NamedTuple):
    x: object
    y: object


NUMBERS = {1}


@pytest.mark.parametrize(
    ("f", "what"),
    [(lambda x: Point(x, x), "Point"), (lambda x: (x, again), "function"), (lambda x: (x, NUMBERS), "set")],
)
def test_what_a_file_cannot_hold(f, what, tmp_path):
    (tmp_path / "program").write_text("before")
    with pytest.raises(TypeError, match=f"cannot hold .*{what}"):
        tape.record(f, np.ones(2)).save(tmp_path / "program")
    assert [p.name for p in tmp_path.iterdir()] == ["program"]
    assert (tmp_path / "program").read_text() == "before"


def test_a_file_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    """What was there before stays if writing comes to nothing."""
    program = tape.record(lambda x: x * 2.0, 1.0)
    (tmp_path / "program").write_text("before")
    monkeypatch.setattr("pathlib.Path.replace", lambda self, target: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        program.save(tmp_path / "program")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["before"]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(OSError):  # noqa: PT011  (which one depends on the system)
        tape.load(tmp_path)
    with pytest.raises(OSError):  # noqa: PT011
        tape.record(lambda x: x * 2.0, 1.0).save(tmp_path)


def test_no_such_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        tape.record(lambda x: x, 1.0).save(tmp_path / "nowhere" / "program")
    with pytest.raises(FileNotFoundError):
        tape.load(tmp_path / "program")


# What is no program.


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a file."""
    path = tmp_path_factory.mktemp("file") / "program"
    tape.record(model, *example(), tier="quick").save(path)
    return path.read_bytes()


def load_bytes(content, tmp_path):
    (tmp_path / "program").write_bytes(content)
    return tape.load(tmp_path / "program")


def test_each_changed_byte_is_noticed(whole, tmp_path):
    rng = random.Random(0)
    for k in range(0, len(whole), 3):
        changed = whole[:k] + bytes([whole[k] ^ (1 << rng.randrange(8))]) + whole[k + 1 :]
        with pytest.raises(ProgramFileError):
            load_bytes(changed, tmp_path)


def test_each_truncation_is_noticed(whole, tmp_path):
    for k in range(0, len(whole), 7):
        with pytest.raises(ProgramFileError, match=r"damaged|beginning"):
            load_bytes(whole[:k], tmp_path)
    with pytest.raises(ProgramFileError, match="damaged"):
        load_bytes(whole + b"\0", tmp_path)


@pytest.mark.parametrize("content", [b"", b"text\n" * 100, pickle.dumps(os.getcwd), b"\x93NUMPY\1\0" + bytes(100)])
def test_foreign_files(content, tmp_path):
    with pytest.raises(ProgramFileError, match=r"not a file that Program\.save or tape\.save wrote"):
        load_bytes(content, tmp_path)


def signed(whole, **changes):
    """A file whose header says something else, with the right checksum."""
    header, arrays = unpacked(whole)
    header["program"].update(changes)
    return packed(header, arrays)


def test_a_later_version(whole, tmp_path):
    head = bytearray(whole)
    head[8] = 9
    with pytest.raises(ProgramFileError, match="format version 9"):
        load_bytes(bytes(head), tmp_path)


def test_an_op_that_is_not_declared(whole, tmp_path):
    ops = unpacked(whole)[0]["program"]["ops"]
    with pytest.raises(ProgramFileError, match=r"op named 'magic'.*\n.*Import the module"):
        load_bytes(signed(whole, ops=["magic", *ops[1:]]), tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        *({"ops": []}, {"tier": "best"}, {"inputs": 2}, {"signature": []}, {"columns": {}}, {"specs": [3]}),
        *(
            {"parameters": p}
            for p in ("xyz", [], [["x"], None], [["x", 1], None, []], [["x"], 2, []], [["x"], None, 3])
        ),
    ],
)
def test_forged_headers(whole, changes, tmp_path):
    with pytest.raises(ProgramFileError, match="no sound program"):
        load_bytes(signed(whole, **changes), tmp_path)


def mutate(value, rng):
    """Some other JSON in the place of one part of it."""
    if isinstance(value, (list, dict)) and value and rng.random() < 0.85:
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        if rng.random() < 0.1:
            value.pop(key)
        else:
            value[key] = mutate(value[key], rng)
        return value
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.7:
        return value + rng.choice([-2, -1, 1, 2, 1 << 31, 1 << 62])
    return rng.choice([None, True, -1, 0, 1, 7, 1 << 40, "", "add", [], {}, {"float": "0x1p+0"}, {"tuple": [3, 4]}])


def test_forged_files_end_in_exceptions(whole, tmp_path):
    """Whatever a well-signed file says, it is refused, or is a program that gives results or raises."""
    rng, refused, replayed = random.Random(1), 0, 0
    for _ in range(300):
        header, arrays = unpacked(whole)
        if rng.random() < 0.5:
            header["program"] = mutate(header["program"], rng)
        else:
            k = rng.randrange(len(arrays))
            arrays[k] = array = arrays[k].copy()
            if array.size and array.dtype.kind == "i":
                array.flat[rng.randrange(array.size)] += rng.choice([-3, -2, -1, 1, 2, 3])
        try:
            program = load_bytes(packed(header, arrays), tmp_path)
        except ProgramFileError:
            refused += 1
            continue
        for args in (example(1), example(2)):
            with contextlib.suppress(Exception):
                program(*args)
                replayed += 1
    assert refused > 100
    assert replayed > 50


def test_json_beyond_measure(tmp_path):
    """Nesting without end, and numbers that are none."""
    texts = b"[" * 200_000, b'{"a": NaN, "arrays": []}', b"\xff", b'{"arrays": [["<f8", [1000000000000], 0]]}'
    for text in texts:
        head = HEAD.pack(b"\x89TAPE\r\n\x1a", VERSION, len(text), 0)
        with pytest.raises(ProgramFileError, match="makes no sense"):
            load_bytes(head + hashlib.sha256(head + text).digest() + text, tmp_path)


def test_the_header_is_json(whole):
    _, _, length, _ = HEAD.unpack_from(whole)
    header = json.loads(whole[HEAD.size + DIGEST :][:length])
    assert header["program"]["tier"] == "quick"
    assert "tanh" in header["program"]["ops"]
