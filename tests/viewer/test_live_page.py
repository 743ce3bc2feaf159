"""The live page, served by a small server with answers written beforehand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Route, expect

from memory_fabric.viewer.page import content_security_policy, page
from viewer.conftest import Opener
from viewer.pictures import shop, tier

RECALLED: dict[str, Any] = {
    "query": "pagination",
    "total_results": 2,
    "sources": {"records": 1, "graph": 1},
    "results": [
        {
            "id": "record:1",
            "text": "Use cursor-based pagination for all list endpoints",
            "score": 0.889,
            "source": "records",
            "timestamp": "2026-11-16T10:00:00.000Z",
            "entities": ["cursor-pagination", "list-endpoints"],
            "metadata": {
                "type": "decision",
                "why": "offset pagination timed out",
                "trust": "user",
                "record": "00000003-9793-7a31-b01c-26048dc00003",
                "parts": {"bm25": 0.4, "words held": 0.4},
                "score_parts": {
                    "recency": 0.3,
                    "relevance": 0.4197,
                    "authority": 0.1692,
                    "times": 1.0,
                },
                "over": False,
            },
            "prompt": "would be given",
        },
        {
            "id": "graph:2",
            "text": "<b>offset</b> pagination",
            "score": 0.35,
            "source": "graph",
            "timestamp": "",
            "entities": ["offset-pagination"],
            "metadata": {
                "entityType": "antipattern",
                "trust": "tool",
                "score_parts": {
                    "recency": 0.03,
                    "relevance": 0.3,
                    "authority": 0.17,
                    "times": 0.85,
                },
            },
            "prompt": "below the floor of relevance",
        },
    ],
    "paths": [],
    "failures": [],
    "notes": ["Answered from the journal."],
    "searched": [{"word": "pagination", "strength": 1.3}],
    "silence": "",
}
HISTORY = [
    {
        "id": "c1",
        "kind": "remember",
        "at": "2026-11-16T10:00:00.000Z",
        "by": {"source": "cli", "trust": "user", "author": "ann"},
        "store": "project",
        "what": "remembered decision: <i>cursors</i>",
        "undone": False,
    }
]


class Canned(ThreadingHTTPServer):
    """Serves the live page and answers of the API; notes what was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.asked: list[tuple[str, Mapping[str, list[str]]]] = []
        self.picture = {**shop().made(), "live": True}
        self.tiers = self.picture["tiers"]
        self.failing = False

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def answer(self, path: str, question: Mapping[str, list[str]]) -> tuple[str, str]:
        """The kind and the text of an answer."""
        self.asked.append((path, question))
        if path == "/":
            return "text/html", page({}, live=True)
        if self.failing:
            refused = {"code": 1, "message": "The disk is full.", "remedy": "Free some space."}
            return "application/json", json.dumps({"error": refused})
        status = {"tiers": self.tiers}
        answers = {
            "picture": self.picture,
            "recall": RECALLED,
            "history": HISTORY,
            "status": status,
        }
        return "application/json", json.dumps(answers[path.removeprefix("/api/")])


class Answering(BaseHTTPRequestHandler):
    """One request."""

    server: Canned

    def do_GET(self) -> None:
        """Answer it."""
        asked = urlsplit(self.path)
        kind, text = self.server.answer(asked.path, parse_qs(asked.query))
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        policy = content_security_policy(True) + "; frame-ancestors 'none'"
        self.send_header("Content-Security-Policy", policy)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal quiet."""


@pytest.fixture
def server() -> Iterator[Canned]:
    """A server that answers until the test is over."""
    with Canned() as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def test_it_fetches_its_picture_and_draws_it(open_page: Opener, server: Canned) -> None:
    page = open_page.visit(server.address)

    expect(page.locator("#drawn")).to_have_text("20 of 20 entities drawn")
    assert [path for path, _ in server.asked] == ["/", "/api/picture"]


def test_a_search_is_answered_by_recall_with_its_explanation(
    open_page: Opener, server: Canned
) -> None:
    page = open_page.visit(server.address + "#/search?q=pagination %26 more")

    hits = page.locator(".hit")
    expect(hits).to_have_count(2)
    expect(hits.nth(0)).to_contain_text("recency 0.30 + relevance 0.42 + authority 0.17")
    expect(hits.nth(0)).to_contain_text("relevance: bm25 0.4, words held 0.4")
    expect(hits.nth(0)).to_contain_text("a prompt would be given it")
    expect(hits.nth(0).locator("mark").first).to_have_text("pagination")
    expect(hits.nth(1)).to_contain_text("× 0.85")
    expect(hits.nth(1)).to_contain_text("not given to a prompt: below the floor of relevance")
    expect(hits.nth(1).locator(".what")).to_have_text("<b>offset</b> pagination")
    expect(page.locator("#hits")).to_contain_text("Answered from the journal.")
    path, question = server.asked[-1]
    assert (path, question["q"]) == ("/api/recall", ["pagination & more"])
    hits.nth(0).locator(".what a").click()
    expect(page.locator(".card.wanted .what")).to_contain_text("Use cursor-based pagination")


def test_an_entity_asks_for_its_history(open_page: Opener, server: Canned) -> None:
    page = open_page.visit(server.address + "#/entity/cursor-pagination")

    expect(page.locator("#history li")).to_have_text(
        "16 Nov 2026 remembered decision: <i>cursors</i> · ann cli"
    )
    assert server.asked[-1][1]["name"] == ["cursor-pagination"]


def test_memory_can_be_read_again(open_page: Opener, server: Canned) -> None:
    page = open_page.visit(server.address)
    grown = shop()
    grown.entity("Kafka", "technology", days=0)
    server.picture = {**grown.made(), "live": True}

    page.click("#again")

    expect(page.locator("#drawn")).to_have_text("21 of 21 entities drawn")


def test_of_two_readings_the_newer_counts_whichever_is_answered_first(
    open_page: Opener, server: Canned
) -> None:
    page = open_page.visit(server.address)
    held: list[Route] = []
    page.route("**/api/picture", lambda route: held.append(route))
    newest = shop()
    newest.entity("Kafka", "technology", days=0)

    for number in (1, 2):
        with page.expect_request("**/api/picture"):
            page.click("#again")
        while len(held) < number:  # the page's request is seen before it is routed
            page.wait_for_timeout(10)
    held[1].fulfill(json={**newest.made(), "live": True})
    expect(page.locator("#drawn")).to_have_text("21 of 21 entities drawn")
    held[0].fulfill(json={**shop().made(), "live": True})
    page.wait_for_load_state("networkidle")

    expect(page.locator("#drawn")).to_have_text("21 of 21 entities drawn")


def test_a_failed_reading_is_said_once_and_forgotten_when_one_succeeds(
    open_page: Opener, server: Canned
) -> None:
    page = open_page.visit(server.address + "#/status")
    server.failing = True
    for _ in range(3):
        with page.expect_response("**/api/picture"):
            page.click("#again")
    expect(page.locator("#unread")).to_have_count(1)
    expect(page.locator("#unread")).to_have_text("The disk is full. Free some space.")

    server.failing = False
    page.click("#again")

    expect(page.locator("#unread")).to_have_count(0)


@pytest.mark.parametrize("answer", ["null", "[]", "{}", "5", '{"entities":null}'])
def test_another_program_that_answers_takes_nothing_from_the_page(
    open_page: Opener, server: Canned, answer: str
) -> None:
    page = open_page.visit(server.address)
    page.route("**/api/picture", lambda route: route.fulfill(body=answer))

    page.click("#again")

    expect(page.locator("#unread")).to_contain_text("What answers here is no memory.")
    expect(page.locator("#drawn")).to_have_text("20 of 20 entities drawn")


def test_the_status_is_as_it_is_now(open_page: Opener, server: Canned) -> None:
    server.tiers = [tier("graph", "unavailable", ("It cannot be opened.", "Run repair."))]

    page = open_page.visit(server.address + "#/status")

    expect(page.locator(".tier")).to_have_count(1)
    expect(page.locator(".tier h2")).to_contain_text("unavailable")
    expect(page.locator(".remedy")).to_have_text("→ Run repair.")


def test_a_failure_of_the_server_is_told_with_its_remedy(open_page: Opener, server: Canned) -> None:
    page = open_page.visit(server.address + "#/status")
    server.failing = True

    page.fill("#find", "anything")
    page.press("#find", "Enter")

    expect(page.locator("#hits .notice")).to_have_text("The disk is full. Free some space.")
