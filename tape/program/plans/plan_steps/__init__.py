"""The steps of a plan: which records are steps, the words of each, and where their operands lie."""
