"""A real Dask cluster for tests: two processes with a thread each, on the loopback interface."""

import contextlib

import pytest

MISSING = "tape.dask needs Dask and distributed: pip install 'wengert[dask]'"


@contextlib.contextmanager
def running(workers=2, **options):
    """A cluster and its client."""
    distributed = pytest.importorskip("distributed", reason=MISSING)
    patience = {"distributed.deploy.lost-worker-timeout": "120s"}  # a busy machine starts a killed worker again late
    with (
        pytest.importorskip("dask").config.set(patience),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=":0",
            silence_logs=50,
            **options,
        ) as cluster,
        distributed.Client(cluster, timeout=60) as client,
    ):
        client.wait_for_workers(workers, timeout=60)
        yield client


HELD = []
"""The cluster of all tests that come one after the other, and what closes it."""


@pytest.fixture
def client():
    """The cluster of all tests, with all of its workers there, as the current one of this test."""
    if not HELD:
        stack = contextlib.ExitStack()
        HELD.append((stack.enter_context(running()), stack))
    found, _ = HELD[0]
    found.wait_for_workers(2, timeout=60)
    with found.as_current():
        yield found


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem):
    """Closed where the next test does not need it: one that only waits takes a seventh of a processor."""
    if HELD and "client" not in getattr(nextitem, "fixturenames", ()):
        _, stack = HELD.pop()
        stack.close()


def blocked(*arrays, rows=50):
    """Arrays as Dask arrays with so many rows in a block."""
    da = pytest.importorskip("dask.array", reason=MISSING)
    return tuple([da.from_array(x, chunks=(rows, *x.shape[1:])) for x in arrays])
