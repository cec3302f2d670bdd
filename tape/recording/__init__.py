"""The Wengert list and what puts rows into it: applying an op to tensors."""
