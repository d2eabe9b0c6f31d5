"""What verbs share."""

from ambidex.cli.options import print_table

PATH = "w[lr=3]/[bold]run[/]/:dog:/000005"


def test_a_table_shows_names_as_they_are(capsys):
    print_table(["run", "[x]"], [[PATH, "[y]"]])
    head, row = capsys.readouterr().out.splitlines()
    assert (head.split(), row.split()) == (["run", "[x]"], [PATH, "[y]"])
