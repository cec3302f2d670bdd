"""Hypothesis profiles: ``dev`` by default, ``ci`` under CI, others where asked for.

    HYPOTHESIS_PROFILE=intense pytest

takes two thousand examples of everything.
"""

import contextlib
import gc
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from multiprocessing import get_all_start_methods
from pathlib import Path

import pytest
from _pytest.pathlib import import_path
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

# Jitted from the first sweep on, as in a process that has worked for a while; test_native.py is about the time before.
os.environ.setdefault("TAPE_JIT", "1")

# The matrices of tests are small, and OpenBLAS hands some of them to its threads all the same, where those of one
# worker spin for the processors of the others: a triangular system of 3 unknowns took 4 ms in place of 12 µs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Dask's workers begin as copies of a process that has imported what each of them would import for a second and a half.
if "forkserver" in get_all_start_methods():
    os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")

# A shell may have told its jobs in the background to ignore it, and some tests interrupt what they run.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Fixtures of several test files.
pytest_plugins = ["cold_processes", "command_line", "dask_cluster", "gradcheck_damage", "sweeping"]

# The first example pays for compiling kernels, so that no deadline would be met by luck alone.
settings.register_profile("dev", max_examples=30, deadline=None)
settings.register_profile(
    "ci",
    max_examples=40,
    deadline=None,
    derandomize=True,  # a red run is the fault of the change under test
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("intense", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


COMPILED = """
import numpy as np
import tape

x = tape.tensor([0.25, 0.5, 0.75], requires_grad=True)
(tape.sin(x) * x).sum().backward()
gradient = tape.compile(tape.func.grad(lambda x: (np.sin(x) * x).sum()))
for _ in range(300):
    gradient(np.ones(3))
"""


def pytest_configure(config):
    """What all workers of pytest-xdist need is compiled once, by a process of its own, while they look for tests."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        here = str(Path(find_spec("tape").origin).parents[1])
        # -P: what is installed is compiled, and not the checkout that pytest was started in.
        process = subprocess.Popen([sys.executable, "-P", "-c", COMPILED], env={**os.environ, "PYTHONPATH": here})
        config.add_cleanup(process.wait)
        config.stash[COMPILING] = process


COMPILING = pytest.StashKey[subprocess.Popen]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node):
    """No worker begins before: with few tests to look for, each would compile the same meanwhile."""
    if COMPILING in node.config.stash:
        node.config.stash[COMPILING].wait()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Tens of thousands of tests are made and stay: garbage is not looked for among them meanwhile."""
    gc.disable()
    try:
        import_files(session.config)
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """What a worker of pytest-xdist says of a test that has passed is one short report, not five events.

    Each event is written down, sent, read and shown to all plugins: 1.5 ms of a processor for a test that does nothing.
    """
    options = item.config.option
    if not hasattr(item.config, "workerinput") or options.durations is not None or options.xmlpath:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.passed:
            if report.when != "call":
                continue
            report.keywords = {}
        item.ihook.pytest_runtest_logreport(report=report)
    return True


def import_files(config):
    """Each worker of pytest-xdist begins with other files: what one has compiled of them, the others find on the disk.

    The statements of tests are rewritten before they are compiled, which is half of all the work of looking for tests.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1 or sys.dont_write_bytecode or not hasattr(config, "workerinput"):
        return
    files = [file for folder in map(Path, config.args) for file in sorted(folder.rglob("test_*.py"))]
    first = len(files) * int(config.workerinput["workerid"].removeprefix("gw")) // workers
    for file in files[first:] + files[:first]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # which is told of when its tests are looked for
            import_path(file, mode="prepend", root=config.rootpath, consider_namespace_packages=False)


DEAR = "client", "warm"
"""Fixtures that take some seconds to make: a cluster of processes, caches that a process has filled."""


def pytest_collection_modifyitems(items):
    """Tests that share what is dear to make come first, those that share the same one after the other.

    Each worker of pytest-xdist begins with a long row of tests, so that all of these are one worker's, and nothing dear
    is made by several; what is long, as they are, does not come when the others have nothing left to do.
    """
    items.sort(key=lambda item: [name not in getattr(item, "fixturenames", ()) for name in DEAR])


def pytest_collection_finish(session):
    """What tens of thousands of tests consist of is there to stay: collections of garbage need not look at it."""
    if session.items:
        gc.collect()
        gc.freeze()


def pytest_runtest_teardown(item, nextitem):
    """Nor at what tests of an earlier file have left, millions of objects: reports, and what was compiled.

    Some tests, and the library where it looks for what refers to a view, take back what was set aside.  Records of a
    test that are garbage are dropped: as long as they hold memory that was changed, each gradient looks through all.
    """
    is_last = nextitem is not None and nextitem.path != item.path
    if is_last:
        gc.collect(1)
    wengert, version = map(sys.modules.get, ("tape.recording.wengert", "tape.recording.version"))
    if version is not None and version.CHANGES:
        wengert.current().scan()
    if is_last:
        gc.freeze()
