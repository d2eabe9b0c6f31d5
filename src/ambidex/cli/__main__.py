"""``python -m ambidex.cli``."""

from ambidex.cli.command_line import main

main()
