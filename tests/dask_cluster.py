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


@pytest.fixture(scope="module")
def a_cluster():
    """Closed after the tests of a file: one that only waits takes a seventh of a processor."""
    with running() as client:
        yield client


@pytest.fixture
def client(a_cluster):
    """The cluster of this file with all of its workers there, as the current one of this test."""
    a_cluster.wait_for_workers(2, timeout=60)
    with a_cluster.as_current():
        yield a_cluster


def blocked(*arrays, rows=50):
    """Arrays as Dask arrays with so many rows in a block."""
    da = pytest.importorskip("dask.array", reason=MISSING)
    return tuple([da.from_array(x, chunks=(rows, *x.shape[1:])) for x in arrays])
