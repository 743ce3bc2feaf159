"""The live page, served by a small server with answers written beforehand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from memory_fabric.viewer.page import content_security_policy, page
from viewer.conftest import Opener, expect_place, expect_value, reload
from viewer.pictures import Pictured, days_ago, shop, tier
from waiting import until

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
        # Other projects of the home by their ids, and how the list names them.
        self.others: dict[str, dict[str, Any]] = {}
        self.listed: list[dict[str, Any]] = []
        # The list of projects is answered once this is set.
        self.may_list = threading.Event()
        self.may_list.set()
        self.failing = False
        self.recalled = RECALLED

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def questions(self, path: str) -> list[Mapping[str, list[str]]]:
        """What was asked of one part of the API; questions side by side come in any order."""
        return [question for asked, question in self.asked if asked == path]

    def answer(self, path: str, question: Mapping[str, list[str]]) -> tuple[str, str]:
        """The kind and the text of an answer."""
        self.asked.append((path, question))
        if path == "/":
            return "text/html", page({}, live=True)
        if self.failing:
            refused = {"code": 1, "message": "The disk is full.", "remedy": "Free some space."}
            return "application/json", json.dumps({"error": refused})
        project = question.get("project", [""])[0]
        if project not in ("", *self.others):
            unknown = {"code": 1, "message": "There is no project here.", "remedy": "Look again."}
            return "application/json", json.dumps({"error": unknown})
        if path == "/api/projects":
            self.may_list.wait(60)
        status = {"tiers": self.tiers}
        answers = {
            "projects": {"projects": self.listed, "served": "shop-1"},
            "picture": self.others.get(project, self.picture),
            "recall": self.recalled,
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


# Counts the answers that the page has read, by their paths, once it has taken what they hold.
ANSWERS_READ = """
    window.answersRead = {};
    const json = Response.prototype.json;
    Response.prototype.json = async function () {
        const found = await json.call(this);
        const path = new URL(this.url).pathname;
        setTimeout(() => { answersRead[path] = (answersRead[path] ?? 0) + 1; });
        return found;
    };
"""


def count_answers(page: Page) -> None:
    """Load the page anew, and count the answers that it has read since."""
    page.add_init_script(ANSWERS_READ)
    reload(page)
    expect_answers(page, "/api/picture", 1)


def expect_answers(page: Page, path: str, number: int) -> None:
    """Until the page has taken as many answers."""
    expect_value(page, f"answersRead['{path}']", number)


def test_the_live_page_fetches_and_draws_the_graph(open_page: Opener, server: Canned) -> None:
    page = open_page.visit(server.address + "#/graph")

    expect(page.locator("#drawn")).to_have_text("20 of 20 entities and 8 of 8 records drawn")
    until(lambda: len(server.asked) >= 3, "the page asks for the projects")
    assert [path for path, _ in server.asked] == ["/", "/api/picture", "/api/projects"]


def test_a_search_on_a_live_page_shows_the_hits_and_the_explanation_of_recall(
    open_page: Opener, server: Canned
) -> None:
    page = open_page.visit(server.address + "#/search?q=pagination %26 more")

    hits = page.locator(".hit")
    expect(hits).to_have_count(2)
    expect(hits.nth(0).locator("> :first-child")).to_contain_text("Use cursor-based pagination")
    expect(hits.nth(0).locator("mark").first).to_have_text("pagination")
    expect(hits.nth(0).locator(".foot:visible")).to_have_text("decision · 16 Nov 2026")
    expect(hits.nth(1).locator(".what")).to_have_text("<b>offset</b> pagination")
    expect(hits.nth(1).locator(".foot:visible")).to_have_text("antipattern · reported by a tool")
    for word in ("bm25", "recency", "prompt", "0.4"):
        assert word not in page.locator("#main").inner_text()

    page.locator("#why summary").click()

    expect(hits.nth(0).locator(".reasons")).to_be_visible()
    expect(hits.nth(0)).to_contain_text("recency 0.30 + relevance 0.42 + authority 0.17")
    expect(hits.nth(0)).to_contain_text("relevance: bm25 0.4, words held 0.4")
    expect(hits.nth(0)).to_contain_text("a prompt would be given it")
    expect(hits.nth(1)).to_contain_text("× 0.85")
    expect(hits.nth(1)).to_contain_text("not given to a prompt: below the floor of relevance")
    expect(page.locator("#hits")).to_contain_text("Answered from the journal.")
    assert [question["q"] for question in server.questions("/api/recall")] == [
        ["pagination & more"]
    ]
    hits.nth(0).locator(".what a").click()
    expect(page.locator(".card.wanted .what")).to_contain_text("Use cursor-based pagination")


def test_a_search_hit_from_a_past_session_is_labelled_as_said_in_a_session(
    open_page: Opener, server: Canned
) -> None:
    turn = {**RECALLED["results"][1], "source": "episodes", "text": "We **spoke** of pages"}
    turn["metadata"] = {"type": "episode", "trust": "user"}
    server.recalled = {**RECALLED, "results": [turn]}

    page = open_page.visit(server.address + "#/search?q=pages")

    expect(page.locator(".hit .what")).to_have_text("We spoke of pages")
    expect(page.locator(".hit .foot:visible")).to_have_text("said in a session")


def test_a_live_search_without_a_hit_links_to_the_knowledge_view(
    open_page: Opener, server: Canned
) -> None:
    server.recalled = {**RECALLED, "results": [], "notes": [], "total_results": 0}

    page = open_page.visit(server.address + "#/search?q=pagination")

    expect(page.locator("#no-hits")).to_contain_text("Nothing here holds pagination.")
    page.click("#no-hits a")
    expect(page.locator("#main h1")).to_have_text("What shop knows")


def test_the_page_of_an_entity_loads_and_shows_its_history(
    open_page: Opener, server: Canned
) -> None:
    page = open_page.visit(server.address + "#/entity/cursor-pagination")

    expect(page.locator("#history li")).to_have_text(
        "16 Nov 2026 remembered decision: <i>cursors</i> · ann cli"
    )
    assert [question["name"] for question in server.questions("/api/history")] == [
        ["cursor-pagination"]
    ]


def test_the_reload_button_fetches_and_draws_the_current_graph(
    open_page: Opener, server: Canned
) -> None:
    page = open_page.visit(server.address + "#/graph")
    grown = shop()
    grown.entity("Kafka", "technology", days=0)
    server.picture = {**grown.made(), "live": True}

    page.click("#again")

    expect(page.locator("#show-alone")).to_have_text("Show 1 without connections")


def test_a_late_answer_to_an_earlier_reload_does_not_replace_newer_data(
    open_page: Opener, server: Canned
) -> None:
    page = open_page.apart(server.address + "#/graph")
    count_answers(page)
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
    expect(page.locator("#show-alone")).to_have_text("Show 1 without connections")
    held[0].fulfill(json={**shop().made(), "live": True})
    expect_answers(page, "/api/picture", 3)

    expect(page.locator("#show-alone")).to_have_text("Show 1 without connections")


def test_repeated_reload_failures_show_one_message_until_a_reload_succeeds(
    open_page: Opener, server: Canned
) -> None:
    page = open_page.apart(server.address + "#/status")
    count_answers(page)
    server.failing = True
    for number in range(3):
        page.click("#again")
        expect_answers(page, "/api/picture", 2 + number)
    expect(page.locator("#unread")).to_have_count(1)
    expect(page.locator("#unread")).to_have_text("The disk is full. Free some space.")

    server.failing = False
    page.click("#again")

    expect(page.locator("#unread")).to_have_count(0)


def test_the_page_reports_an_answer_without_a_graph_and_keeps_its_current_graph(
    open_page: Opener, server: Canned
) -> None:
    page = open_page.visit(server.address + "#/graph")

    for answer in ("null", "[]", "{}", "5", '{"entities":null}'):
        page.route("**/api/picture", answering(answer))
        page.click("#again")
        expect(page.locator("#unread")).to_contain_text("What answers here is no memory.")
        expect(page.locator("#drawn")).to_have_text("20 of 20 entities and 8 of 8 records drawn")

        page.unroute_all()
        page.click("#again")
        expect(page.locator("#unread")).to_have_count(0)


def answering(body: str) -> Callable[[Route], None]:
    """Answer a request by this text."""
    return lambda route: route.fulfill(body=body)


def test_the_live_page_shows_the_current_status(open_page: Opener, server: Canned) -> None:
    server.tiers = [tier("graph", "unavailable", ("It cannot be opened.", "Run repair."))]

    page = open_page.visit(server.address + "#/status")

    expect(page.locator(".tier")).to_have_count(1)
    expect(page.locator(".tier h2")).to_contain_text("unavailable")
    expect(page.locator(".remedy")).to_have_text("→ Run repair.")


def test_a_server_failure_is_shown_with_its_remedy(open_page: Opener, server: Canned) -> None:
    page = open_page.visit(server.address + "#/status")
    server.failing = True

    page.fill("#find", "anything")
    page.press("#find", "Enter")

    expect(page.locator("#hits .notice")).to_have_text("The disk is full. Free some space.")


def listed(id_: str, name: str, records: int, days: float = 2, **more: Any) -> dict[str, Any]:
    """A project as the server lists it."""
    row = {"id": id_, "name": name, "folder": f"~/{name}", "records": records, "readable": True}
    return {**row, "changed_at": days_ago(days), **more}


@pytest.fixture
def projects(server: Canned) -> Canned:
    """A server of a home with three projects, of which one cannot be read."""
    billing = Pictured("billing")
    stripe = billing.entity("Stripe", "technology", "Takes the cards", days=1)
    billing.record("Use Stripe for the invoices", days=1, entities=[stripe])
    server.others = {"billing-2": {**billing.made(), "live": True}}
    server.listed = [
        listed("shop-1", "shop", 11),
        listed("billing-2", "billing", 1, days=1),
        listed("old-3", "old", 0, readable=False, changed_at=""),
    ]
    return server


def test_the_key_p_opens_the_list_of_projects_once_the_list_has_loaded(
    open_page: Opener, projects: Canned
) -> None:
    projects.may_list.clear()
    page = open_page.visit(projects.address)
    expect(page.locator("#bar")).to_be_visible()

    page.keyboard.press("p")
    projects.may_list.set()

    expect(page.locator("#projects a")).to_have_count(3)
    expect(page.locator("#projects a").nth(0)).to_be_focused()


def test_a_project_chosen_by_keyboard_is_stored_in_the_url(
    open_page: Opener, projects: Canned
) -> None:
    page = open_page.visit(projects.address)
    expect(page.locator("#project")).to_have_text("shop")

    page.keyboard.press("p")
    rows = page.locator("#projects a")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_be_focused()
    expect(rows.nth(0)).to_have_attribute("aria-current", "true")
    expect(rows.nth(1)).to_have_text("billing1 record · 1 day ago~/billing")
    expect(rows.nth(2)).to_contain_text("cannot be read")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    expect(page.locator("#main h1")).to_have_text("What is remembered of billing")
    expect(page.locator("#records .what")).to_have_text(["Use Stripe for the invoices"])
    expect(page.locator("#project")).to_be_focused()
    expect(page.locator("#project")).to_have_text("billing")
    expect(page.locator("#said")).to_have_text("Project billing: 1 record.")
    expect_place(page, "/#/timeline?project=billing-2")
    page.keyboard.press("g")
    expect(page.locator("#drawn")).to_contain_text("1 of 1 entity")
    expect_place(page, "/#/graph?project=billing-2")
    reload(page)
    expect(page.locator("#project")).to_have_text("billing")
    page.go_back()
    page.go_back()
    expect(page.locator("#main h1")).to_have_text("What is remembered of shop")


def test_every_request_of_the_page_contains_the_selected_project(
    open_page: Opener, projects: Canned
) -> None:
    page = open_page.visit(projects.address + "#/entity/Stripe?project=billing-2")
    expect(page.locator("#history li")).to_contain_text("cursors")

    page.fill("#find", "invoices")
    page.press("#find", "Enter")
    expect(page.locator(".hit")).to_have_count(2)
    page.keyboard.press("i")
    expect(page.locator(".tier").first).to_be_visible()

    parts = ("picture", "projects", "history", "recall", "status")
    until(lambda: all(projects.questions(f"/api/{part}") for part in parts), "all are asked")
    asked = projects.asked[1:]
    assert {path for path, _ in asked} == {f"/api/{part}" for part in parts}
    assert all(question["project"] == ["billing-2"] for _, question in asked)


def test_escape_and_a_click_elsewhere_close_the_list_of_projects(
    open_page: Opener, projects: Canned
) -> None:
    page = open_page.visit(projects.address)

    page.click("#project")
    expect(page.locator("#project")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(page.locator("#projects")).to_be_hidden()
    expect(page.locator("#project")).to_be_focused()
    page.click("#project")
    expect(page.locator("#projects")).to_be_visible()
    page.click("#main h1")

    expect(page.locator("#projects")).to_be_hidden()


def test_typing_a_few_letters_finds_a_project_among_many(
    open_page: Opener, projects: Canned
) -> None:
    projects.listed += [listed(f"p{n}-1", f"part-{n}", n) for n in range(9)]
    page = open_page.visit(projects.address)

    page.click("#project")
    expect(page.locator("#project-filter")).to_be_focused()
    page.keyboard.type("bill")
    expect(page.locator("#projects a")).to_have_count(1)
    page.keyboard.press("Enter")

    expect(page.locator("#main h1")).to_have_text("What is remembered of billing")


def test_a_url_of_an_unknown_project_is_reported_with_a_link_back(
    open_page: Opener, projects: Canned
) -> None:
    page = open_page.visit(projects.address)

    page.goto(projects.address + "#/timeline?project=gone-9")
    expect(page.locator("#main .notice")).to_contain_text("There is no project here.")
    page.click("#served")

    expect(page.locator("#main h1")).to_have_text("What is remembered of shop")


def test_no_list_of_projects_is_offered_if_there_is_only_one(
    open_page: Opener, server: Canned
) -> None:
    server.listed = [listed("shop-1", "shop", 11)]

    page = open_page.apart(server.address)
    count_answers(page)

    expect_answers(page, "/api/projects", 1)
    expect(page.locator("#brand")).to_have_text("shop")
    expect(page.locator("#project")).to_be_hidden()


def test_the_page_of_a_read_only_server_has_no_buttons_for_changes(
    open_page: Opener, server: Canned
) -> None:
    page = open_page.visit(f"{server.address}#/timeline")

    expect(page.locator(".card").first).to_be_visible()
    expect(page.locator(".act, #undo, #tab-review:visible")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.locator("#said")).to_have_text("This page changes nothing.")
