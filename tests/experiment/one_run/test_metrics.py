import csv
import time

import numpy as np
import pytest

from ambidex.experiment.one_run.metrics import COLUMNS, MetricFiles, read_columns


def _row(iteration, value=0.1):
    return [iteration, iteration * 10, value, *[None] * (len(COLUMNS["progress.csv"]) - 3)]


def test_numbers_keep_their_bits(tmp_path):
    files = MetricFiles(tmp_path)
    values = [0.1, 1e-300, np.float32(0.1), np.nextafter(1.0, 2.0), float("nan")]
    files.add("progress.csv", [_row(i, value) for i, value in enumerate(values)])
    files.close()
    read = [float(text) for (text,) in read_columns(tmp_path / "progress.csv", "episode_return")]
    np.testing.assert_array_equal(read, [float(value) for value in values])


def test_rows_after_the_checkpoint_are_dropped_half_written_ones_too(tmp_path):
    files = MetricFiles(tmp_path)
    files.add("progress.csv", [_row(1), _row(2)])
    lengths = files.settle()
    kept = (tmp_path / "progress.csv").read_bytes()
    files.add("progress.csv", [_row(3)])
    files.close()
    with (tmp_path / "progress.csv").open("a") as file:
        file.write("4,40,0.")
    files = MetricFiles(tmp_path, lengths=lengths, steps=20)
    assert (tmp_path / "progress.csv").read_bytes() == kept
    files.add("progress.csv", [_row(3)])
    files.close()
    assert [row[0] for row in read_columns(tmp_path / "progress.csv", "iteration")] == ["1", "2", "3"]


def test_a_file_that_lost_rows_is_not_continued(tmp_path):
    files = MetricFiles(tmp_path)
    files.add("progress.csv", [_row(1)])
    lengths = files.settle()
    files.close()
    (tmp_path / "progress.csv").write_text("iteration\n")
    with pytest.raises(ValueError, match=r"progress.csv .*changed"):
        MetricFiles(tmp_path, lengths=lengths, steps=10)


def test_a_name_with_a_comma_is_quoted(tmp_path):
    files = MetricFiles(tmp_path)
    files.add("symmetry.csv", [(5, 50, "map_m", "a,b", "0", 1.0)])
    files.close()
    with (tmp_path / "symmetry.csv").open() as file:
        assert next(csv.DictReader(file))["transform"] == "a,b"


def test_reading_leaves_out_the_line_that_is_being_written(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,")
    assert read_columns(tmp_path / "x.csv", "b") == [("2",)]
    assert read_columns(tmp_path / "absent.csv", "b") == []
    (tmp_path / "empty.csv").touch()
    assert read_columns(tmp_path / "empty.csv", "b") == []


def test_reading_leaves_out_a_line_that_broke_off_and_names_a_missing_column(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3\n5,6\n")
    assert read_columns(tmp_path / "x.csv", "b", "a") == [("2", "1"), ("6", "5")]
    with pytest.raises(ValueError, match=r"x\.csv lacks the column 'c'"):
        read_columns(tmp_path / "x.csv", "a", "c")


def test_tensorboard_forgets_what_a_resumed_run_does_again(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    files = MetricFiles(tmp_path)
    for steps in (10, 20, 30):
        files.add_scalars(steps, {"train/loss": float(steps)})
    lengths = files.settle()
    files.close()
    time.sleep(1.1)  # TensorBoard reads files by their names, which hold the second
    files = MetricFiles(tmp_path, lengths=lengths, steps=20)
    files.add_scalars(30, {"train/loss": 31.0})
    files.close()
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [
        (10, 10.0),
        (20, 20.0),
        (30, 31.0),
    ]
