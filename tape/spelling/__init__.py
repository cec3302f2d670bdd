"""Functions and methods under PyTorch's names, where they are not one op with one signature."""
