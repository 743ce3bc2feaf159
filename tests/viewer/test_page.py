"""The page as a text: what it is put together from, and what it may do."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from memory_fabric.viewer import page
from viewer.pictures import shop

ASSETS = Path(str(page.ASSETS))
OURS = sorted(
    path
    for folder in (ASSETS, ASSETS / "styles", ASSETS / "graph")
    for path in folder.iterdir()
    if path.is_file()
)


class Elements(HTMLParser):
    """The scripts and styles of a page as a browser would find them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self.found.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.found and self.cdata_elem == self.found[-1][0]:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)


def test_graph_data_embedded_in_the_page_is_read_back_unchanged() -> None:
    picture = {"name": "</script><!-- & \u2028\u2029 \ud800 \x00 ü 🧑‍🚒", "n": [1, None, True]}

    text = page.embedded(picture)

    assert json.loads(text) == picture
    assert not set(text) & set("<>&\u2028\u2029\ud800")
    assert "ü" in text


def test_the_content_security_policy_allows_only_the_scripts_and_styles_of_the_page() -> None:
    policy = page.content_security_policy(False)

    elements = Elements(page.page(shop().made())).found

    run = [(tag, text) for tag, attributes, text in elements if attributes.get("type") is None]
    assert [tag for tag, _ in run] == ["style", "script", "script"]
    for _, text in run:
        digest = hashlib.sha256(text.encode()).digest()
        assert f"'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "unsafe" not in policy


def test_a_saved_page_allows_no_connection_and_a_live_page_only_to_its_own_server() -> None:
    snapshot = page.content_security_policy(False)
    live = page.content_security_policy(True)

    assert snapshot.startswith("default-src 'none'; ")
    assert "connect-src 'none'" in snapshot
    assert live == snapshot.replace("connect-src 'none'", "connect-src 'self'")
    assert snapshot.endswith("base-uri 'none'; form-action 'none'")


def test_the_page_itself_contains_its_content_security_policy() -> None:
    assert f'content="{page.content_security_policy(True)}"' in page.page({}, live=True)


def test_a_live_page_does_not_embed_the_graph() -> None:
    text = page.page(shop().made(), live=True)

    assert '<script type="application/json" id="memory">{"live":true}</script>' in text
    assert "cursor-pagination" not in text


def test_an_entity_name_that_looks_like_a_template_placeholder_is_not_replaced() -> None:
    picture = shop()
    picture.entity("{{script}}")

    assert '"name":"{{script}}"' in page.page(picture.made())


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.name))
def test_the_page_never_interprets_text_as_html_or_code(path: Path) -> None:
    text = path.read_text("utf-8")

    makers = r"innerHTML|outerHTML|insertAdjacentHTML|\beval\b|new Function|document\.write|srcdoc"
    assert not re.search(makers, text)
    assert not re.search(r"<[^>]*\son\w+=", text)


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.name))
def test_no_asset_contains_an_external_url(path: Path) -> None:
    addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+\S*", path.read_text("utf-8"))

    assert [a for a in addresses if not a.startswith("http://www.w3.org/2000/svg")] == []


def test_every_script_and_style_asset_is_included_in_the_page_exactly_once() -> None:
    scripts = [str(path.relative_to(ASSETS)) for path in OURS if path.suffix == ".js"]
    assert sorted(page.SCRIPTS) == sorted(scripts)
    assert sorted(page.STYLES) == [path.name for path in OURS if path.suffix == ".css"]


def test_the_vendored_graph_library_matches_the_checksum_in_the_readme() -> None:
    readme = (ASSETS / "vendor/README.md").read_text("utf-8")
    stated = re.search(r"sha256 of force-graph.min.js: `(\w{64})`", readme)

    content = (ASSETS / page.LIBRARY).read_bytes()

    assert stated and hashlib.sha256(content).hexdigest() == stated[1]


def test_the_licences_of_the_graph_library_and_its_dependencies_are_included() -> None:
    licences = (ASSETS / "vendor/LICENSES.txt").read_text("utf-8")

    for name in ("force-graph", "d3-force-3d", "d3-zoom", "d3-ease", "tinycolor2", "preact"):
        assert re.search(rf"^{name} \((MIT|ISC|BSD-3-Clause)\)$", licences, re.MULTILINE)
