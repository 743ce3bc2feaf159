"""The session block: its order, its budget, its marks, and what it leaves out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn import built
from memory_fabric.models import Entity, Record
from memory_fabric.recall.session_block import (
    BY_ASSISTANT,
    DECISIONS_HEADING,
    IMPORTED_HEADING,
    KNOWN_HEADING,
    MAX_DECISIONS,
    MAX_OPEN,
    MORE,
    OPEN_HEADING,
    OTHERS_HEADING,
    RULES_HEADING,
    SESSION_CHARS,
    Contents,
    Part,
    block,
    distinct,
    fitted_lines,
    latest_of_session,
    ranked,
    record_line,
    still_new,
    trust_of,
)
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE

SUBJECTS = (
    "billing search checkout inventory login reporting upload webhook export audit mail calendar "
    "invoices sessions cache"
).split()
THINGS = (
    "PostgreSQL Celery FastAPI Docker Kubernetes cursors timeouts indexes tokens migrations queues "
    "snapshots schemas replicas quotas"
).split()


def a_decision(number: int, **fields: Any) -> Record:
    values: dict[str, Any] = {
        "type": "decision",
        "what": f"The {SUBJECTS[number]} service needs {THINGS[number]}",
        "why": "it is cheaper",
        "entities": (Entity("Redis", "technology"),),
        "id": f"00000000-0000-7000-8000-{number:012x}",
        "created_at": f"2026-01-{number + 1:02d}T10:00:00.000Z",
        "trust": "user",
    }
    return Record(**(values | fields))


def a_rule(number: int, **fields: Any) -> Record:
    values: dict[str, Any] = {
        "type": "constraint",
        "what": f"Never change {SUBJECTS[number]} without {THINGS[number]}",
        "why": "",
        "entities": (),
        "id": f"00000000-0000-7000-8000-{number + 256:012x}",
    }
    return a_decision(number, **(values | fields))


def of(*records: Record, **fields: Any) -> Contents:
    best = ranked(records, {})
    rules = tuple(record for record in best if record.type == "constraint")
    decisions = tuple(record for record in best if record.type == "decision")
    return Contents(rules=rules, decisions=decisions, **fields)


def lines_of(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("- ")]


def test_the_session_block_shows_at_most_ten_decisions_newest_first() -> None:
    records = [a_decision(number) for number in range(14)]

    text = block(of(*records)).text

    assert DECISIONS_HEADING == "## Recent Project Decisions"
    assert DECISIONS_HEADING in text.split("\n")
    assert len(lines_of(text)) == MAX_DECISIONS
    assert lines_of(text)[0] == (
        "- [decision · 0000000d] The sessions service needs replicas — "
        "because it is cheaper (Redis)"
    )


def test_the_session_block_has_at_most_3000_characters_and_no_truncated_lines() -> None:
    records = [a_decision(n, what=f"{SUBJECTS[n]} " * 40, why="reason " * 100) for n in range(11)]

    text = block(of(*records)).text

    assert 2000 < len(text) <= SESSION_CHARS == 3000
    assert "…" not in text
    assert all(SUBJECTS[int(line[20:22], 16)] in line for line in lines_of(text))


def test_the_last_line_of_the_session_block_counts_the_omitted_records() -> None:
    rules = [a_rule(n, what=f"{SUBJECTS[n]} {THINGS[n]} " * 25) for n in range(9)]

    text = block(of(*rules, more=3)).text

    told = len(lines_of(text))
    assert 0 < told < 9
    assert text.split("\n")[-2] == MORE.format(9 - told + 3)
    assert "on record" not in block(of(*rules[:2])).text.partition("\n- ")[2]


def test_the_first_records_show_their_reasons_until_the_block_is_full() -> None:
    records = [a_decision(n, why=f"{THINGS[n]} " * 30) for n in range(10)]

    lines = lines_of(block(of(*records)).text)

    assert len(lines) == 10
    with_reason = [" — because " in line for line in lines]
    assert with_reason == sorted(with_reason, reverse=True) and 0 < sum(with_reason) < 10
    assert "…" not in "".join(lines)


def test_a_reason_is_omitted_if_the_record_already_states_it() -> None:
    what = "The exporter streams its rows because large invoices do not fit into memory"
    decision = a_decision(1, what=what, why="the large invoices did not fit in memory")
    words = {"quotation": "Stream the rows, the invoices do not fit into memory"}
    noted = a_decision(2, what="Rows are streamed", evidence=words, why="invoices fit no memory")

    assert "— because" not in record_line(decision) + record_line(noted)


def test_a_fix_is_shown_without_the_error_message_that_it_quotes() -> None:
    pasted = {"quotation": "docker: Error response from daemon: exec: ./server: no such file"}
    fix = a_decision(1, type="solution", what="Mount the folder beside /app", evidence=pasted)
    rule = a_rule(2, what="Keep /app", evidence=pasted)

    assert record_line(fix).startswith("- [fix · noted by the assistant · 00000001] Mount the")
    assert pasted["quotation"] not in record_line(fix)
    assert pasted["quotation"] in record_line(rule)


def test_only_the_latest_fact_about_a_subject_from_one_session_is_shown() -> None:
    before = "The frontend calls localhost since API_URL is unset; set it and restart the service"
    after = "The frontend has API_URL built in: set it and build the service again"
    facts = [
        a_decision(number, type="note", what=what, session="s1")
        for number, what in enumerate((before, after, "Staging is at port 8080"))
    ]

    assert latest_of_session(facts) == facts[1:]
    assert latest_of_session([facts[0], facts[1]._replace(session="s2")])[0] == facts[0]


def test_stale_records_are_shown_with_their_date_and_a_stale_label() -> None:
    old, new = a_decision(1), a_decision(14, created_at="2026-06-20T10:00:00.000Z")
    confirmed = a_decision(2, evidence={"confirmed": "2026-06-01T10:00:00.000Z"})
    pinned = a_decision(3, pinned=True)

    text = block(of(old, new, confirmed, pinned), now="2026-07-08T10:00:00.000Z").text

    assert "- [decision · 2026-01-02 · stale · 00000001]" in text
    assert text.count("stale") == text.count("2026-") == 1


def test_facts_and_fixes_are_shown_despite_any_number_of_rules_and_decisions() -> None:
    rules = [a_rule(n, id=f"r{k}{n}", why="x " * 60) for n in range(15) for k in range(4)]
    fact = a_decision(20 % 15, id="f1", type="note", what="Staging is at http://10.0.0.7:8080")
    fix = a_decision(3, id="f2", type="solution", what="The build needs Node 22")

    text = block(of(*rules, *map(a_decision, range(12)), known=(fact, fix))).text

    assert len(text) <= SESSION_CHARS
    assert text.index(DECISIONS_HEADING) < text.index(KNOWN_HEADING) < text.index("http://10.0.0.7")
    assert "- [fix · 2026-01-04 · f2] The build needs Node 22" in text


def test_pinned_records_come_first_and_are_shown_once() -> None:
    pinned = a_decision(1, pinned=True)

    lines = lines_of(block(of(a_decision(2), pinned, pinned)).text)

    assert [line[14:22] for line in lines] == ["00000001", "00000002"]


def test_open_questions_come_before_rules_and_rules_before_decisions() -> None:
    question = a_decision(3, type="question", what="Which queue?")
    text = block(of(a_rule(1), a_decision(2), asked=(question,))).text

    parts = [OPEN_HEADING, "- [question", RULES_HEADING, "- [rule", DECISIONS_HEADING]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert (text.split("\n")[0], text.split("\n")[-1]) == (OPEN_FENCE, CLOSE_FENCE)


def test_a_record_line_shows_no_scope_and_no_date() -> None:
    assert record_line(a_rule(1)) == "- [rule · 00000101] Never change search without Celery"


def test_a_record_line_lists_only_entities_that_add_information() -> None:
    names = ("Celery", "search service", "Redis", "src/search/run.py", "Shop", "run.py")
    kinds = ("technology", "component", "technology", "path", "technology", "file")
    entities = tuple(map(Entity, names, kinds))
    for make in (a_decision, a_rule):
        record = make(1, what="The search services need Celery", entities=entities, project="shop")
        assert record_line(record._replace(why="")).endswith("services need Celery (Redis)")


def test_ten_decisions_are_shown_despite_any_number_of_rules() -> None:
    rules = [a_rule(n, id=f"r{k}{n}", why="x " * 60) for n in range(15) for k in range(4)]
    decisions = [a_decision(number) for number in range(12)]

    text = block(of(*rules, *decisions)).text

    assert len(text) <= SESSION_CHARS
    assert text.count("- [decision") == MAX_DECISIONS
    assert text.count("- [rule") >= 5


def test_all_rules_are_shown_if_they_fit() -> None:
    rules = [a_rule(number) for number in range(15)]

    assert block(of(*rules, *map(a_decision, range(10)))).text.count("- [rule") == 15


def test_unconfirmed_notes_of_the_assistant_are_listed_last_under_their_own_label() -> None:
    noted = a_decision(9, trust="assistant")
    agreed = a_decision(8, trust="assistant", evidence={"agreed": True})

    text = block(of(noted, agreed, a_decision(1))).text

    confirmed, _, others = text.partition(BY_ASSISTANT)
    assert "00000008" in confirmed and "00000001" in confirmed
    assert "00000009" in others


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"pinned": True, "trust": "assistant"}, {}),
        ({}, {"trust": "assistant", "evidence": {"agreed": True}}),
        ({"trust": "assistant", "evidence": {"agreed": True}}, {"trust": "assistant"}),
        ({"trust": "assistant"}, {"trust": "tool"}),
    ],
)
def test_a_more_trusted_record_ranks_above_a_newer_record(
    better: dict[str, Any], worse: dict[str, Any]
) -> None:
    old, new = a_decision(0, **better), a_decision(1, **worse)

    assert ranked([new, old], {}) == [old, new]


def test_records_are_ranked_by_trust_then_frequency_then_time() -> None:
    old, new = a_decision(0), a_decision(1)

    assert ranked([old, new], {}) == [new, old]
    assert ranked([old, new], {old.id: 3}) == [old, new]
    assert ranked([old._replace(trust="tool"), new], {old.id: 3}) == [
        new,
        old._replace(trust="tool"),
    ]


def test_the_older_of_two_contradicting_records_is_shown_second_and_labelled() -> None:
    old = a_decision(1, what="The app is deployed on Vercel", why="")
    new = a_decision(5, what="fly.io runs the app", trust="assistant", why="")
    new = new._replace(evidence={"contradicts": [old.id]})

    _, first, second = lines_of(block(of(old, a_decision(3), new)).text)

    assert first.startswith("- [decision · 2026-01-06 · noted by the assistant · 00000005] fly.io")
    assert second.startswith("- [decision · 2026-01-02 · said before 00000005 · 00000001] The app")


def test_a_replaced_record_is_not_shown() -> None:
    assert block(of(a_decision(1, superseded_by="x"))).text == ""


def test_two_records_about_one_subject_are_shown_together_with_their_dates() -> None:
    old = a_decision(1, what="The importer keeps unknown columns of uploads", why="")
    new = a_decision(4, what="The importer drops unknown columns", why="")

    lines = lines_of(block(of(old, a_decision(2), a_decision(3), new)).text)

    assert "2026-01-05" in lines[0] and "drops" in lines[0]
    assert "2026-01-02" in lines[1] and "keeps" in lines[1]
    assert "2026" not in lines[2] + lines[3]


@pytest.mark.parametrize(
    ("less", "more", "told"),
    [
        ("The user runs the server", "The user runs and tests the server", 1),
        ("The user runs the server", "The user runs the server", 1),
        ("The user runs the server", "The user never runs the server himself", 2),
        ("Files have 8 kB at most", "Files have 16 kB at most", 2),
    ],
)
def test_records_with_the_same_meaning_are_shown_once(less: str, more: str, told: int) -> None:
    records = [a_rule(1, what=less), a_rule(2, what=more)]

    assert len(distinct(records, 10)) == len(distinct(records[::-1], 10)) == told
    user, assistant = a_rule(1, what=less), a_rule(2, what=more, trust="assistant")
    assert user in distinct([user, assistant], 10)
    pinned = a_rule(1, what=less, pinned=True)
    assert pinned in distinct([pinned, records[1]], 10)


def test_the_returned_records_are_exactly_those_shown_in_the_session_block() -> None:
    records = [a_decision(n, what=f"{n} " + "word " * 60) for n in range(10)]

    told = block(of(*records), 1200)

    assert 0 < len(told.records) < 10
    assert {record.id[-8:] for record in told.records} == {
        line.partition("]")[0][-8:] for line in lines_of(told.text)
    }


def test_records_from_other_people_are_shown_under_a_separate_heading() -> None:
    ours = [a_decision(n) for n in range(12)]
    theirs = tuple(
        a_decision(n, what=f"Theirs {n}", trust="foreign", source="journal", author="bob")
        for n in range(12)
    )

    text = block(of(*ours, others=theirs)).text

    own, _, other = text.partition(OTHERS_HEADING)
    assert len(lines_of(own)) == MAX_DECISIONS and "Theirs" not in own
    assert other.count("Theirs") == other.count("from bob as claimed, unverified") > 0
    assert block(Contents(others=theirs)).text.count("Theirs") == MAX_DECISIONS
    assert OTHERS_HEADING not in block(of(*ours, others=theirs), len(own)).text


def test_the_block_shows_at_most_three_open_questions() -> None:
    asked = tuple(a_decision(n, type="question", what=f"Which {THINGS[n]}?") for n in range(5))

    assert block(Contents(asked=asked)).text.count("- [question") == MAX_OPEN


@given(
    st.lists(
        built(
            Record,
            type=st.sampled_from(("decision", "constraint", "question")),
            what=st.text(max_size=400),
            why=st.text(max_size=100),
            id=st.uuids().map(str),
            trust=st.sampled_from(("user", "assistant", "tool")),
            created_at=st.sampled_from(("2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z")),
        ),
        max_size=30,
        unique_by=lambda record: record.id,
    ),
    st.integers(0, SESSION_CHARS),
)
def test_the_block_fits_its_budget_and_ignores_the_order_of_records(
    records: list[Record], max_chars: int
) -> None:
    def told(found: list[Record]) -> str:
        asked = tuple(r for r in ranked(found, {}) if r.type == "question")
        return block(of(*found, asked=asked), max_chars).text

    assert len(told(records)) <= max_chars
    assert told(records) == told(records[::-1])


@given(
    st.lists(
        st.builds(
            lambda lengths, share, rank: Part(
                tuple(("x" * length, str(length)) for length in lengths), share, rank
            ),
            st.lists(st.integers(1, 300), max_size=8),
            st.integers(0, 400),
            st.integers(0, 3),
        ),
        max_size=6,
    ),
    st.integers(0, 3000),
)
def test_lines_fit_the_limit_and_every_part_gets_its_share(
    parts: list[Part], chars_left: int
) -> None:
    kept = fitted_lines(parts, chars_left)

    assert sum(len(line) + 1 for line, _ in kept) <= chars_left
    assert kept == fitted_lines(parts, chars_left)
    if sum(part.share for part in parts) <= chars_left:
        certain = [
            part.lines[0] for part in parts if part.lines and len(part.lines[0][0]) < part.share
        ]
        assert [line for line in certain if line not in kept] == []


def test_a_record_that_is_known_or_contradicted_by_a_known_one_is_not_new() -> None:
    plain, known = a_decision(1), a_decision(2)
    older = a_decision(3, evidence={"said_before": ["x", known.id]})

    assert still_new([plain, known, older], {known.id}) == [plain]
    assert still_new([plain, known, older], {"y"}) == [plain, known, older]


def an_import(number: int, **fields: Any) -> Record:
    evidence = {"imported": "Cursor"} | fields.pop("evidence", {})
    return a_decision(number, trust="tool", evidence=evidence, why="", entities=(), **fields)


def test_unconfirmed_imports_get_little_room_and_the_others_are_counted() -> None:
    imports = [an_import(number) for number in range(9)]

    text = block(of(*imports, more=1)).text

    shown = text.partition(IMPORTED_HEADING)[2].count("- [decision")
    assert 0 < shown < 4
    assert MORE.format(9 - shown + 1) in text
    assert len(lines_of(text)) == shown


def test_imports_that_are_pinned_or_confirmed_or_followed_as_instructions_have_no_own_limit() -> (
    None
):
    pinned = [an_import(number, pinned=True) for number in range(5)]
    followed = [an_import(number, evidence={"instructions": True}) for number in range(5)]
    confirmed = [record._replace(trust="user") for record in pinned]

    assert len(lines_of(block(of(*pinned)).text)) == 5
    assert len(lines_of(block(of(*followed)).text)) == 5
    assert IMPORTED_HEADING not in block(of(*pinned)).text + block(of(*confirmed)).text
    assert IMPORTED_HEADING in block(of(*followed)).text


def test_imports_follow_the_notes_of_the_assistant() -> None:
    noted = a_decision(9, trust="assistant")

    text = block(of(an_import(1), noted, a_decision(2))).text

    own, _, others = text.partition(f"{BY_ASSISTANT}\n")
    notes, _, imports = others.partition(f"{IMPORTED_HEADING}\n")
    assert ["00000002" in own, "00000009" in notes, "00000001" in imports] == [True] * 3


@pytest.mark.parametrize(
    ("less", "more", "told"),
    [
        ({"why": "it is quick"}, {"why": ""}, 2),
        ({"why": ""}, {"why": "it is quick"}, 1),
        ({"why": "it is quick"}, {"why": "it is cheap"}, 1),
        ({"type": "preference"}, {}, 2),
        ({"pinned": True}, {}, 2),
        ({"trust": "user"}, {"trust": "tool"}, 2),
        ({"trust": "tool"}, {"trust": "tool"}, 1),
        ({"trust": "assistant", "evidence": {"agreed": True}}, {"trust": "assistant"}, 2),
    ],
)
def test_a_record_is_left_out_only_for_one_of_its_type_that_says_and_counts_as_much(
    less: dict[str, Any], more: dict[str, Any], told: int
) -> None:
    one = a_rule(1, what="The user runs the server", **less)
    other = a_rule(2, what="The user runs and tests the server", **more)

    assert len(distinct([one, other], 10)) == told


def test_of_many_records_the_first_ones_are_shown() -> None:
    records = [a_rule(number) for number in range(9)]
    copy = records[0]._replace(id="x")

    assert distinct(records, 4) == records[:4]
    assert distinct([records[0], copy, copy, *records[1:]], 2) == records[:2]


@pytest.mark.parametrize(
    ("shared", "sessions", "is_one_subject"),
    [
        (4, ("s1", "s1"), True),
        (3, ("s1", "s1"), False),
        (4, ("", ""), False),
        (4, ("s2", "s1"), False),
    ],
)
def test_records_of_one_session_on_one_subject_share_four_words(
    shared: int, sessions: tuple[str, str], is_one_subject: bool
) -> None:
    subject = "amber basil cedar dahlia elder".split()
    one = a_decision(1, what=" ".join(subject), session=sessions[0])
    words = " ".join([*subject[:shared], "gouge", "mandrel", "lathe"])
    other = a_decision(2, what=words, session=sessions[1])

    assert latest_of_session([one, other]) == ([other] if is_one_subject else [one, other])


@pytest.mark.parametrize(("own", "is_same"), [(3, True), (4, False)])
def test_two_records_are_shown_together_if_they_share_most_words_of_the_shorter_one(
    own: int, is_same: bool
) -> None:
    words = "amber basil cedar dahlia elder fennel ginger".split()
    # Two words are shared: at least six tenths of three words, but not of four.
    first = a_decision(1, what=" ".join(words[:own]), why="", entities=())
    last = a_decision(5, what="amber basil lathe spindle gouge", why="", entities=())

    lines = lines_of(block(of(first, a_decision(3), last)).text)

    assert [("2026-01-02" in line) for line in lines].count(True) == int(is_same)


def test_a_pinned_record_counts_as_the_users_and_an_agreed_note_as_agreed() -> None:
    agreed = {"agreed": True}

    assert trust_of(a_decision(1, trust="tool", pinned=True)) == "user"
    assert trust_of(a_decision(1, trust="assistant", evidence=agreed)) == "agreed"
    assert trust_of(a_decision(1, trust="tool", evidence=agreed)) == "tool"
    assert trust_of(a_decision(1, trust="assistant")) == "assistant"


def test_a_line_of_exactly_the_remaining_characters_is_shown() -> None:
    parts = [Part((("x" * 9, "a"), ("x" * 9, "b")), 0, 1), Part((("x" * 9, "c"),), 0, 0)]

    assert [key for _, key in fitted_lines(parts, 30)] == ["a", "b", "c"]
    assert [key for _, key in fitted_lines(parts, 29)] == ["a", "c"]
    assert [key for _, key in fitted_lines(parts, 10)] == ["c"]
    assert fitted_lines(parts, 9) == []


def test_the_session_block_is_as_long_as_its_limit_allows() -> None:
    contents = of(a_decision(1, why="", entities=()))
    whole = block(contents).text
    least_chars = len(whole) + len(MORE.format(1)) + 1

    assert block(contents, least_chars).text == whole
    assert block(contents, least_chars - 1).text == ""


def test_an_older_statement_is_not_shown_without_the_newer_one_that_contradicts_it() -> None:
    old = a_decision(1, what="The app is deployed on Vercel", why="", pinned=True)
    contradicts = {"contradicts": [old.id]}
    new = a_decision(5, what="fly.io runs the app " * 40, why="", evidence=contradicts)

    assert "Vercel" in block(of(old, new)).text
    assert block(of(old, new), 500).text == ""
    assert "Vercel" in block(of(old), 500).text
