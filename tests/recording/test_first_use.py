"""The first use of everything by several threads at once, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

ALL = """
import faulthandler, sys, threading, traceback
import numpy as np, tape

sys.setswitchinterval(1e-3)
faulthandler.dump_traceback_later(150, exit=True)
X, failed = np.linspace(0.5, 1.5, 4), []

def filled(x):
    y = np.zeros(9)
    for k in range(3):
        y[3 * k : 3 * k + 3] = np.tanh(x[:3]) * (y[k] + x[k])
    return (y * y).sum()

def smooth(x):
    return (np.sin(x) * np.exp(x)).sum()

def system(x):
    A = np.eye(4)
    A[0] = x
    return np.linalg.solve(A @ A.T + np.eye(4), x).sum()

def backward():
    t = tape.tensor(X, requires_grad=True)
    (t * t).sin().sum().backward()
    return t.grad.numpy()

def jitted():
    program = tape.record(smooth, X)
    return program.njit()(X)

def from_the_package():
    from tape.func import grad, jacfwd
    return jacfwd(grad(smooth))(X)

def of_scipy():
    import scipy.special
    return tape.func.grad(lambda x: scipy.special.gammaln(x).sum())(X)

def of_the_namespace():
    import tape.numpy
    return tape.func.grad(lambda x: (tape.numpy.array([x[0], 1.0]) ** 2).sum())(X)

USES = [
    backward, jitted, from_the_package, of_scipy, of_the_namespace,
    lambda: tape.func.grad(filled)(X),
    lambda: tape.record(tape.func.grad(filled), X)(X),
    lambda: tape.compile(tape.func.grad(filled))(X),
    lambda: tape.compile(system)(X),
    lambda: tape.func.jacrev(system)(X),
    lambda: tape.vmap(tape.func.grad(smooth))(np.stack([X, X])),
    lambda: tape.func.grad(lambda x: (np.abs(np.fft.fft(x)) ** 2).sum())(X),
    lambda: tape.linalg.inv(tape.tensor(np.eye(3) * 2.0)).numpy(),
    lambda: tape.gradcheck.check(smooth, X).ok,
    lambda: tape.autograd.functional.jacobian(smooth, X),
    lambda: tape.utils.checkpoint.checkpoint(lambda t: t * t, tape.tensor(X)).numpy(),
]
found, start = [None] * len(USES), threading.Barrier(len(USES))

def work(k):
    start.wait()
    try:
        found[k] = USES[k]()
    except BaseException:
        failed.append(traceback.format_exc())

threads = [threading.Thread(target=work, args=(k,)) for k in range(len(USES))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, "".join(failed)
for k, use in enumerate(USES):
    np.testing.assert_allclose(found[k], use(), rtol=1e-9, err_msg=str(k))
print("right")
"""


def run(code: str) -> str:
    """What a process prints that compiles, as users' do, when that pays."""
    usual = {name: value for name, value in os.environ.items() if name != "TAPE_JIT"}
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=False, env=usual
    )
    return answer.stdout.strip() + answer.stderr


def test_first_uses_at_once():
    assert run(ALL) == "right"


def test_while_another_thread_imports_arrays_are_recorded():
    code = """
    import threading, numpy as np, tape
    from tape.numpy.opening import closed

    inside, done = threading.Event(), threading.Event()

    def imports():
        with closed():
            inside.set()
            done.wait(30)

    def f(x):
        y = np.zeros(3)
        thread = threading.Thread(target=imports)
        thread.start()
        inside.wait()
        z = np.zeros(3)
        y[:], z[:] = x * x, x
        done.set()
        thread.join()
        return (y * z).sum()

    print(tape.func.grad(f)(np.array([1.0, 2.0, 3.0])))
    """
    assert run(textwrap.dedent(code)) == "[ 3. 12. 27.]"


def test_numba_compiles_code_whose_names_another_thread_records_with():
    code = """
    import threading, numba, numpy as np, tape
    from numpy import float64, zeros

    @numba.njit
    def jitted(n):
        z = zeros(n)
        z[0] = float64(n)
        return z.sum()

    found = []

    def f(x):
        y = zeros(3)
        thread = threading.Thread(target=lambda: found.append(jitted(3)))
        thread.start()
        thread.join()
        z = zeros(3)
        z[:] = x * float64(2.0) + y
        return z.sum()

    before = zeros, float64
    print(tape.func.grad(f)(np.ones(3)), found, (zeros, float64) == before)
    """
    assert run(textwrap.dedent(code)) == "[2. 2. 2.] [3.0] True"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_the_child_of_a_fork_while_another_thread_records():
    code = """
    import os, threading, numpy as np, tape, warnings
    warnings.simplefilter("ignore")
    recording, done = threading.Event(), threading.Event()

    def f(x):
        y = np.zeros(3)
        y[:] = x * x
        recording.set()
        done.wait(60)
        return y.sum()

    thread = threading.Thread(target=lambda: tape.func.grad(f)(np.ones(3)))
    thread.start()
    recording.wait()
    child = os.fork()
    done.set()
    if child == 0:
        plain = type(np).__name__ == "module" and type(np) is type(os)
        print(plain, tape.func.grad(f)(np.ones(3)), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    thread.join()
    """
    assert run(textwrap.dedent(code)) == "True [2. 2. 2.]"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_fork_waits_for_compilations_and_for_rooms_that_are_opened():
    code = """
    import os, threading, time, warnings, tape
    from tape.base import rooms
    from tape.base.jit_door import jitted
    warnings.simplefilter("ignore")
    jitted("sweeps.jitting")
    from llvmlite.binding import ffi
    from numba.core.compiler_lock import global_compiler_lock as lock

    taken, done = threading.Event(), []

    def opens():
        rooms._opening[threading.get_ident()] = 1
        with lock, ffi.lib._lock:
            taken.set()
            time.sleep(0.3)
            done.append("compiled")
        time.sleep(0.1)
        done.append("opened")
        del rooms._opening[threading.get_ident()]

    thread = threading.Thread(target=opens)
    thread.start()
    taken.wait()
    child = os.fork()
    found = []

    def asks():
        with lock, ffi.lib._lock:
            found.append(list(done))

    if child == 0:
        thread = threading.Thread(target=asks, daemon=True)
        thread.start()
        thread.join(20)
        print(found, rooms._opening, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    asks()
    """
    assert run(textwrap.dedent(code)) == "[['compiled', 'opened']] {}"
