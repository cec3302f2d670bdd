"""Random programs in plain NumPy: buffers, views, writes of every kind, under every transform of `tape`.

`grammar` writes a function as Python source, `program` holds it, and `compare` puts what each transform gives beside
differences of what NumPy computes: right, wrong, or refused.

    python -m tests.corpus --arrays 500
"""
