from ambidex.experiment.one_run.progress import Console

PATH = "w[lr=3]/[bold]run[/]/:dog:/000005"


def test_a_warning_names_paths_as_they_are(capsys):
    Console("a run", 100).warn(f"damaged checkpoint passed over: {PATH} {'x' * 200}")
    assert capsys.readouterr().out == f"warning: damaged checkpoint passed over: {PATH} {'x' * 200}\n"
