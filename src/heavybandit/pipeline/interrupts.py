"""Ctrl-C, written down."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


class Interrupts:
    """Ctrl-C that cannot get lost.

    Python drops an exception that is raised while an object is being finalised, and Ctrl-C is one;
    so it is also written down, and `check` raises it again. Inside another one, what is written
    down is known to both.
    """

    innermost: Interrupts | None = None  # of those that Ctrl-C reaches

    def __enter__(self) -> Interrupts:
        self.asked = self.waits = False
        self.here = (
            threading.current_thread() is threading.main_thread()
            # Neither where Ctrl-C was switched off, nor where it is not Python's to give back.
            and signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None)
        )
        if self.here:
            self.before = signal.signal(signal.SIGINT, self._ask)
            self.outer, Interrupts.innermost = Interrupts.innermost, self
            self.asked = self.outer is not None and self.outer.asked
        return self

    def _ask(self, *_: object) -> None:
        self.asked = True
        if not self.waits:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def later(self) -> Iterator[None]:
        """Let Ctrl-C wait for something short that must not stop half-way."""
        self.waits = True
        try:
            yield
        finally:
            self.waits = False
        self.check()

    def check(self) -> None:
        """Stop here if that was asked for."""
        if self.asked:
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        if self.here:
            signal.signal(signal.SIGINT, self.before)
            Interrupts.innermost = self.outer
            if self.outer is not None:
                self.outer.asked |= self.asked


def check() -> None:
    """Stop here if that was asked for, in work that has no `Interrupts` of its own at hand."""
    if Interrupts.innermost is not None:
        Interrupts.innermost.check()


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Hold Ctrl-C back for a moment in this thread, and for good in what it starts meanwhile.

    A worker would else get it while it imports, before it can leave it to the parent.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on every system
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
