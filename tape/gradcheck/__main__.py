"""``python -m tape.gradcheck``: the command where its script is not on the path."""

from .terminal.command import main

main(prog_name="python -m tape.gradcheck")
