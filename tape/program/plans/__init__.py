"""How a list is run: its memory, its kernels, its steps."""
