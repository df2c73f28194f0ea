"""The list of all numbers on all pages: in digits and in words, in code and in formulas too.

`prose` ties the numbers of README, of the guide and of findings to what they come from. All others
are only listed, in `replication/numbers.txt`, one line for each paragraph that has any, so that a
number changed in the text alone makes a test fail wherever it stands. After a change that is meant,
`python tests/listing.py` writes the list anew; its diff shows which numbers changed.
"""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("replication") / "numbers.txt"
GENERATED = re.compile(r"(?s)<!-- claims: begin -->.*?<!-- claims: end -->")
NUMBER = re.compile(
    r"[−±+]?\d(?:[\d.,]*\d)?|[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[₀₁₂₃₄₅₆₇₈₉]+|[½⅓⅔¼¾⅛]"
    r"|(?i:\b(?:zero|once|twice|thrice|half|halves|thirds?|quarters?"
    r"|(?:four|fif|six|seven|eigh|nin|ten|twentie|thirtie|hundred|thousand)ths?|none|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty|thirty|forty|fifty|sixty|seventy"
    r"|eighty|ninety|dozens?|hundreds?|thousands?|(?:m|b|tr)illions?)\b)"
)


def pages() -> dict[str, str]:
    """The text of every page; of notebooks that of their cells of text, and what describes figures
    to those who do not see them."""
    names = ["README.md", "CLAIMS.md", "ERRATA.md"]
    names += sorted(f"book/{path.name}" for path in (ROOT / "book").glob("*.md"))
    found = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        texts += re.findall(r"(?ms)^alt = (.*?)^plotting\.show", code)
        found[f"notebooks/{path.name}"] = "\n\n".join(texts)
    return found


def listed(text: str) -> list[str]:
    """A line for each paragraph with numbers: how it begins, and its numbers in order."""
    lines = []
    for paragraph in re.split(r"\n\s*\n", GENERATED.sub("", text)):
        if numbers := NUMBER.findall(paragraph):
            begins = re.sub(r"[^A-Za-z ]+", " ", paragraph).split()[:4]
            lines.append(f"{' '.join(begins)}: {' '.join(numbers)}")
    return lines


def everything() -> str:
    """The whole list."""
    return "\n".join("\n".join([f"# {name}", *listed(text), ""]) for name, text in pages().items())


def changes() -> list[str]:
    """What differs from the list, - as listed and + as found, below the name of its page."""
    was, now = LIST.read_text(encoding="utf-8").splitlines(), everything().splitlines()
    found, page = [], ""
    for line in difflib.ndiff(was, now):
        if line[2:].startswith("# "):
            page = line[2:]
        elif line[0] in "+-":
            found += [page] if page not in found else []
            found.append(line)
    return found


if __name__ == "__main__":
    print("\n".join(changes() if LIST.exists() else []))
    LIST.write_text(everything(), encoding="utf-8")
