"""What several threads ask for at the same moment."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tape.base.locks import once


def test_what_is_made_once_is_made_by_one_thread():
    made = []
    begin = threading.Barrier(8)

    @once
    def costly(n):
        made.append(n)
        time.sleep(0.02)
        return object()

    def ask(_):
        begin.wait()
        return costly(3)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
    assert made == [3]
