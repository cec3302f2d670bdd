"""What hangs on rows of the list: nodes, hooks, saved values; the rules of one row, and when rows are garbage."""
