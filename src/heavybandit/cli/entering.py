"""A policy of the reader's, through the protocol of the benchmark: tuned if it has knobs, judged.

What comes of it is one small text: the policy's source, what was chosen, and every run on the
held-out cells, so that anyone can run a sample of it again and demand equality.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..own.loading import arguments_of, load, place, told
from ..pipeline import interrupts
from ..pipeline.recipes import Recipe, digest, recipe
from ..pipeline.scratch import bytes_of
from ..pipeline.spec import Plan, Spec, made_with, number
from ..policy import Floats
from ..replication import catalogue  # noqa: F401  (it enters the recorded experiments)
from ..replication import leaderboard as board
from ..replication.protocol import (
    BOARD_SEEDS,
    FIRST_BOARD_SEED,
    FIRST_TUNING_SEED,
    HELD_OUT,
    RANGES,
    SIZES,
    TRAINING,
    TUNING_SEEDS,
    Cell,
    Shown,
    Trial,
    Trials,
    best_apart,
    exact_bound,
    first_step,
    next_step,
)

Sweep = Callable[[Plan], list[dict[str, Any]]]
"""Carries out all runs of a plan; their results, in order."""


@dataclass(frozen=True)
class OwnTrial(Trial):
    """A run of a policy that a file defines; another text in the file makes it another run."""

    file: str = ""
    sha256: str = ""

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "source": self.sha256}

    def make_policy(self, world: Any) -> Any:
        """A fresh policy; it gets the seed if it has an argument of that name."""
        if sha256_of(self.file) != self.sha256:
            raise ValueError(f"{self.file} was changed while its runs were under way")
        build = load(self.file, self.policy.name)
        seeded = {"seed": self.seed} if "seed" in arguments_of(build) else {}
        shape = {"horizon": self.horizon, "n_arms": world.n_arms, "dim": world.dim}
        policy = build(**shape, **dict(self.policy.params), **seeded)
        if policy.plays * policy.rounds > self.horizon:
            raise ValueError(
                f"plays * rounds of {self.policy.name} must be at most horizon={self.horizon}, "
                f"they are {policy.plays} * {policy.rounds}"
            )
        return policy

    @classmethod
    def run(cls, group: Any, report: Any = None) -> list[dict[str, Any]]:
        """A failure in the file is told with its line, and ends no process, whatever it is."""
        try:
            return super().run(group, report)
        except (Exception, SystemExit) as error:
            first, files = group[0], {group[0].file}
            if not place(error, files):
                raise
            raise ValueError(f"{first.policy.name} failed: {told(error, files)}") from error


@dataclass(frozen=True)
class OwnShown(OwnTrial, Shown):
    """The same beside a copy whose payoffs are all 0, which not every policy allows."""

    @classmethod
    def run(cls, group: Any, report: Any = None) -> list[dict[str, Any]]:
        """Without a share where the policy cannot be copied, or fails with such payoffs."""
        results = []
        for spec in group:
            try:
                results += super().run([spec], report)
            except (TypeError, ValueError):
                unknown = {"regret": 0.0, "plays": [spec.horizon], "curve": [0.0]}
                results.append({**unknown, "diagnostics": {"same": None}})
        return results


@dataclass(frozen=True)
class OwnTrials(Trials):
    """Configurations of one such policy in cells."""

    file: str = ""
    sha256: str = ""
    arguments: tuple[str, ...] = ()  # of its constructor

    def told(self, cell: Cell, entry: Recipe) -> Recipe:
        """The entry with what it has arguments for: v bounds the raw moment."""
        known = {"eps": cell.eps, "delta": 0.01}
        if "v" in self.arguments:
            known["v"] = cell.v_factor * exact_bound(cell, entry.name, "theory")
        told = {name: value for name, value in known.items() if name in self.arguments}
        return recipe(entry.name, **{**told, **dict(entry.params)})

    def groups(self) -> Iterator[list[Spec]]:
        for group in super().groups():
            yield [replace(spec, file=self.file, sha256=self.sha256) for spec in group]  # type: ignore[type-var]


def sha256_of(file: str | Path) -> str:
    """A checksum of a file's text."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


@dataclass(frozen=True)
class Own:
    """The reader's policy: a class in a file."""

    file: str
    name: str

    @functools.cached_property
    def arguments(self) -> tuple[str, ...]:
        """Of its constructor."""
        return tuple(arguments_of(load(self.file, self.name)))

    @property
    def knobs(self) -> tuple[str, ...]:
        """Those of the protocol that it has."""
        return tuple(knob for knob in RANGES if knob in self.arguments)

    def trials(
        self, what: str, cells: Sequence[Cell], tried: Sequence[dict[str, float]], **how: Any
    ) -> Plan:
        """These configurations in these cells; `what` is said of it while it is under way."""
        entries = tuple(recipe(self.name, **one) for one in tried)
        return OwnTrials(
            f"{self.name}, {what}",
            "a policy of the reader's in the benchmark",
            tuple(cells),
            len(entries),
            lambda: entries,
            file=self.file,
            sha256=sha256_of(self.file),
            arguments=self.arguments,
            **{"spec": OwnTrial, **how},
        )

    def judged(self, tried: Sequence[dict[str, float]]) -> Plan:
        """These configurations on the board's cells and seeds."""
        seeds = {"seeds": BOARD_SEEDS, "first_seed": FIRST_BOARD_SEED}
        return self.trials(f"judged on {len(HELD_OUT)} cells", HELD_OUT, tried, **seeds)

    def shown(self, tried: Sequence[dict[str, float]]) -> Plan:
        """The same on the first of these seeds, beside copies whose payoffs are all 0."""
        how = {"seeds": 1, "first_seed": FIRST_BOARD_SEED, "spec": OwnShown}
        return self.trials("beside copies whose payoffs are all 0", HELD_OUT, tried, **how)


def per_play(results: Sequence[dict[str, Any]], cells: int, seeds: int) -> Floats:
    """Regret per play made, by cell, seed and entry."""
    made = [one["regret"] / one["plays"][-1] for one in results]
    return np.array(made).reshape(cells, seeds, len(results) // (cells * seeds))


def to_try(knobs: tuple[str, ...], scores: Sequence[float]) -> list[dict[str, float]]:
    """The configurations that the protocol tries, as far as these scores decide which they are."""
    tried = first_step("", knobs)
    for step, end in enumerate(itertools.accumulate(SIZES[:-1]), start=1):
        if len(scores) >= end:
            best = best_apart(tried, scores[:end], step - 1)
            tried += next_step([tried[i] for i in best], step)
    return tried


def scores_of(
    own: Own,
    tried: Sequence[dict[str, float]],
    sweep: Sweep,
    data: str | Path,
    what: str = "tuning",
) -> list[float]:
    """The scores of configurations: mean costs on the training cells."""
    uniform = board.regrets(board.STEPS[0], data)[:, :, 0].mean(axis=1)[:, None, None] / 100
    seeds = {"seeds": TUNING_SEEDS, "first_seed": FIRST_TUNING_SEED}
    plan = own.trials(what, TRAINING, tried, **seeds)
    costs = per_play(sweep(plan), len(TRAINING), TUNING_SEEDS) / uniform
    found: list[float] = costs.mean(axis=(0, 1)).tolist()
    return found


def tune(own: Own, sweep: Sweep, data: str | Path) -> tuple[dict[str, float], list[float]]:
    """The configuration that the protocol chooses, and the scores of all that it tried."""
    scores: list[float] = []
    for step in range(1, 1 + len(SIZES)):
        new = to_try(own.knobs, scores)[len(scores) :]
        scores += scores_of(own, new, sweep, data, f"tuning, step {step} of {len(SIZES)}")
    return chosen(own.knobs, scores), scores


def chosen(knobs: tuple[str, ...], scores: Sequence[float]) -> dict[str, float]:
    """The configuration with the lowest score, of equal ones the first."""
    return to_try(knobs, scores)[int(np.argmin(scores))]


def plays_ahead(own: Own) -> int:
    """How many plays the protocol takes, for tuning and judgement together."""
    tuning = sum(SIZES) * TUNING_SEEDS * sum(cell.horizon for cell in TRAINING)
    # Each run on the first seed is also made beside a copy, which is two more.
    judged = (BOARD_SEEDS + 2) * sum(cell.horizon for cell in HELD_OUT)
    return tuning + 2 * judged if own.knobs else judged


def seconds_per_play(own: Own, plays: int = 1_000) -> float:
    """How long a play takes, by one short run on a training cell after another that warms up."""
    cell = replace(TRAINING[0], horizon=plays)
    (spec,) = own.trials("timed", [cell], [{}], seeds=1, first_seed=FIRST_TUNING_SEED).runs()
    spec.run([spec])
    begin = time.process_time()  # a clock would count what else the machine does just now
    spec.run([spec])
    return (time.process_time() - begin) / plays


def enter(own: Own, sweep: Sweep, data: str | Path) -> dict[str, Any]:
    """Everything that is to be known about an entry, as plain data."""
    best, scores = tune(own, sweep, data) if own.knobs else ({}, [])
    tried = [{}, best] if best else [{}]
    results = sweep(own.judged(tried))
    shown = sweep(own.shown(tried))
    return {
        "protocol": protocol_digest(),
        "made_with": made_with(),
        "policy": own.name,
        "source": Path(own.file).read_text(encoding="utf-8"),
        "knobs": list(own.knobs),
        "scores": scores,
        "entries": tried,
        "runs": [[one["plays"][-1], number(one["regret"])] for one in results],
        "same": [number(one["diagnostics"]["same"]) for one in shown],
    }


def protocol_digest() -> str:
    """A checksum of all that the benchmark runs: entries of other protocols do not compare."""
    return digest([plan.as_json() for plan in (board.STEPS[0], board.JUDGED)])


def read_entry(path: str | Path) -> dict[str, Any]:
    """An entry from its file, or an error that says what is wrong with it."""
    try:
        entry: dict[str, Any] = json.loads(bytes_of(Path(path)))
        cells = len(HELD_OUT) * len(entry["entries"])
        texts = (entry[part] for part in ("protocol", "policy", "source"))
        tuned = bool(entry["knobs"])
        whole = (
            len(entry["runs"]) == cells * BOARD_SEEDS
            and len(entry["same"]) == cells
            and len(entry["scores"]) == (sum(SIZES) if tuned else 0)
            and len(entry["entries"]) == (2 if tuned else 1)
            and entry["made_with"].keys() == made_with().keys()
            and all(isinstance(text, str) for text in texts)
            and entry["entries"][0] == {}  # the policy's own defaults
            and all(isinstance(one, dict) for one in entry["entries"])
            and all(isinstance(one, float) and math.isfinite(one) for one in entry["scores"])
            and all(
                _is_a_run(HELD_OUT[i * len(HELD_OUT) // len(entry["runs"])], *run)
                for i, run in enumerate(entry["runs"])
            )
            and all(isinstance(one, str) and 0 <= float(one or 0) <= 1 for one in entry["same"])
        )
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise ValueError(f"{path} is not an entry that heavybandit board has written, or not whole")
    if entry["protocol"] != protocol_digest():
        raise ValueError(f"{path} was made with another protocol than this version of heavybandit")
    return entry


def _is_a_run(cell: Cell, plays: Any, regret: Any) -> bool:
    """Whether these can be plays and regret in a cell, where means lie between −1 and 1."""
    if type(plays) is not int or not isinstance(regret, str):
        return False
    return 0 < plays <= cell.horizon and 0 <= float(regret) <= 2 * plays


def same_arms(entry: dict[str, Any]) -> Floats:
    """In percent, by cell and entry: rounds with the same arm as if all payoffs were 0, or NaN."""
    shares = np.array([float(one or "nan") for one in entry["same"]])
    return np.asarray(100 * shares.reshape(len(HELD_OUT), len(entry["entries"])))


def check_recorded(data: str | Path) -> None:
    """Refuse a folder without the entries that a new one is tuned and shown beside."""
    board.regrets(board.STEPS[0], data)
    board.flags(data)  # reads the board's regrets too


def costs(entry: dict[str, Any], data: str | Path) -> Floats:
    """Costs in percent of uniform play's mean: by cell, seed and entry (defaults, then tuned)."""
    plays, regret = np.array(entry["runs"], dtype=np.float64).T
    shape = len(HELD_OUT), BOARD_SEEDS, len(entry["entries"])
    uniform = board.regrets(board.JUDGED, data)[:, :, board.PLACES["Uniform"]].mean(axis=1)
    return np.asarray((100 * regret / plays).reshape(shape) / uniform[:, None, None])


@dataclass(frozen=True)
class Checked:
    """What running a sample of an entry again has shown."""

    runs: int  # how many were run again …
    cells: int  # … and from how many cells they are
    shares: int  # of equal arms
    scores: int  # of the tuning
    differences: list[str]


def check(entry: dict[str, Any], data: str | Path, seed: int, plays: float) -> Checked:
    """Run a random sample of an entry's runs again, or all if `plays` is infinite.

    Also one run beside its copy; and of a tuned entry two scores, that of the chosen configuration
    and another one, and whether the choice follows from the scores.
    """
    with tempfile.TemporaryDirectory(prefix="heavybandit-entry-") as folder:
        file = Path(folder) / "entry.py"
        file.write_text(entry["source"], encoding="utf-8")
        own = Own(str(file), entry["policy"])
        if entry["knobs"] != list(own.knobs):
            raise ValueError(
                f"the entry states the knobs {entry['knobs']!r:.60}, and its policy has "
                f"{list(own.knobs)}; it must have been tuned over these"
            )
        rng, differences = np.random.default_rng(seed), list[str]()
        scores: Sequence[int] = range(len(entry["scores"]))
        if scores and plays < math.inf:
            scores = sorted({int(np.argmin(entry["scores"])), int(rng.integers(len(scores)))})
        if scores:
            differences += tuning_differences(own, entry, data, scores)
        specs = own.judged(entry["entries"]).runs()
        drawn = sample(specs, rng, plays)
        for i in drawn:
            interrupts.check()
            result = specs[i].run([specs[i]])[0]
            found = [result["plays"][-1], number(result["regret"])]
            if found != entry["runs"][i]:
                told = f"run {i}, {specs[i].text()}"
                differences.append(f"{told}: {entry['runs'][i]} is stated, {found} comes out")
        beside = own.shown(entry["entries"]).runs()
        shares = range(len(beside)) if plays == math.inf else [int(rng.integers(len(beside)))]
        for i in shares:
            share = number(beside[i].run([beside[i]])[0]["diagnostics"]["same"])
            if share != entry["same"][i]:
                told = f"the same arm as with payoffs of 0, {beside[i].text()}"
                stated = f"{entry['same'][i] or 'nothing'} is stated, {share or 'nothing'}"
                differences.append(f"{told}: {stated} comes out")
    cells = len({specs[i].cell for i in drawn})  # type: ignore[attr-defined]
    return Checked(len(drawn), cells, len(shares), len(scores), differences)


def sample(specs: Sequence[Spec], rng: np.random.Generator, plays: float) -> list[int]:
    """Which runs are run again: one of each cell, then any, as long as their plays last.

    The first is run whatever it takes.
    """
    shuffled = rng.permutation(len(specs)).tolist()
    firsts = {specs[i].cell: i for i in shuffled}.values()
    drawn, spent = list[int](), 0
    for i in dict.fromkeys([*firsts, *shuffled]):
        if drawn and spent + specs[i].plays > plays:
            continue
        drawn.append(i)
        spent += specs[i].plays
    return drawn


def tuning_differences(
    own: Own, entry: dict[str, Any], data: str | Path, which: Sequence[int]
) -> list[str]:
    """What is wrong with the tuning of an entry, by its choice and by these configurations."""
    differences, scores = [], entry["scores"]
    stated, best = entry["entries"][-1], chosen(own.knobs, scores)
    if stated != best:
        differences.append(f"the tuned entry is {stated}, and by its scores it is {best}")
    tried = to_try(own.knobs, scores)

    def one_by_one(plan: Plan) -> list[dict[str, Any]]:
        results = []
        for spec in plan.runs():
            interrupts.check()
            results += spec.run([spec])
        return results

    found = scores_of(own, [tried[i] for i in which], one_by_one, data)
    for i, score in zip(which, found, strict=True):
        if number(score) != number(scores[i]):
            told = f"configuration {i}, {tried[i]}"
            differences.append(f"{told}: a score of {scores[i]} is stated, {score} comes out")
    return differences
