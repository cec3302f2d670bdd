"""``python -m tests.benchmarks``: what must be said before the libraries load.

One thread for each of them; and ours is timed as it is in a process that has worked for a while.
"""

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
    os.environ.setdefault("TAPE_JIT", "1")
    import_module("tests.benchmarks.command").main()
