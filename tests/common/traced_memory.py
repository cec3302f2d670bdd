"""How much memory Python and NumPy take meanwhile."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor


def peak_of_another_call(function, *args):
    """The most bytes at once that a call takes of what has been called before, where no test has left records."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_peak, function, args).result()


def _peak(function, args):
    function(*args)
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
