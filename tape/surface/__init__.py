"""What `help`, editors, type checkers and notebooks are told: signatures, formulas, examples, stubs, pictures."""
