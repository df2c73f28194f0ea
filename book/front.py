"""The landing page's strip of verdicts and findings, and the paper in its own order as one page."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from heavybandit.replication import board_tables, claims
from heavybandit.replication.claims import Claim, superscripts

SIGNS = {  # verdict → class, sign and words of the legend
    claims.HOLDS: ("holds", "✓", "hold"),
    claims.SILENT: ("silent", "·", "hold, but say nothing at this scale"),
    claims.OTHER_MECHANISM: ("other", "↻", "reproduced, by another mechanism"),
    claims.REPAIRED: ("repaired", "✎", "false as printed, hold as repaired"),
    claims.NOT_REPRODUCED: ("failed", "✗", "not reproduced"),
    claims.OPEN: ("open", "?", "cannot be settled"),
}


def section_of(entry: Claim) -> str:
    """3.1 of Section 3.1, Lemma 1; what is in no section, the abstract, is section 0."""
    found = re.match(r"Section ([\d.]+)", entry.where)
    return found[1] if found else "0"


def in_order(entries: Sequence[Claim]) -> list[Claim]:
    """In the order of the paper's sections."""
    return sorted(entries, key=lambda one: [int(part) for part in section_of(one).split(".")])


def strip(entries: Sequence[Claim]) -> str:
    """One square per statement in the order of the paper, each a link, and a legend with counts."""
    squares, counts = [], Counter(entry.verdict for entry in entries)
    for entry in in_order(entries):
        kind, sign, _ = SIGNS[entry.verdict]
        said = html.escape(f"{entry.where}: {entry.verdict}")
        page = entry.notebook.replace(".ipynb", ".html")
        squares.append(
            f'<li><a class="verdict-{kind}" href="{page}" title="{said}" aria-label="{said}">'
            f"{sign}</a></li>"
        )
    legend = " · ".join(
        f'<span class="verdict-{kind}">{sign}</span> {counts[verdict]} {words}'
        for verdict, (kind, sign, words) in SIGNS.items()
        if counts[verdict]
    )
    return (
        f'```{{raw}} html\n<ul class="verdicts" aria-label="{len(entries)} statements of the paper '
        f'in its order, each with its verdict">{"".join(squares)}</ul>\n'
        f'<p class="verdicts-legend">{len(entries)} statements: {legend}</p>\n```'
    )


def section(text: str, heading: str) -> str:
    """What stands under a heading of a Markdown text."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    if not found:
        raise ValueError(f"README.md must have a section {heading!r}")
    return found[1].strip()


def findings(readme: str) -> str:
    """The bold sentences of the numbered findings of README.md, with the chapters they name."""
    lines = []
    for one in re.findall(r"^\d\. .*(?:\n {3}.*)*", section(readme, "What was found"), re.M):
        bold = re.match(r"\d\. \*\*(.*?)\*\*", one, re.S)
        chapters = dict.fromkeys(re.findall(r"\[\d\d\]\([^)]*\)", one))
        if bold and chapters:
            noun = "chapter" if len(chapters) == 1 else "chapters"
            sentence = " ".join(bold[1].removesuffix(".").split())
            lines.append(f"1. {sentence} ({noun} {', '.join(chapters)}).")
    if len(lines) != 3:
        raise ValueError(
            f"README.md must have 3 findings with a bold sentence and a chapter each: {len(lines)}"
        )
    return "\n".join(lines)


def answers(entries: Sequence[Claim], board: pd.DataFrame) -> str:
    """Three questions that readers come with, answered with the recorded numbers."""
    by_id = {entry.id: entry.evidence for entry in entries}
    told = [by_id[id] for id in ("sec6-outperform-t", "sec6-outperform-pareto")]
    shares = [one[at]["same arm"] for one in told for at in one if at.startswith("T = ")]
    if min(shares) < 1:
        raise ValueError(f"SupBMM does look at payoffs: the same arm in {min(shares)} of rounds")
    lower = by_id["thm-3"]
    first = lower["printed γ, moments at most 2, K = 4, ε = 1: refuted from d"]
    most = lower["d = 16,001, T = 10⁶: uniform play on any such instance, at most"]
    skewed = board_tables.skewed(board)
    costs = skewed.groupby("policy", sort=False)["cost"].mean().sort_values()
    ridge, safe = costs["GreedyRidge, tuned"], costs["SafeRidge, defaults"]
    cells = skewed["cell"].nunique()
    gap = skewed["over_ridge"] + skewed["over_ridge_off"]
    below = skewed[gap < 0]["cell"].nunique()
    of_one = skewed[gap < 0].groupby("policy")["cell"].nunique().max() if below else 0
    less = f"in {below} of these worlds some entry costs significantly less than tuned ridge"
    less += f" regression, but no entry does in more than {of_one} of them"
    if not below:
        less = "in none of these worlds does an entry cost significantly less than that"
    least = re.sub(r"^(\w+), tuned$", r"tuned \1", str(costs.index[0]))
    return f"""\
**Does SupBMM learn in Section 6?** No, not with the printed constants and the first arm whose
confidence interval is still wide as "some arm": it chooses the same arm in
{100 * min(shares):.0f} % of rounds when every payoff is replaced by 0, with both noises and at 10⁴,
10⁵ and 10⁶ plays
([chapter 06](../notebooks/06_section_6.ipynb)).

**Where is Theorem 3 wrong?** In its γ, for large d. With K = 4, ε = 1 and second moments of at
most 2, as in its proof, it is false from d = {first:,} on: at d = 16,001 and 10⁶ plays it claims
a regret of {lower["claimed there"]:,}, and uniform play has at most {most:,}
([chapter 05](../notebooks/05_theorem_3.ipynb)).

**Which policy costs least with skewed noise, and by how much?** On average over the {cells}
held-out worlds with skewed noise: {least}, {costs.iloc[0]:.1f} % of uniform play; tuned ridge
regression costs {ridge:.1f} %, and SafeRidge, which needs no tuning, {safe:.1f} %. No policy is
shown to be the best one there: {less}
([chapter 09](../notebooks/09_beyond_the_paper.ipynb)). [The guide](guide.md) says what to run."""


def poster(sections: Sequence[dict[str, Any]], entries: Sequence[Claim]) -> str:
    """The paper in its order: of each section one claim, its verdict, a figure and a link."""
    by_id = {entry.id: entry for entry in entries}
    parts: list[str] = []
    told: set[str] = set()
    for one in sections:
        if one["claim"] not in by_id:
            raise ValueError(f"poster.toml names the claim {one['claim']}, which is not settled")
        lead = by_id[one["claim"]]
        here = [entry for entry in entries if section_of(entry) in one["sections"]]
        told.update(entry.id for entry in here)
        others = [f"{SIGNS[e.verdict][1]} {place(e)}" for e in here if e.id != lead.id]
        kind, sign, _ = SIGNS[lead.verdict]
        parts.append(
            f"::::{{container}} panel\n:::{{container}} panel-title\n{one['title']}\n:::\n"
            f"**{lead.where}.** {superscripts(lead.statement)}.\n\n"
            f":::{{container}} panel-verdict verdict-{kind}\n{sign} {lead.verdict}\n:::\n"
            f"![{one['alt']}](../figures/{one['figure']}.svg)\n\n"
            + (f":::{{container}} panel-others\n{' · '.join(others)}\n:::\n" if others else "")
            + f"[Chapter {lead.notebook[:2]}](../notebooks/{lead.notebook})\n::::\n"
        )
    if missing := [entry.id for entry in entries if entry.id not in told]:
        raise ValueError(f"poster.toml has no section for the claim {missing[0]}")
    return "\n".join(parts)


def place(entry: Claim) -> str:
    """Lemma 1 of Section 5.1, Lemma 1; where there is no such name, the statement itself."""
    return entry.where.partition(", ")[2] or superscripts(entry.statement)
