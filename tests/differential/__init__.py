"""Random programs, run on `tape` and on PyTorch, and compared statement by statement.

A program is a list of statements in PyTorch's own words, such as ``v3 = torch.mul(v1, v2)``, each run
with ``torch`` bound to the one library and to the other.  `generate` writes programs by running them on
PyTorch as it goes, so that shapes fit and numbers stay moderate; `compare` runs a program in both worlds;
`minimise` takes out every statement that a difference does not need.

    python -m tests.differential 10000
"""
