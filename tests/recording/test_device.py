"""Devices and memory formats: PyTorch's words are taken where they mean what is here anyway."""

import copy
import pickle

import numpy as np
import pytest

import tape

MAKERS = {
    "tensor": lambda **k: tape.tensor([1.0], **k),
    "as_tensor": lambda **k: tape.as_tensor([1.0], **k),
    "as_tensor of a tensor": lambda **k: tape.as_tensor(tape.ones(1), **k),
    "zeros": lambda **k: tape.zeros(2, **k),
    "ones_like": lambda **k: tape.ones_like(tape.ones(2), **k),
    "full": lambda **k: tape.full((2,), 1.0, **k),
    "full_like": lambda **k: tape.full_like(tape.ones(2), 1.0, **k),
    "eye": lambda **k: tape.eye(2, **k),
    "arange": lambda **k: tape.arange(3, **k),
    "linspace": lambda **k: tape.linspace(0, 1, 3, **k),
    "logspace": lambda **k: tape.logspace(0, 1, 3, **k),
    "rand": lambda **k: tape.rand(2, **k),
    "randn_like": lambda **k: tape.randn_like(tape.ones(2), **k),
    "randint": lambda **k: tape.randint(3, (2,), **k),
    "randperm": lambda **k: tape.randperm(3, **k),
    "normal": lambda **k: tape.normal(0.0, 1.0, (2,), **k),
    "new_zeros": lambda **k: tape.ones(2).new_zeros(3, **k),
    "new_tensor": lambda **k: tape.ones(2).new_tensor([1.0], **k),
    "FloatTensor": lambda **k: tape.FloatTensor([1.0], **k),
    "Tensor": lambda **k: tape.Tensor([1.0], **k),
    "to": lambda **k: tape.ones(2).to(**k),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_makers_take_the_cpu_and_no_other_device(make):
    for where in ("cpu", "cpu:0", tape.device("cpu"), None):
        assert make(device=where).device == tape.device("cpu")
    with pytest.raises(RuntimeError, match=r"no device 'cuda:1' here.*\n.*give 'cpu'"):
        make(device="cuda:1")
    with pytest.raises(TypeError, match="given by its name"):
        make(device=0)


def test_a_device_is_a_value():
    d = tape.device("cpu", 0)
    assert (d.type, d.index, str(d), repr(d)) == ("cpu", 0, "cpu:0", "device(type='cpu', index=0)")
    assert tape.device("cpu:0") == d != tape.device("cpu") != "cpu"
    assert len({d, tape.device(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d))}) == 1
    assert repr(tape.device("cpu")) == "device(type='cpu')"
    for bad in ("cpu:1", "gpu", ""):
        with pytest.raises(RuntimeError, match="no device"):
            tape.device(bad)


def test_what_tensors_say():
    x = tape.ones(2)
    assert x.device.type == "cpu"
    assert (x.is_cpu, x.is_cuda, x.is_sparse, x.get_device()) == (True, False, False, -1)
    assert x.cpu() is x
    with pytest.raises(RuntimeError, match="no device 'cuda'"):
        x.cuda()


def test_to_tells_devices_from_dtypes():
    x = tape.ones(2)
    assert all(y is x for y in (x.to("cpu"), x.to(tape.device("cpu")), x.to("cpu", non_blocking=True)))
    assert x.to("cpu", tape.float32).dtype == tape.float32 == x.to(device="cpu", dtype="float32").dtype
    assert x.to(tape.float64, True) is x
    assert x.to(tape.float64, False, True) is not x
    assert x.to("cpu", tape.float64, False, True) is not x
    with pytest.raises(RuntimeError, match="no device 'cuda'"):
        x.to("cuda")


@pytest.mark.parametrize("layout", [tape.contiguous_format, tape.preserve_format])
def test_memory_formats(layout):
    x = tape.tensor(np.ones((2, 3)), requires_grad=True)
    for z in (
        x.clone(memory_format=layout),
        x.to("float32", memory_format=layout),
        tape.clone(x, memory_format=layout),
    ):
        assert z.requires_grad
    assert x.contiguous(memory_format=layout) is x
    assert x.is_contiguous(memory_format=layout)
    assert tape.zeros_like(x, memory_format=layout).shape == (2, 3)


@pytest.mark.parametrize("call", [tape.Tensor.clone, tape.Tensor.contiguous, tape.zeros_like, tape.Tensor.to])
def test_an_order_for_images_is_refused(call):
    with pytest.raises(RuntimeError, match="must be contiguous_format or preserve_format; got 'channels_last'"):
        call(tape.ones(2), memory_format="channels_last")


@pytest.mark.parametrize("name", ["data", "requires_grad"])
def test_what_a_tensor_is_made_of_cannot_be_deleted(name):
    x = tape.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be deleted"):
        delattr(x, name)
