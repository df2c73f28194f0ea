"""The cost along a run of SupBTC, drawn."""

from dataclasses import replace

import numpy as np
import pytest

from heavybandit.replication import theorem_2
from tiny import some_runs


def test_the_cost_along_a_run_is_the_regret_between_checkpoints_per_play(monkeypatch):
    """The first seed's regret is 2 after 5 plays and 3 after 10: costs of 0.4 and 0.2."""
    two_seeds = np.array([5, 10]), np.array([[2.0, 3.0], [9.0, 9.0]])
    monkeypatch.setattr(theorem_2, "curves", lambda *_: two_seeds)
    found = [replace(some_runs([0.0], T), policy="SupBTC") for T in (10, 100)]
    figure = theorem_2.cost_figure(found, 0.25, "data", "a finding")
    assert [ax.get_title() for ax in figure.axes] == ["SupBTC, T = 10¹", "SupBTC, T = 10²"]
    steps = figure.axes[0].patches[0].get_data()
    assert steps.values.tolist() == pytest.approx([0.4, 0.2])
    assert steps.edges.tolist() == [0, 5, 10]
    assert set(figure.axes[1].lines[0].get_ydata()) == {0.25}  # uniform play
