"""Where Chromium is, and what to say when it is not there.

As a program: runs the tests of this folder or, without Chromium, says that they were not run. With
HEAVYBANDIT_BROWSER=required in the environment, that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NOT_RUN = """\
The browser part was NOT run: none of {names} is installed.
To run it, install Chromium (Debian, Ubuntu: apt-get install chromium) and repeat make test."""


def find() -> str | None:
    """The system's Chromium, or a browser built from it."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def sentence() -> str:
    """That the tests were not run, and what to do."""
    return NOT_RUN.format(names=", ".join(NAMES))


def main() -> int:
    """Run the tests if there is a browser to run them in."""
    if find():
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-n",
            "2",
            "--dist",
            "worksteal",
            str(Path(__file__).parent),
        ]
        return subprocess.run(command, check=False).returncode
    print(sentence(), flush=True)
    return int(os.environ.get("HEAVYBANDIT_BROWSER") == "required")


if __name__ == "__main__":
    sys.exit(main())
