"""Tensors in files."""

import io
from collections import OrderedDict

import numpy as np
import pytest

import tape
from tape.program import ProgramFileError


def again(value, tmp_path):
    tape.save(value, tmp_path / "file")
    return tape.load(tmp_path / "file")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_a_tensor_comes_back(tmp_path, dtype, shape):
    x = tape.from_numpy(np.arange(np.prod(shape)).reshape(shape).astype(dtype))
    y = again(x, tmp_path)
    assert (y.dtype, y.shape, y.tolist(), y.requires_grad) == (x.dtype, x.shape, x.tolist(), False)
    y.fill_(1)


def test_bfloat16_comes_back(tmp_path):
    pytest.importorskip("ml_dtypes")
    assert again(tape.ones(2, dtype=tape.bfloat16), tmp_path).dtype == tape.bfloat16


def test_containers_come_back_with_tensors_that_are_the_same(tmp_path):
    w = tape.ones(2, requires_grad=True)
    state = {"w": w, "b": [w, (w * 2.0, None)], "step": 3, 4: "text", "rate": 1e-3, "z": 1j, "shape": w.shape}
    found = again(state, tmp_path)
    assert list(found) == list(state)
    assert found["w"] is found["b"][0]
    assert (found["w"].requires_grad, found["w"].is_leaf, found["b"][1][0].is_leaf) == (True, True, True)
    assert found["b"][1][0].tolist() == [2.0, 2.0]
    plain = ("step", 4, "rate", "z", "shape")
    assert [found[k] for k in plain] == [state[k] for k in plain]
    (found["w"] * 3.0).sum().backward()
    assert found["w"].grad.tolist() == [3.0, 3.0]
    assert again(OrderedDict(a=1), tmp_path) == {"a": 1}


def test_files_that_are_open_will_do():
    buffer = io.BytesIO()
    tape.save([tape.arange(3)], buffer)
    buffer.seek(0)
    assert tape.load(buffer, map_location="cpu", weights_only=True)[0].tolist() == [0, 1, 2]


def test_a_program_is_loaded_by_the_same_name(tmp_path):
    program = tape.record(lambda x: x * 2.0, np.ones(2))
    program.save(tmp_path / "program")
    assert tape.load(tmp_path / "program")(np.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match=r"program.save\(path\)"):
        tape.save(program, tmp_path / "other")


def test_what_a_file_cannot_hold_or_is_not(tmp_path):
    with pytest.raises(TypeError, match="a file cannot hold"):
        tape.save({"f": print}, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_bytes(b"something else, and long enough to be a header of a file; see what happens")
    with pytest.raises(ProgramFileError, match=r"not a file that Program\.save or tape\.save wrote"):
        tape.load(tmp_path / "file")
    tape.save(tape.ones(3), tmp_path / "file")
    whole = bytearray((tmp_path / "file").read_bytes())
    whole[-5] ^= 1
    (tmp_path / "file").write_bytes(whole)
    with pytest.raises(ProgramFileError, match="the file is damaged"):
        tape.load(tmp_path / "file")


def test_hooks_may_put_values_into_files(tmp_path):
    paths = iter(range(100))

    def pack(x):
        path = tmp_path / str(next(paths))
        tape.save(x, path)
        return path

    x = tape.tensor([2.0, 3.0], requires_grad=True)
    with tape.autograd.graph.saved_tensors_hooks(pack, tape.load):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_a_tensor_of_a_transformation_is_none_to_save(tmp_path):
    with pytest.raises(TypeError, match="only within its function"):
        tape.vmap(lambda x: tape.save(x, tmp_path / "file"))(tape.ones(2))
