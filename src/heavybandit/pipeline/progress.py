"""Progress of long work: a bar in a terminal, lines in a log."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any, TextIO

SECONDS_BETWEEN_LINES = 10.0
ENOUGH = 0.05  # of the work, to tell from it how long the rest will take


class Forgiving:
    """A stream that drops what cannot be written, on a full disk or after it was closed.

    Work should not stop because its progress cannot be shown.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self.stream.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def say(sentence: str) -> None:
    """Tell whoever reads this process's errors, if that is possible."""
    if sys.stderr is not None:
        print(sentence, file=Forgiving(sys.stderr), flush=True)


class Progress:
    """How much of the work is done, and how long the rest will take."""

    def __init__(
        self, what: str, total: float, *, show: bool = True, stream: TextIO | None = None
    ) -> None:
        self.what, self.total, self.show = what, total, show and total > 0
        self.stream: Any = Forgiving(stream or sys.stderr)
        self.finished = self.current = 0.0
        self.shown = 0.0  # never goes back, even when a worker's death makes work undone
        self.begun: tuple[float, float] | None = None  # when the first work came, and how much
        self.bar: Any = None
        self.said: set[str] = set()

    def __enter__(self) -> Progress:
        self.started = self.last_line = time.monotonic()
        if self.show and self.stream.isatty():
            from tqdm import tqdm

            shown = "{desc}: {percentage:3.0f}%|{bar}| {elapsed} so far{postfix}"
            look: dict[str, Any] = {"bar_format": shown, "dynamic_ncols": True}
            self.bar = tqdm(total=self.total, desc=self.what, file=self.stream, **look)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()
        elif self.show and kind is None:
            self._line()

    def advance(self, work: float) -> None:
        """So much work belongs to runs that are finished now."""
        self.finished += work
        self._show()

    def under_way(self, work: float) -> None:
        """So much of unfinished runs is done."""
        self.current = work
        self._show()

    def note(self, sentence: str) -> None:
        """Say something once, beside the bar."""
        if self.show and sentence not in self.said:
            self.said.add(sentence)
            print(f"{self.what}: {sentence}", file=self.stream, flush=True)

    @property
    def made(self) -> float:
        """Work done, of finished runs and of those under way; it never falls."""
        self.shown = max(self.shown, min(self.finished + self.current, self.total))
        return self.shown

    def _show(self) -> None:
        if self.begun is None and self.made:
            self.begun = time.monotonic(), self.made
        if self.bar is not None:
            self.bar.set_postfix_str(self._rest(), refresh=False)
            self.bar.update(self.made - self.bar.n)
        elif self.show and time.monotonic() - self.last_line >= SECONDS_BETWEEN_LINES:
            self._line()

    def _rest(self) -> str:
        """How long the rest will take, as the work since the first took: before it is compiling."""
        left = self.total - self.made
        if not left:
            return "about 0 s left"
        begun, before = self.begun or (0.0, self.made)
        if self.made - before < ENOUGH * self.total:
            return "time left unknown"
        return f"about {(time.monotonic() - begun) * left / (self.made - before):.0f} s left"

    def _line(self) -> None:
        self.last_line = time.monotonic()
        done, took = 100 * self.made / self.total, self.last_line - self.started
        print(
            f"{self.what}: {done:.0f}% done, {took:.0f} s so far, {self._rest()}",
            file=self.stream,
            flush=True,
        )
