"""How fast `tape` is, beside its peers doing the same work in the same run.

    python -m tests.benchmarks                 all of them, as a table
    python -m tests.benchmarks chain           those whose names begin so
    python -m tests.benchmarks --json out.json --readme

The last keeps every sample in a file, and puts the table into the README.  How fast this tree is beside another one,
such as that before a change, says ``python -m tests.benchmarks.against PATH``.
"""
