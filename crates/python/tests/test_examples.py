"""The two incidents: direction and size of the effect, and that the scripts run and draw."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

from common import ROOT


def load(name):
    specification = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def picture(path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    image = pyplot.imread(path)
    assert image.shape[0] > 400 and image.shape[1] > 600
    colours = np.unique((image[..., :3] * 255).astype(int).reshape(-1, 3), axis=0)
    assert len(colours) > 50, "lines in several colours"


def test_fp8_loses_with_k_on_hopper_and_promotion_stops_it(tmp_path):
    example = load("fp8_accumulation")
    results = {length: example.errors(length) for length in (128, 1024, 4096)}
    hopper, promoted, blackwell = ([results[length][name] for length in results] for name in example.RUNS)
    # 13 bits below the largest term: some percent at K = 4096, more with every doubling
    assert 0.01 < hopper[2][0] < 0.2 and hopper[2][1] > 3 * hopper[1][1] > 20 * hopper[0][1]
    # promotion keeps what 128 elements lose, whatever K is
    assert all(largest < 2e-3 for largest, _ in promoted)
    assert hopper[2][1] > 50 * promoted[2][1]
    # Blackwell keeps 25 bits
    assert blackwell[2][0] < 1e-5 and promoted[2][1] > 100 * blackwell[2][1]
    pytest.importorskip("matplotlib")
    example.draw(results, tmp_path / "fp8.png")
    picture(tmp_path / "fp8.png")


def test_fp16_training_fails_with_input_flushing_and_holds_with_either_remedy(tmp_path):
    example = load("fp16_training")
    results = {name: example.train(setting, steps=60) for name, setting in example.SETTINGS.items()}
    h100, mi300x, flushed, cast, scaled = results.values()
    assert flushed["subnormal"].mean() > 0.9
    assert flushed["loss"][-1] > 0.6 and flushed["right"][-1] < 0.65, "no better than guessing"
    for name in set(results) - {"MI250X, FP16"}:
        assert results[name]["loss"][-1] < 0.1 and results[name]["right"][-1] > 0.97, name
    # the forward pass alone is nearly the same everywhere
    assert np.ptp([result["loss"][0] for result in (h100, mi300x, flushed, cast, scaled)]) < 1e-2
    pytest.importorskip("matplotlib")
    example.draw(results, tmp_path / "fp16.png")
    picture(tmp_path / "fp16.png")
