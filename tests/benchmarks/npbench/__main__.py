"""``python -m tests.benchmarks.npbench PATH``: one thread for every library, which must be said before they load."""

import os
from importlib import import_module

from ..__main__ import ONE_THREAD

if __name__ == "__main__":
    os.environ.update(ONE_THREAD)
    import_module("tests.benchmarks.npbench.command").main()
