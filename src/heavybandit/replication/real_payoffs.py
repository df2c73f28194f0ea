"""Notebook 10, real payoffs: a randomised experiment in health insurance, replayed.

The RAND Health Insurance Experiment (1974–1982) drew an insurance plan for each family. Here an arm
is the share of the bill that the patient pays, and the payoff is minus the visits to a doctor in a
year. `data/rand_hie.csv` is what `derive` makes of the file that statsmodels ships:

    statsmodels 0.15.0, statsmodels/datasets/randhie/src/randhie.csv, SHA-256 SOURCE_SHA256
    licence: "This is in the public domain." (statsmodels/datasets/randhie/data.py)
    first published with Cameron and Trivedi, Microeconometrics (Cambridge, 2005)

`pip install heavybandit[logs]` installs statsmodels; without it the table is read as it is stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..own.replay import Replay, replay
from ..pipeline.recipes import policies
from ..policy import Floats
from . import plotting

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TABLE = "rand_hie.csv"
SOURCE_SHA256 = "fe64f3c8e987779daa6052dd756d9ce277e025330f5549126c7c2f6a3c9c5541"
RATES = {"free": (0,), "25 %": (25,), "50 %": (50,), "95 or 100 %": (95, 100)}
"""The arms: coinsurance rates, the two highest as one, since no site had both."""
LEFT_OUT = 2  # the site at which the rate of 50 % was not drawn
TRAITS = ("diseases", "limited", "child", "female")  # what is known of a person beforehand
UNIT = 40.0  # visits: payoffs are counted in these, so that no linear model needs ‖θ‖ above 1


def derive() -> pd.DataFrame:
    """The table from statsmodels' file: one row per person and year, in that file's order.

    A household is all persons with the same site, plan and income; the file has no family number.
    """
    import pandas as pd

    found = find_spec("statsmodels")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("statsmodels is needed: pip install heavybandit[logs]")
    source = Path(found.origin).parent / "datasets" / "randhie" / "src" / "randhie.csv"
    content = source.read_bytes()
    if hashlib.sha256(content).hexdigest() != SOURCE_SHA256:
        raise ValueError(f"{source.name} of statsmodels is not the file that this was made for")
    raw = pd.read_csv(source)
    return pd.DataFrame(
        {
            "household": raw.groupby(["site", "plan", "income"], sort=False).ngroup(),
            "person": raw.groupby("zper", sort=False).ngroup(),
            "site": raw.site,
            "year": raw.year,
            "rate": raw.coins,
            "deductible": raw.idp,
            "visits": raw.mdvis,
            "diseases": raw.disea.round(1),
            "limited": raw.physlm.round(2),
            "child": raw.child,
            "female": raw.female,
        }
    )


def people(folder: str | Path) -> pd.DataFrame:
    """The stored table, with the arm that each person was given; `rate` is in percent."""
    import pandas as pd

    table = pd.read_csv(Path(folder) / TABLE)
    arms = {rate: arm for arm, rates in enumerate(RATES.values()) for rate in rates}
    return table.assign(arm=table.rate.map(arms))


class Log(NamedTuple):
    """What `hb.replay` asks for, in its order, and the households for its interval."""

    contexts: Floats
    arms: Any
    payoffs: Floats
    propensities: Floats
    households: Any


def log_of(table: pd.DataFrame, seed: int) -> Log:
    """The rows in a random order: features, the arm given, minus the visits, and shares by site.

    The features of arm a are 1 and the traits, each divided by its largest value, in block a of as
    many blocks as there are arms, and 0 elsewhere; all divided by the longest context.
    """
    order = np.random.default_rng(seed).permutation(len(table))
    rows = table.iloc[order]
    traits = rows[list(TRAITS)].to_numpy(dtype=np.float64)
    features = np.column_stack([np.ones(len(rows)), traits / traits.max(axis=0)])
    features /= np.sqrt((features**2).sum(axis=1).max())
    n, d, K = *features.shape, len(RATES)
    contexts = np.zeros((n, K, K, d))
    contexts[:, np.arange(K), np.arange(K)] = features[:, None]
    shares = shares_by_site(table)
    return Log(
        contexts.reshape(n, K, K * d),
        rows.arm.to_numpy(),
        -rows.visits.to_numpy() / UNIT,
        shares.loc[rows.site].to_numpy(),
        rows.household.to_numpy(),
    )


def listed_backwards(log: Log) -> Log:
    """The same log with its arms numbered from the last to the first."""
    last = log.contexts.shape[1] - 1
    return log._replace(
        contexts=np.ascontiguousarray(log.contexts[:, ::-1]),
        arms=last - log.arms,
        propensities=np.ascontiguousarray(log.propensities[:, ::-1]),
    )


def shares_by_site(table: pd.DataFrame) -> pd.DataFrame:
    """The share of each arm among the rows of a site, one row per site."""
    import pandas as pd

    return pd.crosstab(table.site, table.arm, normalize="index").reindex(
        columns=range(len(RATES)), fill_value=0.0
    )


class Always:
    """Plays one arm, whatever it sees."""

    plays, rounds = 1, 10**9

    def __init__(self, arm: int) -> None:
        self.arm = arm

    def select(self, contexts: Floats) -> int:
        return self.arm

    def update(self, payoffs: Floats) -> None:
        pass


def judged(policy: Any, log: Log) -> Replay:
    """A policy's replay on a log."""
    return replay(policy, *log[:4], groups=log.households)


def replays(names: Sequence[str], logs: Sequence[Log]) -> dict[str, list[Replay]]:
    """Replays of policies of the package with their defaults, fresh ones on each of the logs.

    They are built for as many plays as a log has rounds. One that needs a bound v on the raw second
    moment is given that of the payoffs.
    """
    kinds = policies()
    n, K, d = logs[0].contexts.shape
    v = float((logs[0].payoffs ** 2).mean())
    bounds: dict[str, dict[str, float]] = {
        name: {"v": v} if "v" in signature(kinds[name]).parameters else {} for name in names
    }
    return {
        name: [judged(kinds[name](n, K, d, **more), log) for log in logs]
        for name, more in bounds.items()
    }


def visits(runs: Sequence[Replay]) -> dict[str, float]:
    """Visits per person and year: means over several orders of the log, and the orders' range.

    Payoffs are minus visits, so that the upper limit of one is the lower limit of the other.
    """

    def mean(name: str) -> float:
        return float(np.mean([getattr(run, name) for run in runs]))

    return {
        "visits": -UNIT * mean("mean"),
        "from": -UNIT * mean("high"),
        "to": -UNIT * mean("low"),
        "smallest estimate": -UNIT * max(run.mean for run in runs),
        "largest estimate": -UNIT * min(run.mean for run in runs),
        "rounds used": round(mean("used")),
        "effective sample size": round(mean("effective")),
    }


def more_than(
    runs: Sequence[Replay], control: Sequence[Replay], logs: Sequence[Log], comparisons: int
) -> dict[str, float]:
    """How many visits more a policy has than a control, and simultaneous 95 % limits.

    Runs belong to the logs, which hold the same households in different orders. A household's share
    in the difference is the mean over the orders of what its rounds move the two estimates by;
    limits are Student's, with households as units, and Bonferroni's for so many comparisons.
    """
    from scipy.special import stdtrit

    moved = np.zeros(1 + max(int(log.households.max()) for log in logs))
    for sign, several in ((1, runs), (-1, control)):
        for run, log in zip(several, logs, strict=True):
            off = run.weights * (log.payoffs[run.rounds] - run.mean) / run.weights.sum()
            moved += sign * np.bincount(log.households[run.rounds], off, len(moved)) / len(logs)
    m = len(np.unique(logs[0].households))
    error = UNIT * float(np.sqrt(m / (m - 1) * (moved**2).sum()))
    limit = float(stdtrit(m - 1, 1 - 0.025 / comparisons)) * error
    more = visits(runs)["visits"] - visits(control)["visits"]
    return {"difference": more, "at least": more - limit, "at most": more + limit}


def differences(
    runs: Mapping[str, Sequence[Replay]], control: Sequence[Replay], logs: Sequence[Log]
) -> pd.DataFrame:
    """`more_than` a control for each policy, with limits that hold for all of them together."""
    import pandas as pd

    found = {name: more_than(several, control, logs, len(runs)) for name, several in runs.items()}
    return pd.DataFrame(found).T


def shares(runs: Mapping[str, Sequence[Replay]]) -> pd.DataFrame:
    """By policy, the weighted share of the rounds in which it chose each arm: means over orders."""
    import pandas as pd

    K = len(RATES)
    found = {
        name: np.mean(
            [np.bincount(run.arms, run.weights, K) / run.weights.sum() for run in several], axis=0
        )
        for name, several in runs.items()
    }
    return pd.DataFrame(found, index=list(RATES)).T


def difference_figure(table: pd.DataFrame, best: float, title: str) -> Figure:
    """Visits minus those under uniform play, with limits; `best` is that of the best fixed arm."""
    figure, ax = plotting.panels(size=(7.6, 0.36 * len(table) + 1.5))
    spans = list(zip(table["at least"], table["at most"], strict=True))
    plotting.rows(ax, list(table.index), list(table["difference"]), spans=spans)
    plotting.rule(ax, 0.0, "uniform play")
    plotting.rule(ax, best, "best fixed arm")
    ax.set_xlabel("difference from uniform play, visits per person and year (negative: fewer)")
    plotting.finding(figure, title)
    return figure
