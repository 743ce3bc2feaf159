"""Memory pages: written, read back without loss, and edited by hand."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from drawn import built
from importing.pages import USER, brought, content, edit, exported, opened, put, texts_of
from memory_fabric.errors import BadInput
from memory_fabric.importing import page, page_restore
from memory_fabric.importing.page import Item
from memory_fabric.models import HAS_OTHERS, IMPORTED, RECORD_TYPES, Entity, Record, Relation
from memory_fabric.store import records
from memory_fabric.store.history import changes, undo
from memory_fabric.store.memory import Memory
from thorough import examples

# What memories are made of: lines, Markdown, comments, entities of HTML, other scripts.
PIECES = [
    "Use tabs", "\n", "\n\n", " ", "  ", "- ", "* ", "# ", "1. ", "1\\. ", "\\", "```", "> ",
    "|", "*Why:* ", "<!-- x -->", "-->", "&lt;", "&amp;#32;", "&", "<", ">", "**bold**",
    "`code`", "_", "[a](b)", "[[Link]]", "測試中文", "カナ", "한글", "é", "🍵", "\t", "\r",
    "\u2028", "…", "---", "===", "*2026-01-02 · ann* <!-- id -->", "## Rules", "o1", "because", "~",
    "+ x", "12) ", ".",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), min_size=1, max_size=8).map(
    lambda parts: "".join(parts).encode("utf-8", "ignore").decode().replace("\0", "")
)
filled = texts.filter(lambda text: any(c.isalnum() for c in text))
names = st.sampled_from(["Redis", "api *gateway*", "測試", "a (b) c", "x, y", "Zoë <z>"])
made = built(
    Record,
    type=st.sampled_from(sorted(RECORD_TYPES)),
    what=filled,
    why=st.just("") | filled,
    alternatives=st.lists(filled, max_size=2).map(tuple),
    entities=st.lists(built(Entity, names, st.sampled_from(["tool", "goal"])), max_size=2).map(
        tuple
    ),
    relations=st.lists(
        built(Relation, names, st.sampled_from(["uses", "→ *x*"]), names), max_size=1
    ).map(tuple),
    confidence=st.sampled_from([0.4, 0.5, 0.9]),
    scope=st.sampled_from(["team", "user"]),
    domain=st.sampled_from(["general", "payments"]),
    pinned=st.booleans(),
    category=st.just("") | texts,
    evidence=st.dictionaries(st.sampled_from(["when", "quotation"]), filled, max_size=2),
)


# Without shrinking: each example writes two memories.
@settings(
    max_examples=examples(40, few=8),
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(some=st.lists(made, min_size=1, max_size=4), said=st.lists(filled, max_size=3))
def test_pages_are_read_back_without_loss(some: list[Record], said: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="memory-fabric-test-") as name:
        folder = Path(name)
        memory = opened(folder)
        before: Record | None = None
        for record in some:
            known = [before.id] if before and before.scope == record.scope else []
            before = memory.remember(record, USER, known)
        entity = {"name": "Redis", "entityType": "tool", "observations": said}
        memory.write("create_entities", {"entities": [entity]}, USER, store="project")
        names_ = {"entity": "Redis", "aliases": ["the * store"]}
        memory.write("alias", names_, USER, store="project")
        whole = content(memory)
        paths = exported(memory, folder)
        memory.close()

        other = opened(folder, "other")
        for path in paths:
            found = brought(other, path, mine=True)
            assert not found.left
        again = content(other)
        repeated = [page_restore.plan(other, str(path), mine=True) for path in paths]
        other.close()

    assert json.dumps(again, sort_keys=True) == json.dumps(whole, sort_keys=True)
    assert all(not (one.records or one.removed or one.edited or one.added) for one in repeated)


@given(what=filled, why=st.just("") | filled)
def test_an_item_is_read_as_it_was_written(what: str, why: str) -> None:
    lines = page.item_lines(what, why, "2026-01-02 · ann", "1a2b")
    text = "\n".join([f"{page.MARK}of x -->", "## Rules", "", *lines, ""])

    assert page.read(text).items == (Item("Rules", what, why, "1a2b"),)
    # Also after an editor has stripped spaces and changed the ends of lines.
    stripped = "\r\n".join(line.rstrip(" ") for line in text.split("\n"))
    assert page.read(stripped).items == page.read(text).items


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory with a pinned rule, a replaced decision and an observation."""
    found = opened(tmp_path)
    found.remember(Record("constraint", "Use tabs", confidence=0.9, pinned=True), USER)
    old = found.remember(Record("decision", "We use MySQL", confidence=0.9), USER)
    assert old is not None
    found.remember(
        Record("decision", "We use Postgres", "it scales", confidence=0.9), USER, [old.id]
    )
    entity = {"name": "api", "entityType": "service", "observations": ["listens on 80"]}
    found.write("create_entities", {"entities": [entity]}, USER)
    yield found
    found.close()


def test_an_exported_page_shows_memories_as_readable_markdown(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)

    text = path.read_text("utf-8")

    assert "# Memories of shop" in text
    assert "## Rules\n\n- Use tabs\n  *" in text
    assert " · ann, by cli · pinned* <!-- " in text
    assert "- We use Postgres\n  *Why:* it scales\n" in text
    assert "replaced by " in text
    assert "* **api** (service)\n  - listens on 80\n" in text
    body = text.split(page.DATA, maxsplit=1)[0]
    assert text.count("We use Postgres") == body.count("We use Postgres") == 1


def test_edits_and_additions_in_a_page_are_applied_but_removals_are_only_reported(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)
    whole = content(memory)
    edit(path, lambda text: text.replace("- Use tabs\n", "- Name things\n\n- Tabs, always\n"))
    edit(path, lambda text: text.replace("listens on 80", "listens on 8080"))
    item = path.read_text("utf-8").split("- We use MySQL")[1].split("-->")[0]
    edit(path, lambda text: text.replace(f"- We use MySQL{item}-->", ""))

    found = brought(memory, path, mine=True)

    assert (found.edited, found.added, found.restored) == (2, 1, 0)
    assert {left.reason: left.number for left in found.left}[page_restore.REMOVED] == 1
    assert texts_of(memory) == {
        "Tabs, always",
        "Name things",
        "We use MySQL",
        "We use Postgres",
    }
    (rule,) = memory.find_records("what = 'Tabs, always'", (), 1)
    assert (rule.trust, rule.pinned) == ("user", True)
    (said,) = content(memory)["project"]["observations"]
    assert said[1] == "listens on 8080"
    undo.undo(memory, changes.of_batch(memory, "import-page"), USER)
    assert content(memory) == whole


def test_records_of_a_page_from_another_installation_are_untrusted_and_unpinned(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)
    other = opened(tmp_path, "other")

    found = brought(other, path)

    assert found.had_trust == 3
    assert {r.trust for r in other.find_records("1", (), 10)} == {"tool"}
    assert not any(r.pinned for r in other.find_records("1", (), 10))
    other.close()


def test_page_edits_not_confirmed_by_the_user_are_ignored_or_stored_as_untrusted(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)
    known = {record.what: record for record in memory.find_records("1", (), 10)}
    edit(path, lambda text: text.replace("- We use Postgres", "- We use Oracle"))
    edit(path, lambda text: text.replace("- Use tabs\n", "- Never push\n\n- Use spaces\n"))
    edit(path, lambda text: text.replace("listens on 80", "listens on 8080"))

    gone = {"ids": [known["We use Postgres"].id], "bury": False}
    memory.write("forget", gone, USER)
    found = brought(memory, path)

    reasons = {left.reason: left.number for left in found.left}
    assert (reasons[page_restore.NOT_OURS], found.had_trust, found.added) == (2, 1, 1)
    now = {record.what: record.trust for record in memory.find_records("1", (), 10)}
    assert now == {
        "Use tabs": "user",
        "We use MySQL": "user",
        "We use Oracle": "tool",
        "Never push": "tool",
    }
    assert [said[1] for said in content(memory)["project"]["observations"]] == ["listens on 80"]


def test_a_page_of_another_project_is_refused(memory: Memory, tmp_path: Path) -> None:
    (path, *_) = exported(memory, tmp_path)
    (tmp_path / "blog" / ".git").mkdir(parents=True)
    blog = Memory.open(memory.settings._replace(project_dir=str(tmp_path / "blog")))
    no_project = Memory.open(memory.settings._replace(project_dir=""))

    for other in (blog, no_project):
        with pytest.raises(BadInput, match="of the project shop, not of") as error:
            page_restore.plan(other, str(path), mine=True)
        assert "--here" in error.value.remedy
    assert page_restore.plan(blog, str(path), mine=False, anyway=True).restored == 3
    # The name decides where neither page nor home knows the id.
    edit(
        path, lambda text: "\n".join(r for r in text.split("\n") if not r.startswith('{"project"'))
    )
    assert page_restore.plan(memory, str(path), mine=False).left
    with pytest.raises(BadInput):
        page_restore.plan(blog, str(path), mine=False)
    blog.close()
    no_project.close()


def test_a_page_item_with_a_copied_id_and_new_text_becomes_a_new_record(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)
    before = texts_of(memory)
    first, rest = path.read_text("utf-8").split("- Use tabs\n", maxsplit=1)
    comment, _, below = rest.partition("\n")
    unknown = "  *by hand* <!-- 01a20b5c-711c-73eb-90f2-0a4a71e276a4 -->"
    items = [f"- Use tabs\n{comment}", f"- Use spaces\n{comment}", f"- Name things\n{unknown}"]
    path.write_text(first + "\n\n".join([*items, f"- Use tabs\n{comment}"]) + "\n" + below, "utf-8")

    found = brought(memory, path)

    assert (found.edited, found.added) == (0, 2)
    assert texts_of(memory) == before | {"Use spaces", "Name things"}
    assert brought(memory, path).added == 0


def test_an_item_added_by_hand_to_an_exported_page_gets_the_domain_of_the_folder(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)
    edit(path, lambda text: text.replace("- Use tabs\n", "- Ask the lawyer\n\n- Use tabs\n"))
    domains = memory.settings.domains._replace(paths={".": "legal"}, isolated=frozenset({"legal"}))
    legal = Memory.open(memory.settings._replace(domains=domains))

    brought(legal, path)

    (added,) = legal.find_records("what = 'Ask the lawyer'", (), 1)
    assert added.domain == "legal"
    legal.close()


def test_page_edits_are_ignored_if_the_data_embedded_in_the_page_was_altered(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)
    whole = content(memory)
    edit(path, lambda text: text.replace('"author": "ann"', '"author": "bob"'))
    edit(path, lambda text: text.replace("- Use tabs", "- Use spaces"))
    edit(path, lambda text: text.replace("listens on 80", "listens on 8080"))

    found = brought(memory, path)

    assert {left.reason: left.number for left in found.left}[page_restore.NOT_OURS] == 2
    assert content(memory) == whole
    assert page_restore.plan(memory, str(path), mine=True).edited == 2


def test_import_does_not_overwrite_records_forgotten_or_changed_since_the_export(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)
    known = {record.what: record for record in memory.find_records("1", (), 10)}
    memory.forget([known["We use MySQL"].id], USER)
    reworded = known["Use tabs"]._replace(what="Use two spaces")
    payload = {"record": records.as_object(reworded), "seen_in": []}
    memory.write("put_record", payload, USER)
    edit(path, lambda text: text.replace("- Use tabs\n", "- Use four spaces\n"))

    found = brought(memory, path, mine=True)

    reasons = {left.reason for left in found.left}
    assert {page_restore.CHANGED_BOTH, "forgotten earlier"} <= reasons
    assert texts_of(memory) == {"Use two spaces", "We use Postgres"}


def test_a_truncated_page_restores_its_complete_records(memory: Memory, tmp_path: Path) -> None:
    (path, *_) = exported(memory, tmp_path)
    whole = path.read_text("utf-8")
    path.write_text(whole[: whole.index('{"entities"')] + '{"entit', "utf-8")
    other = opened(tmp_path, "other")

    found = brought(other, path, mine=True)

    assert found.restored == 3
    assert {left.reason for left in found.left} == {"cannot be read"}
    other.close()


def test_a_page_does_not_contain_records_of_other_people(memory: Memory, tmp_path: Path) -> None:
    database = memory.session_database()
    theirs = Record("note", "Said by bob", id="b" * 36, source="journal", trust="foreign")
    with database.transaction() as c:
        records.put(c, theirs, [])
        c.execute("INSERT INTO meta VALUES (?, '1')", (HAS_OTHERS,))

    (path, *_) = exported(memory, tmp_path)

    assert "Said by bob" not in path.read_text("utf-8")


def test_changes_made_while_a_page_is_written_do_not_appear_in_the_page(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "LINES_AT_ONCE", 3)
    other = opened(tmp_path)
    more = {"entityName": "api", "contents": ["a late fact"]}
    (path, *_) = exported(memory, tmp_path)
    undisturbed = path.read_text("utf-8")

    with page.pages(memory) as (page_, *_):
        parts = [next(page_.parts)]
        other.remember(Record("note", "Said late", confidence=0.9), USER)
        other.write("add_observations", {"observations": [more]}, USER)
        other.write("delete_entities", {"entityNames": ["Postgres"]}, USER)
        parts += page_.parts

    assert "".join(parts) == undisturbed
    assert "Said late" in texts_of(memory)
    other.close()


def test_a_page_lists_current_records_before_closed_ones_with_author_and_state(
    memory: Memory, tmp_path: Path
) -> None:
    march, april = "2025-03-01T00:00:00.000Z", "2025-04-01T00:00:00.000Z"
    put(memory, "Old", "2025-01-01T00:00:00.000Z", author="bob")
    put(
        memory,
        "Newer",
        march,
        alternatives=("x", "y"),
        domain="legal",
        confidence=0.4,
        status="candidate",
    )
    ended = {"valid_to": "2025-05-01T00:00:00.000Z", "evidence": {"imported": "mem0"}}
    put(memory, "Closed", april, **ended)
    put(memory, "Local, to this session", april, scope="local")
    relation = {"from": "api", "relationType": "uses *", "to": "Redis"}
    memory.write("create_relations", {"relations": [relation]}, USER)
    memory.write("alias", {"entity": "api", "aliases": ["the <api>"]}, USER)

    (path, *_) = exported(memory, tmp_path)

    text = path.read_text("utf-8")
    body = text.split(page.DATA)[0].splitlines()
    facts = body[body.index("## Facts") : body.index(f"## {page.ENTITIES}")]
    assert [line for line in facts if line] == [
        "## Facts",
        "- Newer",
        "  *2025-03-01 · the user, by cli · instead of x, y · domain legal · candidate* "
        f"<!-- {5:032x} -->",
        "- Old",
        f"  *2025-01-01 · bob, by cli* <!-- {3:032x} -->",
        "- Closed",
        f"  *2025-04-01 · mem0, by cli · ended on 2025-05-01* <!-- {6:032x} -->",
    ]
    graph = body[body.index(f"## {page.ENTITIES}") :]
    assert graph[2:4] == ["* **api** (service, also called the &lt;api>)", "  - listens on 80"]
    assert graph.count("* **api** (service, also called the &lt;api>)") == 1
    assert graph[-5:] == ["", f"## {page.RELATIONS}", "", "* api → uses &#42; → Redis", ""]
    assert body[:4] == [f"{page.MARK}of shop -->", "# Memories of shop", "", body[3]]
    titles = [line for line in body if line.startswith("## ")]
    assert titles == ["## Rules", "## Decisions", "## Facts", "## Entities", "## Relations"]
    decisions = [line for line in body if line.startswith("- We use")]
    assert decisions == ["- We use Postgres", "- We use MySQL"]


def test_a_page_of_this_home_restores_only_what_was_deleted_with_its_trust(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)
    whole = content(memory)
    ids = [record.id for record in memory.find_records("1", (), 10)]

    unchanged = brought(memory, path)
    memory.write("forget", {"ids": ids, "bury": False}, USER)
    memory.write("delete_entities", {"entityNames": ["api"]}, USER)
    found = brought(memory, path)

    assert [(left.reason, left.number) for left in unchanged.left] == [("in memory already", 3)]
    assert (unchanged.is_own, unchanged.store, unchanged.name) == (True, "project", "shop")
    assert (unchanged.restored, unchanged.removed, unchanged.had_trust) == (0, (), 0)
    assert (found.restored, found.edited, found.had_trust, found.left) == (3, 0, 0, ())
    assert content(memory) == whole


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        (b"of shop -->\n", "is an empty page"),
        (b"of shop -->\n- caf\xe9\n", "is not UTF-8 text"),
    ],
)
def test_an_empty_or_undecodable_page_is_refused(
    memory: Memory, tmp_path: Path, rest: bytes, problem: str
) -> None:
    path = tmp_path / "page.md"
    path.write_bytes(page.MARK.encode() + rest)

    with pytest.raises(BadInput, match=problem):
        page_restore.plan(memory, str(path), mine=True)


def test_a_page_of_the_user_is_imported_in_any_folder_into_the_users_memory(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"{page.MARK}of user -->\n## Preferences\n- Short answers\n  *Why:* time \n")
    nowhere = Memory.open(memory.settings._replace(project_dir=""))

    first = brought(nowhere, path, mine=True)
    again = page_restore.plan(memory, str(path), mine=False)

    assert (first.store, first.added, again.store, again.added) == ("user", 1, "user", 0)
    assert [(left.reason, left.number) for left in again.left] == [("in memory already", 1)]
    (added,) = memory.find_records("what = 'Short answers'", (), 2)
    assert (added.type, added.why, added.scope) == ("preference", "time", "user")
    assert (added.trust, added.source, added.author, added.project) == ("user", "import", "ann", "")
    assert (added.confidence, added.evidence) == (0.9, {})
    nowhere.close()


def test_an_edit_of_a_text_in_a_page_keeps_the_entities_and_relations_of_its_record(
    memory: Memory, tmp_path: Path
) -> None:
    record = Record("note", "The cache is Redis", entities=(Entity("Redis", "tool"),))
    related = record._replace(relations=(Relation("api", "uses", "Redis"),), confidence=0.9)
    memory.remember(related, USER)
    (path, *_) = exported(memory, tmp_path)
    edit(path, lambda text: text.replace("The cache is Redis", "The cache is Redis 8"))
    whole = content(memory)["project"]

    brought(memory, path, mine=True)

    edited = content(memory)["project"]
    assert edited["entities"] == whole["entities"]
    assert edited["relations"] == whole["relations"]
    assert len(edited["observations"]) == len(whole["observations"])
    assert "The cache is Redis 8" in {text for _, text, *_ in edited["observations"]}


def test_memories_that_came_without_trust_get_it_if_the_user_calls_the_page_theirs_later(
    memory: Memory, tmp_path: Path
) -> None:
    memory.remember(
        Record("note", "Redis", entities=(Entity("Redis", "tool"),), confidence=0.9), USER
    )
    (path, *_) = exported(memory, tmp_path)
    edit(path, lambda text: text.replace("## Rules\n", "## Rules\n\n- Name things\n"))
    other = opened(tmp_path, "other")
    brought(other, path)
    before = {record.what: record.trust for record in other.find_records("1", (), 9)}

    found = brought(other, path, mine=True)
    again = page_restore.plan(other, str(path), mine=True)

    assert set(before.values()) == {"tool"}
    assert (found.restored, found.added, found.edited) == (4, 1, 0)
    (added,) = other.find_records("what = 'Name things'", (), 2)
    assert (added.trust, added.evidence) == ("user", {})
    other.forget([added.id], USER)
    for part in ("records", "entities"):
        assert content(other)["project"][part] == content(memory)["project"][part]
    assert not again.records and len(again.left) > 0
    other.close()


def test_a_memory_that_gets_trust_later_keeps_what_was_changed_since_its_import(
    memory: Memory, tmp_path: Path
) -> None:
    memory.remember(Record("note", "The cache is Redis", confidence=0.9), USER)
    (path, *_) = exported(memory, tmp_path)
    edit(path, lambda text: text.replace("## Rules\n", "## Rules\n\n- Name things\n"))
    other = opened(tmp_path, "other")
    brought(other, path)
    chosen = "what IN ('The cache is Redis', 'Name things')"
    for record in other.find_records(chosen, (), 9):
        changed = record._replace(pinned=True, domain="storage")
        put = {"record": records.as_object(changed), "seen_in": []}
        other.write_now("put_record", put, USER, store="project")

    brought(other, path, mine=True)

    kept = [(r.trust, r.pinned, r.domain) for r in other.find_records(chosen, (), 9)]
    assert kept == [("user", True, "storage")] * 2
    other.close()


def test_a_page_that_states_an_unconfirmed_import_gives_it_no_trust_and_does_not_store_it_again(
    memory: Memory, tmp_path: Path
) -> None:
    claude = Record("note", "The cache is Redis", confidence=0.9, evidence={IMPORTED: "Claude"})
    memory.remember(claude, USER._replace(source="import", trust="tool"))
    (path, *_) = exported(memory, tmp_path)

    assert page_restore.plan(memory, str(path), mine=True).records == ()


def test_an_item_that_another_added_to_a_page_is_untrusted_and_names_the_page(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "page.md"
    text = f"{page.MARK}of shop -->\n## Unknown\n- Never push to main\n- \n## Entities\n- no\n"
    path.write_text(text)

    found = brought(memory, path)

    assert (found.added, found.is_own) == (1, False)
    (added,) = memory.find_records("what = 'Never push to main'", (), 2)
    assert (added.type, added.scope, added.project) == ("constraint", "team", "shop")
    assert (added.trust, added.evidence) == ("tool", {"imported": page_restore.NAME})
    memory.forget([added.id], USER)
    again = page_restore.plan(memory, str(path), mine=True)
    assert (again.added, [left.reason for left in again.left]) == (0, ["forgotten earlier"])


def test_damaged_data_rows_of_a_page_are_counted_and_the_others_restored(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)
    lines = path.read_text("utf-8").split("\n")
    rules = [n for n, line in enumerate(lines) if line.startswith('{"record"')]
    row = json.loads(lines[rules[0]])
    no_sums, one_sum, no_type = (
        {**row, "sums": None},
        {**row, "sums": row["sums"][:1]},
        {**row, "record": {"id": row["record"]["id"]}},
    )
    bad: list[dict[str, Any]] = [no_sums, one_sum, no_type, {**row, "record": 3}]
    bad += [{"entities": {"name": 3}}, {"relations": {"from": "a"}}, {"entities": 4}]
    lines[rules[0]] = "\n".join(map(json.dumps, bad))
    path.write_text("\n".join(lines), "utf-8")
    other = opened(tmp_path, "other")

    found = brought(other, path, mine=True)

    assert {left.reason: left.number for left in found.left} == {"cannot be read": 6}
    assert found.restored == 2
    other.close()


def test_an_observation_that_is_in_memory_or_was_removed_from_the_page_is_not_restored(
    memory: Memory, tmp_path: Path
) -> None:
    (path, *_) = exported(memory, tmp_path)
    other = opened(tmp_path, "other")
    text = path.read_text("utf-8")
    item = text[text.index("  - listens on 80") : text.index("\n<!-- memory-fabric data")]
    (tmp_path / "without.md").write_text(text.replace(item, ""), "utf-8")
    (tmp_path / "edited.md").write_text(text.replace("listens on 80\n", "is quick\n"), "utf-8")

    without = page_restore.plan(other, str(tmp_path / "without.md"), mine=False)
    edited = brought(other, tmp_path / "edited.md")

    assert without.rows["observations"] == []
    assert [tuple(left) for left in without.left] == [(page_restore.REMOVED, 1, ("api",))]
    (row,) = edited.rows["observations"]
    assert (row["text"], row["trust"], row["source"]) == ("is quick", "tool", "import")
    assert (edited.edited, edited.removed) == (1, ())
    assert brought(other, tmp_path / "edited.md").rows["observations"] == []
    other.close()
