"""Sphinx's settings for the reading edition; gather.py copies this file beside the sources."""

from __future__ import annotations

import re
from typing import Any

import heavybandit

project = "heavybandit"
author = "The heavybandit authors"
version = release = heavybandit.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
]

# The notebooks are shown as they are committed: nbval has compared their numbers already.
nb_execution_mode = "off"
nb_merge_streams = True
nb_code_prompt_show = "code"
nb_code_prompt_hide = "code"
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_dmath_double_inline = True  # a displayed formula may end a sentence
myst_heading_anchors = 4
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"no-value": True}
autodoc_type_aliases = {"Floats": "Floats", "FloatArray": "FloatArray", "Ints": "Ints"}
add_module_names = False
toc_object_entries_show_parents = "hide"  # a method stands below its class

html_theme = "sphinx_book_theme"
html_title = "heavybandit"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["book.css"]
SCRIPTS = ("lines.js", "math.js", "tables.js", "figures.js", "fold.js", "steps.js", "found.js")
html_js_files = [(name, {"defer": "defer"}) for name in SCRIPTS]
# Without its menu MathJax makes no formula a stop of the Tab key.
mathjax3_config = {"options": {"enableMenu": False}}
html_context = {"default_mode": "auto"}
html_copy_source = False
html_use_index = False  # search finds what an index would list
html_domain_indices = False
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
html_theme_options = {
    "navbar_start": [],
    "navbar_center": [],
    "navbar_end": [],
    "navbar_persistent": [],  # the sidebar has the search; on a phone, the page's own head
    # Tables and source beside words need the width that a page's own contents would take.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "index": [],
        "algorithms": [],
        "poster": [],
        "explorer": [],
        "errata": [],
    },
    "use_download_button": False,
    "use_fullscreen_button": False,
    "home_page_in_toc": True,
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")  # how Sphinx spells an alias within a type
ARRAY = r"~?(numpy\.)?ndarray\[tuple\[[^]]*\], ~?(numpy\.)?dtype\[~?(numpy\.)?{}\]\]"
FLOATS, INTS = (re.compile(ARRAY.format(kind)) for kind in ("float64", "int64"))


# NumPy's ArrayLike, spelled out.
ARRAY_LIKE = re.compile(r"_Buffer \| ~?[\w.]*_SupportsArray\[.*?\] \| .*?complex \| bytes \| str\]")
TYPING = re.compile(r"~typing\.")
POWER = re.compile(
    r"[\^_]\{((?:[^{}]|_\{[^{}]*\})*)\}|\^(\w+)|(?:(?<=\b[a-zA-Zα-ω])|(?<=\u0302))_([a-zα-ω\d])(?![a-zα-ω\d_])"
)
LOWERED = str.maketrans("t−01", "ₜ₋₀₁")  # a subscript of a subscript


def set_power(match: re.Match[str]) -> str:
    """x^{a}, x_{a} and x_a as reStructuredText."""
    role = "sup" if match[0].startswith("^") else "sub"
    words = match[1] or match[2] or match[3]
    words = re.sub(r"_\{([^{}]*)\}", lambda below: below[1].translate(LOWERED), words)
    return f"\\ :{role}:`{words}`\\ "


# Names or a case, two spaces or more, and what they are; what goes on is indented as far.
ENTRY = re.compile(r"(\w+(?:, \w+)*|[^:]+:) {2,}(\S.*)")


def set_words(text: str) -> str:
    """Words of a docstring: code in backticks is code, and nothing else is taken for markup."""
    parts = re.split(r"`+([^`]+)`+", text)
    plain = [re.sub(r"([\\*|<>`:])", r"\\\1", part) for part in parts[::2]]
    parts[::2] = [re.sub(r"(?<!\\)_", r"\_", POWER.sub(set_power, part)) for part in plain]
    parts[1::2] = [f"\\ ``{part}``\\ " for part in parts[1::2]]
    return "".join(parts)


def restructured(lines: list[str]) -> list[str]:
    """A docstring as it stands, in reStructuredText: nothing in it is taken for markup.

    Only code in backticks is set as code, names beside their meanings become a list, and indented
    lines keep their layout.
    """
    out: list[str] = []
    layout = entry = False
    for line in lines:
        indented = line.startswith("    ")
        if entry and indented:
            out[-1] += " " + set_words(line.strip())
            continue
        named = None if indented else ENTRY.fullmatch(line)
        if named:
            out += [] if entry else [""]
            out.append(f"- ``{named[1]}`` {set_words(named[2])}")
        elif indented and not layout:
            out += ["", ".. code-block:: text", ""]
        elif (layout or entry) and line.strip() and not indented:
            out.append("")
        layout = indented or (layout and not line.strip())
        entry = bool(named)
        if layout:
            out.append(line)
        elif not named:
            out.append(set_words(line))
    return out


NO_WORDS = "Alias for field number"  # what Python says of a named tuple's members
LONGEST_VALUE = 120  # signs of a constant's value that are shown


def as_it_stands(*event: Any) -> None:
    """The docstring's lines, the last argument of the event, are changed in place."""
    lines: list[str] = event[-1]
    lines[:] = [] if str(lines[0]).startswith(NO_WORDS) else restructured(lines)


def briefly(*event: Any) -> tuple[str | None, ...]:
    """Arrays by their short names: spelled out, NumPy's types would hide everything else."""
    parts = list(event[-2:])
    names = ((FLOATS, "Floats"), (INTS, "Ints"), (ALIAS, r"\1"), (ARRAY_LIKE, "ArrayLike"))
    for long, short in (*names, (TYPING, "")):
        parts = [part and long.sub(short, part) for part in parts]
    return tuple(parts)


def without_long_values(*event: Any) -> None:
    """A constant of pages of text is named, not printed: its source is where it is read."""
    for value in list(event[-1].parent.findall(lambda node: node.tagname == "desc_annotation")):
        if value.astext().startswith(" = ") and len(value.astext()) > LONGEST_VALUE:
            value.parent.remove(value)


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", briefly)
    app.connect("autodoc-process-docstring", as_it_stands)
    app.connect("object-description-transform", without_long_values)
