"""Python's half of the jitted sweep: where it begins, and the stops where Python takes a record over."""
