from ambidex.cli.runs import print_table
from ambidex.experiment.one_run.progress import Console

PATH = "w[lr=3]/[bold]run[/]/:dog:/000005"


def test_a_warning_names_paths_as_they_are(capsys):
    Console("a run", 100).warn(f"damaged checkpoint passed over: {PATH} {'x' * 200}")
    assert capsys.readouterr().out == f"warning: damaged checkpoint passed over: {PATH} {'x' * 200}\n"


def test_a_table_shows_names_as_they_are(capsys):
    print_table(["run", "[x]"], [[PATH, "[y]"]])
    head, row = capsys.readouterr().out.splitlines()
    assert (head.split(), row.split()) == (["run", "[x]"], [PATH, "[y]"])
