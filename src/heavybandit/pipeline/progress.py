"""Progress of long work: a bar in a terminal, lines in a log."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """How much of the work is done, and how long the rest will take."""

    def __init__(
        self, what: str, total: float, *, show: bool = True, stream: TextIO | None = None
    ) -> None:
        self.what, self.total, self.show = what, total, show and total > 0
        self.stream = stream or sys.stderr
        self.finished = self.current = 0.0
        self.shown = 0.0  # never goes back, even when a worker's death makes work undone
        self.bar: Any = None
        self.said: set[str] = set()

    def __enter__(self) -> Progress:
        self.started = self.last_line = time.monotonic()
        if self.show and self.stream.isatty():
            from tqdm import tqdm

            shown = "{desc}: {percentage:3.0f}%|{bar}| {elapsed} so far, {remaining} left"
            look: dict[str, Any] = {
                "bar_format": shown,
                "dynamic_ncols": True,
                "smoothing": 0,  # as in lines: by all that is done, not by what was done last
            }
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
        if self.bar is not None:
            self.bar.update(self.made - self.bar.n)
        elif self.show and time.monotonic() - self.last_line >= SECONDS_BETWEEN_LINES:
            self._line()

    def _line(self) -> None:
        self.last_line = time.monotonic()
        took = max(self.last_line - self.started, 1e-9)
        left = self.total - self.made
        rest = f"about {took * left / self.made:.0f} s left" if self.made else "time left unknown"
        print(
            f"{self.what}: {100 * self.made / self.total:.0f}% done, {took:.0f} s so far, {rest}",
            file=self.stream,
            flush=True,
        )
