"""Sphinx's settings for the reading edition; `make book` copies this file beside the sources."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import heavybandit

sys.path.append(str(Path(__file__).parent))  # where gather.py was copied too
from gather import restructured

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
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_dmath_double_inline = True  # a displayed formula may end a sentence
myst_heading_anchors = 4
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"no-value": True}
autodoc_type_aliases = {"Floats": "Floats", "FloatArray": "FloatArray", "Ints": "Ints"}
add_module_names = False

html_theme = "sphinx_book_theme"
html_title = "heavybandit"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["book.css"]
html_js_files = [("tables.js", {"defer": "defer"})]
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
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "algorithms": []},
    "use_download_button": False,
    "use_fullscreen_button": False,
    "home_page_in_toc": True,
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


FLOATS = re.compile(
    r"~?(numpy\.)?ndarray\[tuple\[[^]]*\], ~?(numpy\.)?dtype\[~?(numpy\.)?float64\]\]"
)


def as_it_stands(*event: Any) -> None:
    """The docstring's lines, the last argument of the event, are changed in place."""
    lines: list[str] = event[-1]
    lines[:] = restructured(lines)


def briefly(*event: Any) -> tuple[str | None, ...]:
    """NumPy's type of an array of floats, spelled out, would hide everything else."""
    return tuple(part and FLOATS.sub("Floats", part) for part in event[-2:])


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", briefly)
    app.connect("autodoc-process-docstring", as_it_stands)
