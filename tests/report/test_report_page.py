"""Self-contained pages: well-formed, escaped, without anything from outside."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.report.page import (
    FactsBlock,
    HeadingBlock,
    ListBlock,
    Page,
    PictureBlock,
    Section,
    TableBlock,
    TextBlock,
    cell,
    inline_svg,
)

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Reader(HTMLParser):
    """Tags that are not closed in order, ids, links, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.bad: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("src", "href", "srcset", "action", "data") if name in given]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


def sound(html: str) -> Reader:
    """The page parsed: tags in order, ids once, links to places of its own alone."""
    reader = read(html)
    assert (reader.open, reader.bad) == ([], [])
    assert len(set(reader.ids)) == len(reader.ids)
    assert {link for link in reader.links if link[1:] not in reader.ids or link[0] != "#"} == set()
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", html)
    return reader


def figure():
    from pgsr.report.figures import panels, style

    with style():
        made, (axis,) = panels(1, 1)
        axis.plot([1, 2], [2, 1], label="a < b & c")
        axis.legend()
    return made


def page(**more) -> Page:
    blocks = [
        HeadingBlock(text="A heading <h>"),
        TextBlock(text="x < y & z"),
        TextBlock(text="mind <this>", tone="warning"),
        TextBlock(text="a\n b", tone="code"),
        ListBlock(items=["<li>", "two"], caption="list", boxes=True),
        FactsBlock(facts={"name & <n>": "<b>bold</b>", "whole": 12345, "empty": None}),
        TableBlock(columns=["a<b", "x"], rows=[["<script>alert(1)</script>", 0.25], ["b", None]], marked=[0]),
    ]
    return Page(title="Title & <t>", sections=[Section(title="S <1>", blocks=blocks)], **more)


def test_all_text_is_escaped_and_the_page_is_well_formed() -> None:
    html = page(lead=[TextBlock(text="<lead>")], footer=["<foot>"], subtitle="<sub>").html()
    reader = sound(html)
    text = "".join(reader.text)
    for part in ("x < y & z", "<b>bold</b>", "<script>alert(1)</script>", "S <1>", "<lead>", "<foot>"):
        assert part in text
    assert "<script" not in html
    assert "12,345" in text


def test_pictures_keep_their_ids_apart() -> None:
    blocks = [PictureBlock(svg=inline_svg(figure(), name), alt='a "picture"') for name in ("one", "two")]
    html = Page(title="t", sections=[Section(title="s", blocks=blocks)]).html()
    reader = sound(html)
    assert any(name.startswith("one-") for name in reader.ids)
    assert "xmlns" not in html
    assert "metadata" not in html


def test_scripts_are_those_that_the_policy_names() -> None:
    table = TableBlock(columns=["a"], rows=[[1]], sortable=True, tall=True)
    html = Page(title="t", sections=[Section(title="s", blocks=[table])], scripts=["let x = 1"]).html()
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert scripts[0] == "let x = 1"
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in html
    assert "script-src &#39;none&#39;" in page().html()


def test_data_of_scripts_cannot_end_their_element() -> None:
    made = page(data={"rows": '{"a": 1}'})
    assert '<script type="application/json" id="rows">{"a": 1}</script>' in made.html()
    with pytest.raises(InputError, match="<"):
        page(data={"rows": '"</script>"'}).html()


@pytest.mark.parametrize(
    ("value", "text", "number"),
    [
        (0.123456, "0.1235", True),
        (np.float64(4.2), "4.200", True),
        (1234567, "1,234,567", True),
        (1234.4, "1234", True),
        (np.int64(3), "3", True),
        (True, "yes", False),
        (None, "", False),
        (float("nan"), "", False),
        (float("inf"), "infinite", True),
        ("1.0", "1.0", False),
    ],
)
def test_cells(value, text, number) -> None:
    found = cell(value, "#.4g")
    assert (found.text, found.number) == (text, number)


def test_columns_of_numbers_stand_at_the_right() -> None:
    table = TableBlock(columns=["a", "b", "c"], rows=[["x", 1, None], ["y", None, None]])
    assert table.numeric == [False, True, False]
    assert TableBlock(columns=["a"], rows=[]).numeric == [False]
    with pytest.raises(InputError, match="another length"):
        TableBlock(columns=["a"], rows=[[1, 2]])


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch) -> None:
    page().write(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page().html()
    broken = Page(title="t", sections=[Section(title="s", blocks=[object()])])
    with pytest.raises(Exception):  # noqa: B017, PT011
        broken.write(tmp_path / "broken.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
