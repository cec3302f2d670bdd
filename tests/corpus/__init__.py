"""Random functions with branches, loops and looks at values, compiled and compared with what they do by themselves.

`grammar` writes a function as Python source, `tree` holds its statements, `world` runs it, `compare` calls it
compiled and eagerly at inputs that take other paths, and `minimise` takes out what a mismatch does not need.

    python -m tests.corpus 2000
    python -m tests.corpus --arrays 500

The latter are programs in plain NumPy, which `arrays` writes and compares.
"""
