"""Work on a Dask cluster of two processes, beside its peers on the same."""
