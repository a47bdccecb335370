"""Self-contained HTML pages: a title, sections, tables, facts, lists and inline pictures; nothing is loaded.

    page = Page(title="Review", lead=[TextBlock("...")], sections=[Section(title="Cost", blocks=[...])])
    page.write(Path("review.html"))

All text is plain and is escaped. The page has no script, unless a table is `sortable` or the page is given
some, and a policy that forbids the browser to load anything.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pgsr.errors import InputError

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

NONE = "'none'"

Tone = Literal["plain", "note", "warning", "quote", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """A paragraph. `tone`: plain, note (a box), warning (a box that stands out), quote, or code as it is."""

    kind: ClassVar[str] = "text"
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListBlock:
    """A list of sentences; `boxes` gives each an empty box to tick, `caption` goes before it."""

    kind: ClassVar[str] = "list"
    items: Sequence[str]
    caption: str = ""
    boxes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsBlock:
    """Names and their values, one line each; values are text or numbers, as in a table."""

    kind: ClassVar[str] = "facts"
    facts: Mapping[str, Any]
    caption: str = ""

    @property
    def cells(self) -> list[tuple[str, Cell]]:
        """Names with their values as they are shown."""
        return [(name, cell(value)) for name, value in self.facts.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBlock:
    """A table: `columns` (headings), `rows` of text, numbers, booleans or None (an empty cell).

    `digits` significant digits of real numbers, `formats` a format of its own for some columns (".3f");
    `marked` the numbers of rows, from 0, that stand out; `sortable` by a click on a heading, with a script;
    `tall`: on a screen the rows scroll under the headings.
    Raises InputError for rows of another length than `columns`.
    """

    kind: ClassVar[str] = "table"
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    digits: int = 4
    formats: Mapping[str, str] = field(default_factory=dict)
    marked: Sequence[int] = ()
    sortable: bool = False
    tall: bool = False

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise InputError("a row of another length", f"table '{self.caption}'", "give one cell a column")

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows as they are shown."""
        ways = [self.formats.get(name, f"#.{self.digits}g") for name in self.columns]
        return [[cell(value, way) for value, way in zip(row, ways, strict=True)] for row in self.rows]

    @property
    def short(self) -> bool:
        """Whether it should stay on one sheet of paper."""
        return len(self.rows) <= 20

    @property
    def numeric(self) -> list[bool]:
        """Of each column, whether it holds numbers alone; these stand at the right."""
        columns = zip(*self.cells, strict=True) if self.rows else ((),) * len(self.columns)
        return [
            any(c.number for c in column) and all(c.number or not c.text for c in column)
            for column in columns
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureBlock:
    """A picture as inline SVG; `svg` from `inline_svg`, `alt` says in words what it shows.

    `name` is the id of the figure, for scripts.
    """

    kind: ClassVar[str] = "picture"
    svg: str = field(repr=False)
    alt: str
    caption: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadingBlock:
    """A heading inside a section."""

    kind: ClassVar[str] = "heading"
    text: str


Block = TextBlock | ListBlock | FactsBlock | TableBlock | PictureBlock | HeadingBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page with a heading, and an entry in the contents."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page: `lead` comes before the contents, `footer` are lines at the end.

    `scripts` are texts of JavaScript of our own, run in this order at the end, without `eval`; `data` is JSON
    for them by the id of its element, with "<" written as an escape; `style` is more CSS.
    """

    title: str
    sections: Sequence[Section]
    lead: Sequence[Block] = ()
    subtitle: str = ""
    footer: Sequence[str] = ()
    scripts: Sequence[str] = field(default=(), repr=False)
    data: Mapping[str, str] = field(default_factory=dict, repr=False)
    style: str = field(default="", repr=False)
    language: str = "en"

    def html(self) -> str:
        """The page as text; InputError for data that could end its element."""
        blocks = [*self.lead, *(block for section in self.sections for block in section.blocks)]
        scripts = list(self.scripts)
        if any(isinstance(block, TableBlock) and block.sortable for block in blocks):
            scripts.append(_file("sort.js"))
        sources = [_hash(script) for script in scripts]
        policy = (
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
            f"script-src {' '.join(sources) or NONE}"
        )
        broken = [name for name, text in self.data.items() if "<" in text]
        if broken:
            raise InputError("data with '<' in it", f"data '{broken[0]}'", "write it as \\u003c")
        template = environment().get_template("page.html")
        return template.render(
            page=self, style=_file("page.css") + self.style, scripts=scripts, policy=policy
        )

    def write(self, path: str | Path) -> None:
        """Write the page to `path`, whole or not at all; InputError also for a missing folder."""
        from pgsr.atomic import atomic_path

        text = self.html()
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows: its text, the number behind it for sorting, and whether it is one."""

    text: str
    sort: str = ""
    number: bool = False


def cell(value: Any, way: str = ".4g") -> Cell:
    """A value as it is shown: real numbers by the format `way`, whole numbers with commas, yes and no."""
    value = value.item() if hasattr(value, "item") else value
    if value is None:
        return Cell("")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, int):
        return Cell(f"{value:,}", str(value), True)
    if isinstance(value, float):
        if math.isnan(value):
            return Cell("")
        return Cell("infinite" if math.isinf(value) else format(value, way).rstrip("."), repr(value), True)
    return Cell(str(value))


def inline_svg(figure: Figure, name: str) -> str:
    """The picture for a `PictureBlock`; `name`, distinct on a page, goes before the ids inside.

    Without metadata, namespaces and declarations, which HTML does without; it refers to nothing outside.
    """
    from io import StringIO

    from pgsr.report.figures import style

    stream = StringIO()
    with style():
        figure.savefig(
            stream, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = text.replace("xlink:href=", "href=")
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    width, height = re.search(r'width="([\d.]+)pt"', text), re.search(r'height="([\d.]+)pt"', text)
    assert width is not None
    assert height is not None
    # Its width at 12 points to an em; on small screens it shrinks to 7/10 of that, and scrolls from there.
    size = float(width[1]) / 12
    look = f'style="width: {size:.4g}em; min-width: min({0.7 * size:.4g}em, 100vw)"'
    return text.replace(height[0], "", 1).replace(width[0], look, 1).strip()


@cache
def environment() -> Environment:
    """The templates of this package, with escaping of everything."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _file(name: str) -> str:
    return (resources.files("pgsr.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """The script's source expression in the policy of the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
