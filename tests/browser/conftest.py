"""One browser, one page and one server for all tests of the reading edition."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from . import chromium

BOOK = Path(__file__).parents[2] / "build" / "book" / "html"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
SETTLED = "() => window.MathJax?.startup?.promise?.then(() => null)"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and keeps no log; one connection and one compilation do for all pages."""

    protocol_version = "HTTP/1.1"

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    path = chromium.find()
    if path is None:
        pytest.fail(chromium.sentence(), pytrace=False)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """Serves a folder on this machine alone, on a free port; returns its address."""
    servers = []

    def start(folder: Path) -> str:
        handler = partial(Quiet, directory=str(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def book(serve: Callable[[Path], str]) -> str:
    """The address of the built book."""
    if not (BOOK / "index.html").is_file():
        pytest.fail(f"{BOOK} holds no book: build it with make book", pytrace=False)
    return serve(BOOK)


@pytest.fixture(scope="session")
def page(browser: Browser) -> Iterator[Page]:
    """The page that all tests use in turn."""
    made = browser.new_page()
    made.set_default_timeout(20_000)
    yield made
    made.close()


def load(page: Page, address: str, *, width: int = 1280, dark: bool = False) -> Page:
    """Open an address as a reader would who comes for the first time; formulas are set."""
    if page.url.startswith("http"):
        page.evaluate("() => localStorage.clear()")
    page.goto("about:blank")  # else an address that differs in its fragment alone would not load
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
    page.goto(address)
    page.evaluate(SETTLED)
    return page


@pytest.fixture
def open_page(page: Page, book: str) -> Callable[..., Page]:
    """open_page("bounds.html", width=375, dark=True): a page of the book, loaded."""

    def open(path: str, *, width: int = 1280, dark: bool = False) -> Page:
        return load(page, book + path, width=width, dark=dark)

    return open


@pytest.fixture
def bounds_page(open_page: Callable[..., Page]) -> Page:
    """The page "What the bounds say"."""
    return open_page("bounds.html")
