"""``python -m tests.benchmarks``: one thread for every library, which must be said before they load."""

import os
from importlib import import_module

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}

if __name__ == "__main__":
    os.environ.update(ONE_THREAD)
    import_module("tests.benchmarks.command").main()
