"""The paper's steps beside the source that transcribes them, whole.

Our wording of each step stands in book/algorithms.toml; the lines are those of `paper.py` whose
comment names the step (`# step 6`, `# steps 8–9`). Neither may be without the other, and together
they must hold every line that the paper numbers, but for those that only close a loop.
"""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MARK = re.compile(r"#\s*steps?\s+(\d+(?:(?:–|,\s*)\d+)*)")


@dataclass(frozen=True)
class Marked:
    """A piece of source whose comment names one step or several."""

    first: int  # its first line in the file
    text: str  # the lines, without their common indentation
    steps: tuple[int, ...]  # the steps that it carries out


@dataclass(frozen=True)
class Paired:
    """Our wording of one step or several, and what carries them out."""

    steps: tuple[int, ...]
    text: str
    source: tuple[Marked, ...]


def numbers(text: str) -> tuple[int, ...]:
    """8–9 → 8, 9; 9, 17 → 9, 17."""
    found: list[int] = []
    for part in text.split(","):
        low, _, high = part.strip().partition("–")
        found += range(int(low), int(high or low) + 1)
    return tuple(found)


def heading(steps: Sequence[int]) -> str:
    """8, 9 → Steps 8–9; 9, 17 → Steps 9, 17; 6 → Step 6."""
    runs: list[list[int]] = []
    for step in steps:
        if runs and step == runs[-1][-1] + 1:
            runs[-1].append(step)
        else:
            runs.append([step])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    return f"{'Step' if len(steps) == 1 else 'Steps'} {', '.join(parts)}"


def marked(source: str, names: Sequence[str]) -> list[Marked]:
    """The marked pieces of the named functions and classes, in the order of the file."""
    lines = source.splitlines()
    definitions = {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    pieces = []
    for name in names:
        if name not in definitions:
            raise ValueError(f"{name} is no function or class of the source")
        definition = definitions[name]
        spans = sorted(_spans(definition), key=lambda span: span[1] - span[0])
        for line, comment in _comments(source):
            if definition.lineno <= line <= _end(definition) and (mark := MARK.match(comment)):
                first, last = next(span for span in spans if span[0] <= line <= span[1])
                text = textwrap.dedent("\n".join(lines[first - 1 : last]))
                pieces.append(Marked(first, text, numbers(mark[1])))
    return sorted(pieces, key=lambda piece: piece.first)


def _end(node: Any) -> int:
    return int(node.end_lineno)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _spans(definition: ast.AST) -> Iterator[tuple[int, int]]:
    """First and last line of every statement and argument; of a compound one, of its head."""
    for node in ast.walk(definition):
        if isinstance(node, ast.stmt | ast.arg):
            body = getattr(node, "body", None)
            yield node.lineno, max(node.lineno, body[0].lineno - 1) if body else _end(node)


def paired(algorithm: dict[str, Any], source: str) -> list[Paired]:
    """Each step of the text with its lines, in the order of the text; both must be complete.

    `lines` of an algorithm says how many the paper numbers, `closing` which of them only close a
    loop or a condition: else a step that neither the text nor the source has would not be missed.
    """
    title = f"Algorithm {algorithm['number']}"
    pieces = marked(source, algorithm["names"])
    told = [step for entry in algorithm["step"] for step in entry["steps"]]
    done = {step for piece in pieces for step in piece.steps}
    for step in told:
        if told.count(step) > 1:
            raise ValueError(f"{title}: the text has step {step} more than once")
        if step not in done:
            raise ValueError(
                f"{title}: step {step} of the text has no line in {', '.join(algorithm['names'])} "
                f"marked '# step {step}'"
            )
    if untold := sorted(done - set(told)):
        raise ValueError(
            f"{title}: the source is marked with step {untold[0]}, but the text has no such step"
        )
    numbered = set(range(1, algorithm["lines"] + 1)) - set(algorithm["closing"])
    if missing := sorted(numbered - done):
        raise ValueError(
            f"{title}: step {missing[0]} of the paper's {algorithm['lines']} is neither in the "
            "text nor in the source, and is not said to close a loop or a condition"
        )
    if unknown := sorted(done - numbered):
        raise ValueError(
            f"{title}: step {unknown[0]} is in the text and in the source, but must be one of the "
            f"paper's {algorithm['lines']} and not close a loop or a condition"
        )
    return [
        Paired(
            tuple(entry["steps"]),
            entry["text"].strip(),
            tuple(piece for piece in pieces if set(piece.steps) & set(entry["steps"])),
        )
        for entry in algorithm["step"]
    ]


def whole(source: str, name: str) -> str:
    """A function or class of the source from its first line to its last, with line numbers."""
    node = next(n for n in ast.parse(source).body if getattr(n, "name", None) == name)
    lines = source.splitlines()[node.lineno - 1 : _end(node)]
    start = f":lineno-start: {node.lineno}"
    return "\n".join(["```{code-block} python", start, "", *lines, "```"])


def page(algorithms: Sequence[dict[str, Any]], source: str, readings: dict[str, str]) -> str:
    """The page in MyST Markdown: the words of each step, and beside them the source, whole.

    A step carries the numbers of its lines as classes, by which a script finds them.
    """
    parts = []
    for algorithm in algorithms:
        parts.append(f"## Algorithm {algorithm['number']}: {algorithm['title']}\n")
        parts.append(algorithm["intro"].strip() + "\n")
        told: set[str] = set()
        steps = [_step(pair, readings, told) for pair in paired(algorithm, source)]
        code = [whole(source, name) for name in algorithm["names"]]
        parts.append(
            "::::::{container} algorithm\n:::::{container} steps\n"
            + "\n".join(steps)
            + "\n:::::\n:::::{container} source\n"
            + "\n\n".join(code)
            + "\n:::::\n::::::\n"
        )
    return "\n".join(parts)


def _step(pair: Paired, readings: dict[str, str], told: set[str]) -> str:
    """One step with its lines' numbers, and the readings it names that were not told before."""
    lines = [
        f"line-{piece.first + i}"
        for piece in pair.source
        for i in range(len(piece.text.splitlines()))
    ]
    named = [name for name in re.findall(r"\bR\d+\b", pair.text) if name not in told]
    told.update(named)
    said = ((name, readings[name]) for name in named)
    notes = "".join(
        f"\n:::{{container}} reading\n**{name}.** {text[0].upper()}{text[1:]}.\n:::"
        for name, text in said
    )
    return (
        f"::::{{container}} step {' '.join(lines)}\n**{heading(pair.steps)}.** {pair.text}\n"
        f"{notes}\n::::"
    )
