"""Pictures of the studies: what they show, and files that come out the same again."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.report import inequality as module
from pgsr.report.figures import panels, save, style

pytest.importorskip("matplotlib", reason="pictures need matplotlib (extra report)")

P = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]


def release(index, upper, epsilon, noise, middle):
    spread = np.array([-3, -2, -1, 0, 1, 2, 3]) * 0.01 / float(epsilon)
    return {
        "what": "release",
        "index": index,
        "upper": upper,
        "epsilon": epsilon,
        "noise": noise,
        "truth": 0.5,
        "n": 100,
        "probabilities": P,
        "values": (middle + spread).tolist(),
        "errors": (0.1 + spread).tolist(),
    }


RELEASES = [
    release(index, upper, epsilon, noise, 0.45 + 0.01 * i)
    for index in ("mld", "theil")
    for upper in ("private", "max")
    for epsilon in ("0.5", "1")
    for i, noise in enumerate(("laplace", "paper", "cauchy", "ladder"))
]
LADDERS = [
    {
        "what": "ladder",
        "index": index,
        "n": 100,
        "k": [0, 1, 10, 100],
        "entries": [0.1, 0.2, 0.3, 2.0],
        "global": 2.0,
        "beta": 0.5,
        **extra,
    }
    for index, extra in (("mld", {}), ("theil", {"paper_entries": [0.2, 0.3, 0.4, 2.0]}))
]
SAMPLES = [
    {"index": index, "n": n, "noise": noise, "epsilon": epsilon, "error_50": 1 / n, "error_95": 3 / n}
    for index in ("mld", "theil")
    for n in (100, 1000)
    for noise, epsilon in (("none", ""), ("paper", "1"), ("paper", "2"), ("ladder", "1"), ("ladder", "2"))
]


def labels(axis):
    return axis.get_legend_handles_labels()[1]


def titles(figure):
    return [axis.get_title() for axis in figure.axes]


def test_releases_show_medians_at_each_epsilon():
    figure = module.draw_releases(RELEASES)
    assert titles(figure) == [
        "Mean log deviation, private U",
        "Mean log deviation, U = largest income",
        "Theil index, private U",
        "Theil index, U = largest income",
    ]
    axis = figure.axes[0]
    assert labels(axis) == ["paper", "cauchy", "ladder"]
    medians = {line.get_label(): list(line.get_ydata()) for line in axis.get_lines()}
    assert medians["ladder"] == pytest.approx([0.48, 0.48])
    assert medians["paper"] == pytest.approx([0.46, 0.46])
    assert [text.get_text() for text in axis.get_xticklabels()] == ["0.5", "1"]
    low, high = axis.get_ylim()
    assert low < 0.45
    assert high > 0.5
    bars = axis.collections[-1].get_segments()  # the middle half of the last noise
    np.testing.assert_allclose([segment[:, 1] for segment in bars], [[0.46, 0.5], [0.47, 0.49]])


def test_errors_show_all_noise_on_a_logarithmic_axis():
    figure = module.draw_errors(RELEASES)
    assert labels(figure.axes[0]) == ["laplace", "paper", "cauchy", "ladder"]
    assert all(axis.get_yscale() == "log" for axis in figure.axes)


def test_samples_show_one_line_a_noise_or_an_epsilon():
    figure = module.draw_samples(SAMPLES, epsilon="1")
    assert labels(figure.axes[0]) == ["paper", "ladder", "sampling alone"]
    assert list(figure.axes[1].get_lines()[0].get_ydata()) == [0.03, 0.003]
    assert labels(module.draw_samples(SAMPLES, epsilon="1", left_out=("paper",)).axes[0]) == [
        "ladder",
        "sampling alone",
    ]
    figure = module.draw_samples(SAMPLES, noise="ladder")
    assert labels(figure.axes[3]) == ["epsilon 1", "epsilon 2", "sampling alone"]
    for wrong in ({}, {"epsilon": "1", "noise": "ladder"}):
        with pytest.raises(InputError, match="exactly one"):
            module.draw_samples(SAMPLES, **wrong)


def test_ladders_show_what_the_smooth_sensitivity_takes():
    first, second = module.draw_ladders(LADDERS).axes
    weighted = {line.get_label(): line.get_ydata() for line in first.get_lines()}["weighted by $e^{-0.5k}$"]
    assert weighted[:2] == pytest.approx([0.1, 0.2 * np.exp(-0.5)])
    assert len(second.get_lines()) == len(first.get_lines()) + 1


def test_files_come_out_the_same_again(tmp_path):
    for folder in ("one", "two"):
        paths = save(module.draw_ladders(LADDERS), tmp_path / folder, "ladder")
        assert [path.name for path in paths] == ["ladder.png", "ladder.svg"]
    for name in ("ladder.png", "ladder.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert (tmp_path / "one" / "ladder.png").read_bytes()[:4] == b"\x89PNG"


def test_all_pictures_come_from_a_folder_of_rows(tmp_path):
    given = ["--rows", str(tmp_path), "--out", str(tmp_path / "pictures")]
    with pytest.raises(InputError, match="no such file"):
        module.main(given)
    for name, rows in (("releases", RELEASES + LADDERS), ("sample_errors", SAMPLES)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    module.main(given)
    assert len(list((tmp_path / "pictures").iterdir())) == 2 * 5
    with pytest.raises(InputError, match="no rows of kind 'ladder'"):
        module.draw_ladders(RELEASES)


def test_settings_of_others_stay_as_they_are():
    from matplotlib import rcParams

    before = rcParams["font.size"]
    with style():
        assert rcParams["font.size"] != before
        panels(1, 1)
    assert rcParams["font.size"] == before
