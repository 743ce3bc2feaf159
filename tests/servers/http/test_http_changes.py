"""Changes of the memory over real HTTP: each action, its preview, who may make it, conflicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.shell import Shell
from command_line import run_here
from drawn import token
from importing.foreign import ClaudeMem
from servers.http.http_server import Reply, Serving, serving
from servers.http.test_http_projects import Home
from viewer import waits
from viewer.waits import contradict, hear

CHANGES = "/api/changes"
WORDS = "Use cursor-pagination for the orders-api"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in a project of which something is remembered."""
    shell = Shell(tmp_path)
    shell.remember("--why", "offsets are slow", WORDS)
    shell.remember("Always use UTC in the audit-log")
    return shell


@pytest.fixture
def server(shell: Shell) -> Iterator[Serving]:
    """A server of its memory."""
    with serving(shell) as found:
        yield found


def change(server: Serving, action: str, **fields: Any) -> Reply:
    """Ask for a change with the server's key."""
    return server.post(CHANGES, json.dumps({"action": action, **fields}), key=server.key)


def done(server: Serving, action: str, **fields: Any) -> dict[str, Any]:
    """Make a change, which must succeed; the answer."""
    reply = change(server, action, **fields)
    assert reply.status == 200, reply.body
    answer: dict[str, Any] = reply.json
    return answer


def picture(server: Serving) -> dict[str, Any]:
    """The memory as the page is given it."""
    found: dict[str, Any] = server.ask("/api/picture")
    return found


def shown(server: Serving, words: str) -> dict[str, str]:
    """The record or candidate with these words, as a change names it."""
    seen = picture(server)
    (one,) = [
        r
        for r in (*seen["records"], *seen["review"]["candidates"])
        if words in r["what"] and not r.get("superseded_by")
    ]
    return {"id": one["id"], "version": one["version"]}


def whats(server: Serving) -> list[str]:
    """The words of all current records."""
    return sorted(r["what"] for r in picture(server)["records"] if not r["superseded_by"])


def test_a_memory_is_edited_and_the_change_is_undone_and_redone(
    shell: Shell, server: Serving
) -> None:
    before = whats(server)
    new = "Use keyset pagination for the orders-api"

    answer = done(server, "edit", record=shown(server, WORDS), text=new, why="", type="rule")

    assert answer["done"] == "changed"
    assert answer["said"] == f"Changed: rule {answer['record'][-8:]}, {new}"
    (record,) = [r for r in picture(server)["records"] if r["id"] == answer["record"]]
    assert (record["what"], record["why"], record["type"]) == (new, "", "constraint")
    assert (record["source"], record["trust"]) == ("page", "user")
    assert shell.run("history", "--limit", "1", "--json").json[0]["by"]["source"] == "page"
    undone = done(server, "undo", **answer["undo"])
    assert undone["said"].startswith("Undone: ")
    assert whats(server) == before
    redone = done(server, "undo", **undone["undo"])
    assert redone["done"] == "undone"
    assert new in whats(server)


def test_an_unconfirmed_memory_can_be_kept_dropped_or_reworded(
    shell: Shell, server: Serving
) -> None:
    for said in ("The exporter keeps templates in S3", "Ship on Fridays", "Use tabs in Makefiles"):
        hear(shell, said)
    review = picture(server)["review"]
    assert review["total"]["candidate"] == 3
    assert {c["source"] for c in review["candidates"]} == {"prompt"}

    kept = done(server, "keep", record=shown(server, "exporter"))
    dropped = done(server, "drop", record=shown(server, "Fridays"))
    reworded = done(server, "edit", record=shown(server, "tabs"), text="Use tabs, never spaces")

    assert [one["done"] for one in (kept, dropped, reworded)] == [
        *("remembered", "forgotten", "changed")
    ]
    assert picture(server)["review"]["total"]["candidate"] == 0
    assert {"The exporter keeps templates in S3", "Use tabs, never spaces"} <= set(whats(server))
    assert "Ship on Fridays" not in whats(server)
    done(server, "undo", **dropped["undo"])
    assert [c["what"] for c in picture(server)["review"]["candidates"]] == ["Ship on Fridays"]


def test_replacing_a_contradicted_memory_resolves_the_conflict_and_is_reversible(
    shell: Shell, server: Serving
) -> None:
    old = shell.remember("The order archive is in MongoDB")["id"]
    contradict(shell, old, "The order archive is in Postgres")

    answer = done(server, "replace", record=shown(server, "in Postgres"))

    assert answer["said"].endswith(f"in Postgres; it replaces {old[-8:]}.")
    assert "The order archive is in MongoDB" not in whats(server)
    assert picture(server)["review"]["total"]["contradiction"] == 0
    (gone,) = [r for r in picture(server)["records"] if r["id"] == old]
    back = done(server, "keep", record={"id": old, "version": gone["version"]})
    assert back["done"] == "taken back"
    assert {"The order archive is in MongoDB", "The order archive is in Postgres"} <= set(
        whats(server)
    )


def test_a_memory_is_pinned_and_unpinned(shell: Shell, server: Serving) -> None:
    said = done(server, "pin", record=shown(server, WORDS))["said"]
    assert said.startswith("Pinned: decision ") and said.endswith(WORDS)
    assert [r["pinned"] for r in picture(server)["records"] if r["what"] == WORDS] == [True]

    said = done(server, "unpin", record=shown(server, WORDS))["said"]

    assert said.startswith("Not pinned: decision ")
    assert not any(r["pinned"] for r in picture(server)["records"])


def test_forget_deletes_the_previewed_memories_and_can_be_undone(
    shell: Shell, server: Serving
) -> None:
    printed = shell.run("forget", "orders-api", "--json").json
    before = picture(server)

    preview = done(server, "forget", what="orders-api")["preview"]

    assert preview["code"] == printed["code"]
    assert [e["name"] for e in preview["entities"]] == ["orders-api"]
    assert preview["entities"] == printed["entities"]
    assert "--purge" in preview["stays"]
    assert picture(server)["entities"] == before["entities"]
    answer = done(server, "forget", what="orders-api", code=preview["code"])
    assert answer["said"] == "Forgotten: orders-api"
    gone = {e["name"] for e in before["entities"]} - {
        e["name"] for e in picture(server)["entities"]
    }
    assert gone == {"orders-api"}
    done(server, "undo", **answer["undo"])
    names = {e["name"] for e in picture(server)["entities"]}
    assert names == {e["name"] for e in before["entities"]}


def test_memories_are_forgotten_by_id_or_by_matching_words(shell: Shell, server: Serving) -> None:
    id_ = shown(server, "UTC")["id"]
    preview = done(server, "forget", what=id_)["preview"]
    assert [r["id"] for r in preview["records"]] == [id_]

    answer = done(server, "forget", what=id_, code=preview["code"])

    assert answer["said"] == f"Forgotten: rule {id_[-8:]}, Always use UTC in the audit-log"
    assert whats(server) == [WORDS]
    shell.remember("Never use offsets in the orders-api")
    preview = done(server, "forget", what="use api")["preview"]
    assert (preview["count"], len(preview["records"])) == (2, 2)
    answer = done(server, "forget", what="use api", code=preview["code"])
    assert answer["said"] == "Forgotten: 2 memories"
    assert whats(server) == []


def test_entities_are_merged_after_a_preview(shell: Shell, server: Serving) -> None:
    shell.remember("The order-service uses cursor-pagination")
    names = ["order-service"]

    preview = done(server, "merge", into="orders-api", names=names)["preview"]

    assert [e["name"] for e in preview["entities"]] == ["orders-api", "order-service"]
    assert all(set(e) == {"name", "type", "observations", "relations"} for e in preview["entities"])
    answer = done(server, "merge", into="orders-api", names=names, code=preview["code"])
    assert answer["said"] == "order-service: now orders-api"
    (entity,) = [e for e in picture(server)["entities"] if e["name"] == "orders-api"]
    assert entity["aliases"] == ["order-service"]
    done(server, "undo", **answer["undo"])
    assert "order-service" in {e["name"] for e in picture(server)["entities"]}


def test_a_contradiction_is_resolved_by_keeping_one_memory_or_both(
    shell: Shell, server: Serving
) -> None:
    old = shown(server, WORDS)["id"]
    new = contradict(shell, old, "Use offset-pagination for the orders-api")
    due = [o for o in picture(server)["review"]["due"] if o["kind"] == "contradiction"]
    about = {"record": new, "others": [old], "days": 0, "from": ""}
    assert due == [{"kind": "contradiction", **about}]

    both = done(server, "holds", record=shown(server, "offset"))
    assert both["said"].startswith("Confirmed: decision ")
    assert picture(server)["review"]["due"] == []
    done(server, "undo", **both["undo"])
    one = done(
        server, "edit", record=shown(server, WORDS), instead_of=[shown(server, "offset-pagination")]
    )

    assert one["said"].endswith(f"it replaces {new[-8:]}.")
    assert picture(server)["review"]["due"] == []
    assert WORDS in whats(server) and "Use offset-pagination for the orders-api" not in whats(
        server
    )


def test_the_last_change_is_shown_before_it_is_undone(shell: Shell, server: Serving) -> None:
    preview = done(server, "undo")["preview"]

    assert preview["id"] == shell.run("undo", "--json").json["changes"][0]["id"]
    assert "UTC" in preview["changes"][0]["what"]
    answer = done(server, "undo", id=preview["id"], code=preview["code"])
    assert answer["said"].startswith("Undone: remembered rule")
    again = change(server, "undo", id=preview["id"], code=preview["code"])
    assert (again.status, again.code) == (409, "changed")
    code = done(server, "undo", id=preview["id"])["preview"]["code"]
    known = change(server, "undo", id=preview["id"], code=code)
    assert (known.status, known.code) == (409, "not_undone")
    assert "it is undone already" in known.json["error"]["message"]
    assert whats(server) == [WORDS]


def test_a_record_changed_since_it_was_shown_is_not_overwritten(
    shell: Shell, server: Serving
) -> None:
    seen = shown(server, WORDS)
    newer = "Use cursors for every list"
    assert shell.run("edit", seen["id"], "--text", newer).status == 0

    for action, fields in (("edit", {"text": "Use offsets"}), ("pin", {}), ("holds", {})):
        reply = change(server, action, record=seen, **fields)

        assert (reply.status, reply.code) == (409, "changed")
        error = reply.json["error"]
        assert error["message"] == (
            f"{seen['id'][-8:]} was changed since it was shown; nothing was done."
        )
        assert error["current"]["what"] == newer
    assert newer in whats(server)
    now = {"id": seen["id"], "version": error["current"]["version"]}
    assert done(server, "edit", record=now, text="Use offsets")["done"] == "changed"
    code = done(server, "forget", what=seen["id"])["preview"]["code"]
    assert shell.run("edit", seen["id"], "--text", newer).status == 0
    late = change(server, "forget", what=seen["id"], code=code)
    assert (late.status, late.code) == (409, "changed")
    assert newer in whats(server)
    assert shell.run("forget", seen["id"], "--yes").status == 0
    gone = change(server, "edit", record=now, text="Use offsets")
    assert (gone.status, gone.code) == (404, "not_found")


def test_changes_without_the_key_or_from_another_origin_are_refused(
    shell: Shell, server: Serving
) -> None:
    body = json.dumps({"action": "pin", "record": shown(server, WORDS)})
    cookie = server.get(f"/?key={server.key}", key="none").headers["set-cookie"].partition(";")[0]
    ours = f"http://127.0.0.1:{server.port}"

    for headers in ({}, {"Cookie": "memory-fabric=1"}, {"Origin": ours}):
        assert server.post(CHANGES, body, **headers).status == 401
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{server.port + 1}"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Host": "evil.example"},
    ):
        refused = server.post(CHANGES, body, Cookie=cookie, **headers)
        assert (refused.status, refused.code) in ((403, "wrong_origin"), (403, "wrong_host"))
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        simple = server.post(CHANGES, body, Cookie=cookie, Content_Type=kind)
        assert (simple.status, simple.code) == (400, "wrong_content_type")
    assert server.get(CHANGES).status == 405
    assert not any(r["pinned"] for r in picture(server)["records"])
    assert server.post(CHANGES, body, Cookie=cookie, Origin=ours).status == 200
    assert any(r["pinned"] for r in picture(server)["records"])


def test_the_error_for_an_invalid_change_names_the_field_or_a_remedy(
    shell: Shell, server: Serving
) -> None:
    seen = shown(server, WORDS)
    hidden = token()

    for fields, field in (
        ({}, "action"),
        ({"action": "purge"}, "action"),
        ({"action": "pin"}, "record"),
        ({"action": "pin", "record": {"id": "x", "version": seen["version"]}}, "record.id"),
        ({"action": "pin", "record": seen, "extra": 1}, "extra"),
        ({"action": "merge", "into": "a", "names": []}, "names"),
    ):
        reply = server.post(CHANGES, json.dumps(fields), key=server.key)
        assert (reply.status, reply.json["error"]["field"]) == (422, field)
    refused: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("edit", {"record": seen, "text": " . "}, "text is empty."),
        ("edit", {"record": seen, "text": hidden}, "text is only a secret"),
        ("edit", {"record": seen}, "Nothing to change"),
        ("edit", {"record": seen, "scope": "local"}, "Use user, team, global."),
        ("edit", {"record": seen, "text": WORDS}, "says this already"),
        ("replace", {"record": seen}, "contradicts nothing"),
        ("merge", {"into": "orders-api", "names": ["orders-api"]}, "nothing to merge"),
    )
    for action, given, words in refused:
        reply = change(server, action, **given)
        assert reply.status == 400, (action, given, reply.body)
        error = reply.json["error"]
        assert words in f"{error['message']} {error['remedy']}"
        assert hidden not in reply.body.decode()
    assert change(server, "forget", what="zebra crossing").status == 404
    assert change(server, "merge", into="orders-api", names=["zebra"]).status == 404
    assert change(server, "undo", id="00000000").status == 404
    assert whats(server) == ["Always use UTC in the audit-log", WORDS]


def test_nothing_is_changed_while_memory_is_switched_off(shell: Shell, server: Serving) -> None:
    seen = shown(server, WORDS)
    shell.run("off", "--write")

    reply = change(server, "pin", record=seen)

    assert (reply.status, reply.code) == (503, "unavailable")
    assert "memory-fabric on" in reply.json["error"]["remedy"]


def test_a_change_in_another_project_affects_only_that_project(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.remember(WORDS)
    other = home.project_at("billing", "Use Stripe for the invoices")
    with serving(home) as server:
        (record,) = server.ask("/api/picture", project=other)["records"]
        shown = {"id": record["id"], "version": record["version"]}
        here = change(server, "pin", record=shown)
        body = json.dumps({"action": "edit", "record": shown, "text": "Use Adyen for the invoices"})

        there = server.post(f"{CHANGES}?project={other}", body, key=server.key)

        assert (here.status, here.code) == (404, "not_found")
        assert there.status == 200, there.body
        (now,) = server.ask("/api/picture", project=other)["records"]
        assert now["what"] == "Use Adyen for the invoices"
        undone = server.post(
            f"{CHANGES}?project={other}",
            json.dumps({"action": "undo", **there.json["undo"]}),
            key=server.key,
        )
        assert undone.status == 200
        assert server.ask("/api/picture", project=other)["records"][0]["what"] == record["what"]
        assert whats(server) == [WORDS]
        assert server.post(f"{CHANGES}?project=none-0", body, key=server.key).status == 404


def test_all_memories_imported_from_a_program_are_confirmed_or_dropped_at_once(
    shell: Shell, server: Serving
) -> None:
    database = ClaudeMem(shell.user_home / ".claude-mem" / "claude-mem.db")
    for number in range(259):
        database.add("observations", project="shop", title=f"Shelf {number} holds part {number}")
    assert shell.run("import", str(database.close())).status == 0
    assert picture(server)["review"]["brought"] == [{"from": "claude-mem", "count": 259}]
    asked = {"of": "claude-mem"}

    preview = done(server, "holds_all", **asked)["preview"]
    assert preview["count"] == 259
    assert picture(server)["review"]["total"]["imported"] == 259
    confirmed = done(server, "holds_all", **asked, code=preview["code"])
    assert confirmed["said"] == "Confirmed: all 259 from claude-mem"
    assert picture(server)["review"]["total"]["imported"] == 0
    assert {r["trust"] for r in picture(server)["records"]} == {"user"}
    done(server, "undo", **confirmed["undo"])
    assert picture(server)["review"]["total"]["imported"] == 259

    late = change(server, "drop_all", **asked, code="00000000")
    assert (late.status, late.code) == (409, "changed")
    shelf = shown(server, "Shelf 7 holds")
    assert done(server, "drop", record=shelf)["done"] == "forgotten"
    code = done(server, "drop_all", **asked)["preview"]["code"]
    dropped = done(server, "drop_all", **asked, code=code)
    assert dropped["said"] == "Forgotten: all 258 from claude-mem"
    assert len(whats(server)) == 2
    assert change(server, "drop_all", **asked).status == 404
    done(server, "undo", **dropped["undo"])
    assert picture(server)["review"]["total"]["imported"] == 258


def test_an_unconfirmed_memory_of_another_project_can_be_listed_and_kept(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    home.remember(WORDS)
    folder = waits.elsewhere(home)
    with serving(home) as server:
        (one,) = server.ask("/api/projects")["proposals"]
        assert (one["name"], one["what"]) == ("billing", waits.OF_BILLING)
        body = {"action": "keep", "record": {"id": one["id"], "version": one["version"]}}

        kept = server.post(f"{CHANGES}?project={one['project']}", json.dumps(body), key=server.key)

        assert kept.status == 200, kept.body
        assert server.ask("/api/projects")["proposals"] == []
    assert waits.OF_BILLING in run_here(("recall", "invoice"), home.environ, folder).out
