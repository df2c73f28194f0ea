"""How a chapter shows things: code of the package, tables with captions, numbers as one reads them.

What is shown is an output like any other: nbval compares it, so it cannot drift from the package.
"""

from __future__ import annotations

import html
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import Markdown

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NOTHING = "–"


def markdown(text: str) -> Markdown:
    """Words that a cell computes, set like the prose around it."""
    from IPython.display import Markdown

    return Markdown(text)  # type: ignore[no-untyped-call]


def source(*things: Any) -> Markdown:
    """The source of functions, methods or classes of the package, as it runs."""
    pieces = [textwrap.dedent(inspect.getsource(thing)).rstrip() for thing in things]
    return markdown("```python\n" + "\n\n\n".join(pieces) + "\n```")


def power(x: float) -> str:
    """A power of ten as 10⁴, and other numbers as 2.5·10⁴; for horizons and what is as large."""
    mantissa, exponent = f"{x:.6e}".split("e")
    digits = mantissa.rstrip("0").rstrip(".").replace("-", "−")
    ten = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return {"1": ten, "−1": f"−{ten}"}.get(digits, f"{digits}·{ten}")


def fixed(x: float, places: int = 2) -> str:
    """So many decimal places, thousands marked; what rounds to 0 has no sign."""
    text = f"{x:,.{places}f}"
    return text.replace("-", "−") if text.strip("-0.,") else text.lstrip("-")


def number(x: float, digits: int = 3) -> str:
    """So many significant digits; from a million on and below a thousandth with a power of ten."""
    if isinstance(x, Integral):
        return fixed(float(x), 0) if abs(int(x)) < 10**6 else power(float(f"{int(x):.{digits}g}"))
    if not math.isfinite(x):
        return NOTHING if math.isnan(x) else ("−" if x < 0 else "") + "∞"
    rounded = float(f"{x:.{digits}g}")
    if rounded == 0:
        return "0"
    size = math.floor(math.log10(abs(rounded)))
    return fixed(rounded, max(0, digits - 1 - size)) if -4 < size < 6 else power(rounded)


Format = Callable[[Any], str] | str


class Table:
    """A table with a caption, as HTML in a notebook and as text elsewhere.

    rows      a DataFrame, whose index names the rows, or a sequence of mappings, column → cell
    caption   what the table shows and in which units
    formats   of a column: a function, or a format such as ".3f"; other numbers as `number` does
    """

    def __init__(
        self,
        rows: pd.DataFrame | Sequence[Mapping[str, Any]],
        caption: str,
        formats: Mapping[str, Format] | None = None,
    ) -> None:
        import pandas as pd

        self.caption = caption
        self._named = isinstance(rows, pd.DataFrame)  # a sequence has no names of its own
        frame = pd.DataFrame(rows)
        asked = dict(formats or {})
        if unknown := set(asked) - set(frame.columns):
            raise ValueError(f"formats must name columns of the table; got {sorted(unknown)}")
        self.frame = pd.DataFrame(
            {c: [cell(x, asked.get(c)) for x in frame[c]] for c in frame.columns},
            index=frame.index.map(lambda x: x if isinstance(x, tuple) else cell(x, None)),
        )
        if frame.index.nlevels == 1:  # its name in the corner, not in a row of its own
            self.frame.columns.name, self.frame.index.name = frame.index.name, None

    def _repr_html_(self) -> str:
        body = self.frame.to_html(index=self._named, border=0)
        head, rest = body.split("\n", 1)
        return f"{head}\n  <caption>{html.escape(self.caption)}</caption>\n{rest}"

    def __repr__(self) -> str:
        return f"{self.caption}\n{self.frame.to_string(index=self._named)}"


def cell(x: Any, form: Format | None) -> str:
    """One cell of a table as it is shown; what rounds to 0 has no sign."""
    if x is None or (isinstance(x, float) and math.isnan(x)):
        return NOTHING
    if callable(form):
        return form(x)
    if form is not None:
        text = format(x, form)
        if not isinstance(x, Real):
            return text
        return text.replace("-", "−") if text.strip("+-0.,") else text.lstrip("+-")
    if isinstance(x, bool) or type(x).__name__ == "bool_":
        return "yes" if x else "no"
    return number(x) if isinstance(x, Real) else str(x)  # type: ignore[arg-type]
