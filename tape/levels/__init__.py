"""Tensors of transformations: batches under `vmap`, duals in forward mode."""
