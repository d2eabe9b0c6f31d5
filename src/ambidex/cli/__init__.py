"""The command line: one file per step of the flow; parses, calls, prints."""

from ambidex.cli.command_line import app as app
from ambidex.cli.command_line import main as main
