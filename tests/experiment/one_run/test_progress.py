from ambidex.experiment.one_run.progress import Console

PATH = "w[lr=3]/[bold]run[/]/:dog:/000005"


def test_a_warning_names_paths_as_they_are(capsys):
    Console("a run", 100).warn(f"damaged checkpoint passed over: {PATH} {'x' * 200}")
    assert capsys.readouterr().out == f"warning: damaged checkpoint passed over: {PATH} {'x' * 200}\n"


def test_a_line_says_which_return_is_which(capsys):
    Console("a run", 100).update(steps=100, episode_return=38.21, best=49.04)
    assert capsys.readouterr().out == "a run: 100 of 100 steps, training return 38.2, best evaluation 49.0\n"
