"""What an op is, how one is declared, how it applies to batches, and the rules as expressions."""
