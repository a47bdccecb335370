"""Settings of the documentation site: make docs."""

from __future__ import annotations

import itertools
import re
from importlib.metadata import version as installed

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

project = "pgsr"
author = "The pgsr developers"
release = version = installed("pgsr")

extensions = ["myst_parser", "sphinx.ext.apidoc", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"pgsr {release}"
html_show_copyright = False
exclude_patterns = ["**/.*"]
nitpicky = False  # types of dependencies have no pages here
# A short name that several modules use, such as Table or Progress, is no broken link: it stays plain text.
suppress_warnings = ["ref.python"]

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3
# Formulas become MathML when the site is built: no script, nothing from the network.
html_math_renderer = "mathml"
myst_update_mathjax = False

# The tree of links is the package as installed: apidoc reads folders and would miss pgsr.models.
apidoc_modules = [
    {
        "path": "../.typing/pgsr",
        "destination": "api",
        "separate_modules": True,
        "module_first": True,
        "max_depth": 2,
    }
]
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "show-inheritance": True,
    # Each name is described once, in the module that defines it, whatever packages re-export it.
    "ignore-module-all": True,
}
autodoc_typehints = "signature"
# Docstrings put code between single backticks, as Markdown does.
default_role = "code"

# A piece of code in backticks, or a character that reStructuredText would read as markup.
MARKUP = re.compile(r"``.+?``|`[^`]+`|[*|]|(?<=\w)_(?=\W|$)")
# Paragraphs that are markup on purpose: fields, directives, lists, examples.
MARKED = re.compile(r"\s*(:|\.\. |[-*+] |\d+[.)] |>>> )")
# Words set in columns.
COLUMNS = re.compile(r"\S {2,}\S")


def paragraph(lines: list[str]) -> list[str]:
    """Rewrite one paragraph: text is escaped, whatever is laid out by hand stays as it is."""
    if MARKED.match(lines[0]):
        return lines
    indents = {len(line) - len(line.lstrip()) for line in lines}
    if len(indents) > 1 or any(COLUMNS.search(line) for line in lines):
        return ["::", "", *("    " + line for line in lines)]
    return [MARKUP.sub(lambda m: m[0] if m[0].startswith("`") else "\\" + m[0], line) for line in lines]


def readable(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Turn a docstring in plain text with Markdown's backticks into reStructuredText."""
    blocks = itertools.groupby(lines, key=lambda line: not line.strip())
    lines[:] = [line for blank, block in blocks for line in ([""] if blank else paragraph(list(block)))]


def mathml(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers show without a script; warn of what cannot be read."""
    block = isinstance(node, nodes.math_block)
    try:
        formula = tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", node.astext(), error, location=node)
        formula = ""
    translator.body.append(f'<div class="math">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
    app.connect("autodoc-process-docstring", readable)
