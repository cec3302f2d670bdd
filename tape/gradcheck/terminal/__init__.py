"""The command: what is written on its line, and what it prints and draws."""
