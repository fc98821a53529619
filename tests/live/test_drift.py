"""Drift: low while the same comes, high when something else does, falling as that becomes usual."""

from __future__ import annotations

import numpy as np
import pytest

from scale.cli import main
from scale.live import Knowledge, Watcher
from scale.live.drift import measure
from tests.live.test_novelty import scene
from tests.live.tools import TINY


def test_drift_is_in_units_of_the_spread_whatever_the_scale():
    rng = np.random.default_rng(0)
    past, recent = rng.normal(0, 1, (96, 64)), rng.normal(0, 1, (32, 64))
    same = measure(recent, past)
    assert 0.1 < same < 0.3  # 1 / sqrt(32), and a little for the mean of the past
    assert measure(recent * 7 + 3, past * 7 + 3) == pytest.approx(same)
    assert measure(recent + 2, past) == pytest.approx(2, abs=0.2)
    assert measure(recent, past[:31]) is None
    assert measure(recent, np.ones_like(past)) is None


def test_a_change_of_place_is_seen_and_becomes_usual(tmp_path):
    with Watcher(tmp_path / "live", config=TINY) as watcher:
        knowledge = Knowledge(watcher.store, watcher.learner)
        watcher.feed(scene(40, 90, 0))
        watcher.flush()
        assert knowledge.drift() is None  # too few
        watcher.feed(scene(96, 90, 0))
        watcher.flush()
        usual = knowledge.drift()
        watcher.feed(scene(32, 160, 1))
        watcher.flush()
        other = knowledge.drift()
        watcher.feed(scene(160, 160, 1))
        watcher.flush()
        later = knowledge.drift()
    assert usual < 0.7 < 1 < other
    assert later < other


def test_the_status_says_it(tmp_path, capsys):
    with Watcher(tmp_path / "live", config=TINY) as watcher:
        watcher.observers.append(Knowledge(watcher.store, watcher.learner))
        assert watcher.status()["drift"] is None
        watcher.feed(scene(64, 90, 0) + scene(64, 160, 1))  # 16 batches
        watcher.flush()
        assert watcher.status()["drift"] > 0
    assert main(["status", str(tmp_path / "live")]) == 0
    assert "drift" in capsys.readouterr().out
