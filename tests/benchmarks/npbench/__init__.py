"""NPBench's kernels, plain NumPy as they stand in its checkout, differentiated by `tape` and by its peers.

    git clone https://github.com/spcl/npbench
    python -m tests.benchmarks.npbench npbench
    python -m tests.benchmarks.npbench npbench --kernel lu --kernel adi --preset paper --json out.json

`suite` reads the checkout, `contenders` differentiate, `judge` compares with differences, `process` does both for
one kernel under limits of time and memory, `table` shows what came of it.
"""
