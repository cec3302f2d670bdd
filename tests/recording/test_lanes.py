"""Lane kernels against the same rules run by NumPy: every op that has lanes, awkward sizes and numbers."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from ops import REGISTRY
from tape.jit.emission import lanes
from tape.jit.emission.kernels import describe
from tape.jit.emission.lanes import kernel_module, vjp_formula
from tape.jit.machine import machine_code, objectcache, platform
from tape.jit.machine.frames import KERNEL
from tape.jit.machine.machine_code import compile_kernel
from tape.jit.machine.state import (
    ELEMENTS,
    G_STRIDE,
    LANES,
    MODE,
    OUT,
    STEP_WORDS,
    STORE,
    SUM,
    XV,
    XV_STRIDE,
    YV,
    YV_STRIDE,
    ZV,
    ZV_STRIDE,
    G,
)  # fmt: skip

SIZES = [0, 1, 3, 7, 8, 9, 15, 16, 17, 1000]
GUARD = 16
PLACES = {"g": (G, G_STRIDE), "x": (XV, XV_STRIDE), "y": (YV, YV_STRIDE), "z": (ZV, ZV_STRIDE)}
AWKWARD = np.array([
    0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 1e-40, 1e300, -1e300, 3e38, 0.5, 2.0, 1e-8,
    700.0, -700.0, 88.0,
])  # fmt: skip


def sides():
    """Every op's side that has lanes."""
    found = []
    for op in REGISTRY.values():
        if describe(op)[0] == LANES:
            found += [(op.name, side) for side in range(op.arity) if op.rule(side)]
    return found


SIDES = sides()


def run_step(address, step):
    KERNEL(address)(step)


def values_for(op, n, dtype, rng):
    """Operands inside the op's domain, its result, and an adjoint."""
    operands = [np.asarray(i.fit(rng.random(n)), dtype) for i in op.domain]
    with np.errstate(all="ignore"):
        return dict(zip("xy", operands)) | {
            "z": np.asarray(op.forward(*operands), dtype),
            "g": rng.standard_normal(n).astype(dtype),
        }


def by_numpy(op, side, values):
    env = dict(zip(op.operands, (values.get("x"), values.get("y")))) | {"z": values["z"]}
    with np.errstate(all="ignore"):
        shape = np.broadcast_shapes(*(np.shape(v) for v in values.values()))
        bar = op.vjp(side, np.broadcast_to(values["g"], shape), env, shape, values["g"].dtype)
    return np.broadcast_to(np.asarray(bar), shape)


class Kernel:
    """One compiled kernel and a way to call it that watches the bytes around the output."""

    def __init__(self, op, side, bits):
        self.dtype = np.dtype(f"f{bits // 8}")
        self.engine, self.address = compile_kernel(kernel_module(vjp_formula(op, side), bits))

    def __call__(self, values, n, mode, before, misaligned=False):
        item = self.dtype.itemsize
        shift = item // 2 if misaligned else 0
        raw = np.full(2 * GUARD * item + max(len(before), 1) * item + shift, 0xA5, np.uint8)
        start = GUARD * item + shift
        out = np.frombuffer(raw, self.dtype, len(before), start)
        out[:] = before
        step = np.zeros(STEP_WORDS, np.int64)
        step[[ELEMENTS, OUT, MODE]] = n, raw.ctypes.data + start, mode
        kept = []
        for name, (place, stride) in PLACES.items():
            if name in values:
                data = np.asarray(values[name], self.dtype)
                buffer = np.zeros(data.nbytes + item + shift, np.uint8)
                np.frombuffer(buffer, self.dtype, data.size, shift)[:] = data.reshape(-1)
                kept.append((buffer, buffer.copy()))
                step[[place, stride]] = buffer.ctypes.data + shift, item if data.ndim else 0
        run_step(self.address, step.ctypes.data)
        end = start + len(before) * item
        assert (raw[:start] == 0xA5).all(), "written before the output"
        assert (raw[end:] == 0xA5).all(), "written past the output"
        for buffer, copy in kept:
            np.testing.assert_array_equal(buffer, copy)
        return out.copy()


def tolerance(dtype):
    return {"rtol": 2e-5 if dtype == np.float32 else 4e-14, "atol": 1e-6 if dtype == np.float32 else 1e-15}


def check(kernel, op, side, values, n, mode=STORE, **more):
    expected = by_numpy(op, side, values)
    before = np.linspace(-1, 1, n).astype(kernel.dtype)
    got = kernel(values, n, mode, before, **more)
    if mode != STORE:
        expected = expected + before
    np.testing.assert_allclose(got, expected, **tolerance(kernel.dtype))


@pytest.fixture(params=[64, 32])
def bits(request):
    return request.param


def hostile(op, kernel, side, rng):
    n = 333
    dtype = kernel.dtype
    with np.errstate(all="ignore"):
        operands = [rng.permutation(np.resize(AWKWARD, n)).astype(dtype) for _ in op.domain]
        z = np.asarray(op.forward(*operands), dtype)
    return dict(zip("xy", operands)) | {"z": z, "g": rng.choice(AWKWARD[:8], n).astype(dtype)}


@pytest.mark.parametrize(("name", "side"), SIDES)
def test_a_kernel_computes_what_the_rule_says(name, side, bits):
    """All sizes, storing and adding, misaligned memory, one number in place of any input; nothing else written."""
    op, rng = REGISTRY[name], np.random.default_rng(5)
    kernel = Kernel(op, side, bits)
    for n in SIZES:
        for mode in (STORE, 0):
            check(kernel, op, side, values_for(op, n, kernel.dtype, rng), n, mode)
    check(kernel, op, side, values_for(op, 17, kernel.dtype, rng), 17, misaligned=True)
    for repeated in ("x", "y", "z", "g"):
        values = values_for(op, 19, kernel.dtype, rng)
        if repeated in values:
            values[repeated] = values[repeated][3]
            check(kernel, op, side, values, 19)


@pytest.mark.parametrize(("name", "side"), SIDES)
def test_a_kernel_can_sum(name, side, bits):
    op, rng = REGISTRY[name], np.random.default_rng(6)
    kernel = Kernel(op, side, bits)
    for n in SIZES:
        values = values_for(op, n, kernel.dtype, rng)
        total = by_numpy(op, side, values).astype(np.float64)
        scale = np.abs(total).sum() + 1
        for mode, before in ((SUM | STORE, 0.0), (SUM, 0.5)):
            (got,) = kernel(values, n, mode, np.array([0.5], kernel.dtype))
            assert abs(got - total.sum() - before) <= scale * tolerance(kernel.dtype)["rtol"]


@pytest.mark.parametrize(("name", "side"), SIDES)
def test_special_numbers_as_in_numpy(name, side, bits):
    """nan where NumPy has nan, the same infinities and zeros; the rest to a few digits."""
    op, rng = REGISTRY[name], np.random.default_rng(7)
    kernel = Kernel(op, side, bits)
    values = hostile(op, kernel, side, rng)
    expected = by_numpy(op, side, values).astype(kernel.dtype)
    got = kernel(values, len(expected), STORE, np.zeros(len(expected), kernel.dtype))
    tiny = np.finfo(kernel.dtype).tiny * 16
    with np.errstate(all="ignore"):
        same = (got == expected) | (np.isnan(got) & np.isnan(expected)) | (np.abs(got - expected) <= tiny)
        same |= np.abs(got - expected) <= 2e-5 * np.abs(expected)
        # Just at the edge of the range one may have overflowed and the other not.
        largest = np.finfo(kernel.dtype).max
        same |= (np.sign(got) == np.sign(expected)) & (np.minimum(np.abs(got), np.abs(expected)) > largest / 4)
    bad = np.flatnonzero(~same)
    assert not len(bad), [
        {k: v[i] for k, v in values.items()} | {"got": got[i], "expected": expected[i]} for i in bad[:4]
    ]


@pytest.mark.parametrize("width", [128, 256, 512])
def test_narrower_vectors_without_a_vector_library_agree(width, bits, monkeypatch):
    """What runs on other machines: other widths, and the scalar math library lane by lane."""
    native = platform.target()
    if width > native.bits:
        width = 128
    fake = platform.Processor(native.cpu, native.features, width, "")
    for module in (platform, lanes, machine_code):
        monkeypatch.setattr(module, "target", lambda: fake)
    rng = np.random.default_rng(8)
    for name, side in SIDES[:: 3 if width == 128 else 7]:
        op = REGISTRY[name]
        assert platform.vector_function("exp", 64, 1) is None
        kernel = Kernel(op, side, bits)
        for n in (0, 1, 5, 33):
            check(kernel, op, side, values_for(op, n, kernel.dtype, rng), n)


def test_the_switch_for_vector_math():
    """TAPE_VECTOR_MATH=0 gives the same gradients without the vector library."""
    program = (
        "import numpy as np, tape; from tape.jit.machine import platform\n"
        "assert platform.target().prefix == ''\n"
        "x = tape.tensor(np.linspace(0.1, 0.9, 37), requires_grad=True)\n"
        "(tape.exp(tape.sin(x)) * tape.log(x)).sum().backward()\n"
        "v = x.detach().numpy(); e = np.exp(np.sin(v)) * (np.cos(v) * np.log(v) + 1 / v)\n"
        "np.testing.assert_allclose(x.grad.numpy(), e, rtol=1e-12)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"TAPE_VECTOR_MATH": "0"}, timeout=120)


def test_a_kernel_that_is_being_freed_is_not_given_to_others():
    text = str(kernel_module(vjp_formula(REGISTRY["tanh"], 0) * 0.12345, 64))
    loaded, _ = compile_kernel(text)
    (name,) = [k for k, v in machine_code._loaded.items() if v is loaded]
    found = []

    class Closing:
        def __del__(self):
            found.append(machine_code._loaded.get(name))

    assert not hasattr(loaded, "__del__")  # for as long as that runs, a weak reference still finds it
    loaded.engine = Closing()
    assert machine_code._loaded.get(name) is loaded
    del loaded
    assert found == [None]


def test_code_under_another_name_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("TAPE_CACHE_DIR", str(tmp_path))
    objectcache.save("one", b"machine code")
    (tmp_path / "one").rename(tmp_path / "other")
    assert objectcache.load("other") is None
    (tmp_path / "other").rename(tmp_path / "one")
    assert objectcache.load("one") == b"machine code"


MAKING = """
import sys, time
from tape.jit.machine import objectcache

def make():
    with open(sys.argv[1], "a") as file:
        file.write("made ")
    time.sleep(0.5)
    return b"code"

print(objectcache.made("one", make))
"""


def test_what_takes_long_one_process_makes_and_others_find(tmp_path):
    env = os.environ | {"TAPE_CACHE_DIR": str(tmp_path / "kernels")}
    command = [sys.executable, "-c", MAKING, str(tmp_path / "log")]
    processes = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [p.communicate(timeout=60)[0] for p in processes] == ["b'code'\n"] * 3
    assert (tmp_path / "log").read_text() == "made " * (1 if objectcache.fcntl else 3)
    assert len(list((tmp_path / "kernels").iterdir())) == 1


@pytest.mark.skipif(objectcache.fcntl is None, reason="there are no such locks on this system")
def test_nobody_waits_for_ever_or_for_a_process_that_has_ended(tmp_path, monkeypatch):
    monkeypatch.setenv("TAPE_CACHE_DIR", str(tmp_path))
    killed = "import os, signal\nfrom tape.jit.machine import objectcache\n"
    killed += "with objectcache.alone('one'): os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", killed], check=False, env={**os.environ})
    assert list(tmp_path.iterdir())
    entered = []
    with objectcache.alone("one"):
        monkeypatch.setattr(objectcache, "PATIENCE", 0.1)
        with objectcache.alone("one"):
            entered.append(True)
    assert entered == [True]
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_kept_nobody_waits(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TAPE_CACHE_DIR", str(tmp_path / "file" / "below"))
    entered = []
    with objectcache.alone("one"), objectcache.alone("one"):
        entered.append(True)
    assert entered == [True]
