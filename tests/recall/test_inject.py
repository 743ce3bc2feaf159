from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import Hit
from memory_fabric.recall import floor
from memory_fabric.recall.inject import (
    A_PASTE,
    MAX_EPISODES,
    MAX_HITS,
    UNASKED_RELATION,
    UNASKED_TURN,
    Known,
    above_floor,
    choose,
    is_silent,
    may_show_a_failure,
    states,
    verdicts,
    with_conflicts,
)
from memory_fabric.recall.pipeline import Fabric
from recall.given import a_hit, a_match, open_memory, pagination_graph, prompt, remember, turn

TRACE = """Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    import redis
  File "/usr/lib/importer.py", line 10, in load
    module = find(name);
  at java.lang.Thread.run(Thread.java:748)
[2026-01-01 10:00:00] ERROR celery worker died {}
2026-01-01 10:00:01 redis.exceptions.ConnectionError
ModuleNotFoundError: No module named 'redis'
"""


@pytest.mark.parametrize(
    "text",
    ["", "hi", "yes", "ok, continue", "thanks!", "please fix it", "run the tests", "go on"],
)
def test_a_prompt_that_only_greets_or_agrees_gets_no_memory(text: str) -> None:
    query = prompt(text)

    assert is_silent(query)
    assert above_floor([a_match("Redis", "redis", coverage=1.0)], query) == []


def test_a_memory_on_the_subject_of_the_prompt_is_injected() -> None:
    query = prompt("Implement pagination for the users endpoint")
    hit = a_match("Use cursor pagination for endpoints", "pagination", "endpoint", coverage=0.7)

    assert above_floor([hit], query) == [hit]


def test_a_memory_sharing_only_one_common_word_with_the_prompt_is_not_injected() -> None:
    query = prompt("set the window title of the editor")

    assert (
        above_floor([a_match("Close the window in winter", "window", coverage=0.25)], query) == []
    )


def test_a_memory_that_lacks_the_name_in_the_prompt_is_not_injected() -> None:
    hit = a_match("Pottery class starts in July", "pottery", "class", coverage=0.2)
    known = a_match("Melanie signed up for a pottery class", "pottery", "class", coverage=0.2)

    stranger = prompt("Does Melanie go to the pottery class with her kids and friends?")
    nobody = prompt("Does the pottery class with the kids and friends start?")

    assert above_floor([hit], stranger) == []
    assert above_floor([hit], nobody) == [hit]
    assert above_floor([known], stranger) == [known]


def test_a_capitalised_first_word_does_not_count_as_a_name() -> None:
    hit = a_match("Session tokens live in Redis", "session", "tokens", coverage=0.25)
    query = prompt("Users are logged out too early. Find out when session tokens expire.")

    assert above_floor([hit], query) == [hit]


def test_words_that_are_common_in_prompts_never_cause_an_injection() -> None:
    query = prompt("use the same approach for invoices")
    hit = a_match("use an approach", "use", "approach", coverage=0.6)

    assert above_floor([hit], query) == []


def test_a_memory_is_injected_if_a_long_prompt_contains_all_its_words() -> None:
    query = prompt("We talked about many things: alpha beta gamma delta, and retry budgets, too")
    hit = a_match("retry budgets", "retry", "budgets", coverage=0.1)

    assert above_floor([hit], query) == [hit]


def test_a_memory_must_share_two_rare_words_with_a_prompt_or_three_if_it_is_long() -> None:
    few = prompt("write a parser for ledgers with pytest fixtures")
    many = prompt(
        "Guests of the kitchen table order waffles, coffee, juice and cake with pytest fixtures "
        "beside the harbour, the lighthouse, the windmill and the orchard"
    )
    two = ["pytest", "fixtures"]
    hit = a_match("pytest fixtures stand in conftest", *two, coverage=0.2)
    common = a_match("pytest fixtures", *two, coverage=0.2, metadata={"rare": ["pytest"]})
    nothing_rare = a_match("pytest fixtures", *two, coverage=0.2, metadata={"rare": []})
    three = a_match("pytest fixtures of the harbour", *two, "harbour", coverage=0.2)

    assert above_floor([hit, common, nothing_rare], few) == [hit]
    assert above_floor([hit, three], many) == [three]


def test_a_memory_of_common_words_is_injected_only_if_it_covers_most_of_the_prompt() -> None:
    query = prompt("How does the ledger importer check columns?")
    hit = a_match("The ledger importer checks columns", "ledger", "importer", metadata={"rare": []})

    assert above_floor([hit], query) == []
    assert above_floor([hit._replace(metadata={**hit.metadata, "coverage": 0.7})], query)


def test_words_of_the_projects_own_name_cause_no_injection() -> None:
    query = prompt("why does the orchard greenhouse answer slowly at night?")
    words = ("orchard", "greenhouse")
    hit = a_match("No stock is kept in the orchard greenhouse", *words, coverage=0.3)
    named = hit._replace(metadata={**hit.metadata, "project": "orchard-greenhouse"})

    assert above_floor([hit], query) == [hit]
    assert above_floor([named], query) == []


def test_a_rule_that_the_prompt_already_states_is_injected_only_for_a_question() -> None:
    rule = "Commit each subtask on its own branch, mark it done, then rebase onto the parent"
    hit = a_match(rule, *prompt(rule).terms, coverage=0.9)

    assert verdicts([hit], prompt(f"Start with task 3. {rule}.")) == [floor.NO_NEWS]
    assert above_floor([hit], prompt(f"{rule}?"))


def test_an_outdated_memory_is_injected_only_if_the_prompt_asks_about_the_past() -> None:
    hit = a_match("redis", "redis", "session", coverage=1.0, metadata={"over": True})

    assert above_floor([hit], prompt("redis session expiry")) == []
    assert above_floor([hit], prompt("which redis session store did we have before?")) == [hit]


def test_memories_already_seen_or_shown_in_memory_md_are_not_injected_again() -> None:
    query = prompt("redis session expiry")
    metadata = {"record": "1"}
    hit = a_match("redis", "redis", "session", coverage=1.0, id="record:1", metadata=metadata)

    assert above_floor([hit], query) == [hit]
    assert above_floor([hit], query, seen={"record:1"}) == []
    assert above_floor([hit], query, shown={"1"}) == []


def test_a_pasted_log_gets_only_the_fix_of_its_symptom() -> None:
    query = prompt(TRACE)
    decision = a_match("Redis", "redis", coverage=1.0)
    fix = a_match("Redis", "redis", metadata={"type": "solution", "symptom": True}, id="record:2")

    assert verdicts([decision, fix], query) == [A_PASTE, ""]


def test_a_fix_is_injected_if_the_prompt_mentions_a_failure() -> None:
    fix = a_match(
        "The Vercel deployment answers 404 while vercel.json names no framework",
        "vercel",
        "deployment",
        coverage=0.12,
        metadata={"type": "solution"},
    )

    assert above_floor([fix], prompt("why does the vercel deployment fail again with my branch?"))
    assert above_floor([fix], prompt("¿por qué falla el vercel deployment en mi rama?"))
    assert above_floor([fix], prompt("describe the vercel deployment in the handbook")) == []


def test_past_turns_are_injected_only_if_the_prompt_asks_about_the_past() -> None:
    said = turn("redis session", "redis", "session", coverage=0.9)

    assert verdicts([said], prompt("redis session expiry")) == [UNASKED_TURN]
    assert above_floor([said], prompt("what did we say last time about the redis session?"))
    assert above_floor([said], prompt("Was haben wir letztes Mal zu redis session gesagt?"))


def test_weak_matches_and_questions_among_past_turns_are_not_injected() -> None:
    query = prompt("what did we say about redis session expiry?")
    least = floor.EPISODE_COVERAGE
    enough, weak = (
        turn("redis session", "redis", "session", coverage=share) for share in (least, least - 0.01)
    )

    assert above_floor([enough, weak], query) == [enough]
    assert above_floor([turn("redis session?", "redis", "session", coverage=0.9)], query) == []
    assert above_floor([turn("redis", "redis", coverage=0.9)], query) == []


def test_a_relation_is_injected_only_if_the_prompt_asks_about_relations() -> None:
    edge = a_match(
        "billing depends on ledger-store",
        "ledger",
        "store",
        coverage=0.9,
        source="graph",
        entities=("billing", "ledger-store"),
        metadata={"entityType": "relation"},
    )

    assert verdicts([edge], prompt("fix the ledger-store that billing depends on")) == [
        UNASKED_RELATION
    ]
    assert above_floor([edge], prompt("what depends on ledger-store?"))


def test_a_question_about_relations_gets_the_path_between_entities_in_one_line(
    tmp_path: Path,
) -> None:
    memory = open_memory(tmp_path)
    pagination_graph(memory)
    fabric = Fabric(memory, "2026-03-01T12:00:00Z")

    told = fabric.inject_for_prompt("What uses the thing that database-engineer recommends?")
    order = fabric.inject_for_prompt("Use the thing that database-engineer recommends.")
    memory.close()

    way = "database-engineer recommends cursor-pagination; cursor-pagination uses PostgreSQL"
    assert [way in line for line in told.text.splitlines()].count(True) == 1
    assert way not in order.text


@pytest.mark.parametrize(
    ("question", "answer", "no_answer"),
    [
        ("who rotates the signing keys?", "The platform team rotates them", "They live in Vault"),
        ("how long do we keep audit rows?", "Kept for 90 days", "Written by a trigger"),
        ("which version of Node builds the app?", "Node 22 builds it", "Node builds it on the CI"),
        ("when are snapshots deleted?", "Deleted after the merge", "Deletion leaves a log line"),
    ],
)
def test_a_who_or_when_question_gets_only_memories_that_can_answer_the_question(
    question: str, answer: str, no_answer: str
) -> None:
    query = prompt(question)
    matched = query.terms

    assert above_floor([a_match(answer, *matched, coverage=0.9)], query)
    assert above_floor([a_match(no_answer, *matched, coverage=0.9)], query) == []


def test_words_found_in_most_memories_of_the_project_cause_no_injection(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    for part in ("orders", "invoices", "refunds", "vouchers", "returns"):
        remember(memory, f"The api sender has a retry limit for {part}")
    webhook = remember(memory, "The webhook budget is five attempts")
    fabric = Fabric(memory, "2026-03-01T12:00:00Z")

    text = (
        "update the handbook of the api sender to explain the retry and the budget of the webhook"
    )
    hits = fabric.hits_to_inject(text)
    memory.close()

    assert [hit.metadata["record"] for hit in hits] == [webhook.id]


def test_function_words_of_other_languages_do_not_cause_an_injection() -> None:
    query = prompt("la vista de los articulos no esta cargando")

    assert not is_silent(query)
    assert above_floor([a_match("la base de datos", "la", "de", "los", coverage=0.5)], query) == []


def test_facts_are_injected_before_past_turns_and_both_are_limited() -> None:
    turns = [a_hit(f"t{i}", id=f"episode:{i}", source="episodes", relevance=0.9) for i in range(9)]
    facts = [a_hit(f"f{i}", id=f"record:{i}", relevance=0.8) for i in range(3)]

    chosen = choose([*turns, *facts], prompt("anything about redis"))

    assert [hit.source for hit in chosen] == ["records"] * MAX_HITS + ["episodes"] * MAX_EPISODES


def test_each_subject_of_a_prompt_gets_its_best_record_first() -> None:
    query = prompt("move the Redis sessions, format the invoice ledger, draw the harbour map")
    redis = [
        a_match(f"Redis sessions {n}", "redis", "sessions", id=f"record:{n}", relevance=0.9)
        for n in range(8)
    ]
    invoices = a_match("Invoice ledger", "invoice", "ledger", id="record:x", relevance=0.4)
    maps = a_match("Harbour map", "harbour", "map", id="record:y", relevance=0.4)

    two, three = choose([*redis, invoices], query), choose([*redis, invoices, maps], query)

    assert [hit.id for hit in two] == ["record:0", "record:x"]
    assert [hit.id for hit in three] == ["record:0", "record:x", "record:y"]


def test_a_file_name_that_contains_error_does_not_count_as_a_failure() -> None:
    fix = a_match(
        "The Vercel deployment answers 404 while vercel.json names no framework",
        "vercel",
        "deployment",
        coverage=0.12,
        metadata={"type": "solution"},
    )
    asked = "describe the vercel deployment in {} of the handbook for customers and partners"

    assert above_floor([fix], prompt(asked.format("error-404.md"))) == []
    assert above_floor([fix], prompt(asked.format("the error page")))


SAID_AT = "2026-02-20T10:00:00.000Z"


@pytest.mark.parametrize(
    ("metadata", "known", "is_given"),
    [
        ({"session": "s1"}, {"here": "s1"}, False),
        ({"session": "s2"}, {"here": "s1"}, True),
        ({"session": ""}, {"here": ""}, True),
        ({"session": "s1", "scope": "local"}, {"here": "s1"}, True),
        ({"session": "s1", "trust": "tool"}, {"here": "s1"}, True),
        ({"session": "s1"}, {"here": "s1", "since": SAID_AT}, True),
        ({"session": "s1"}, {"here": "s1", "since": SAID_AT.replace("T10", "T09")}, False),
        ({"conflict": True}, {"seen": {"record:1"}}, True),
        ({"conflict": True}, {"seen": {"conflict:record:1"}}, False),
        ({"conflict": True, "session": "s1"}, {"here": "s1"}, False),
        ({"type": "session"}, {}, False),
        ({}, {"shown": {"record:1"}}, False),
        ({"record": "1"}, {"shown": {"record:1"}}, True),
    ],
)
def test_a_memory_that_the_session_already_has_is_not_injected(
    metadata: dict[str, object], known: Known, is_given: bool
) -> None:
    hit = a_match("redis", "redis", "session", coverage=1.0, id="record:1", metadata=metadata)

    [verdict] = verdicts([hit], prompt("redis session expiry"), **known)

    assert (verdict == "") is is_given


def test_a_fix_without_a_matching_symptom_is_not_injected_beside_a_log() -> None:
    fix = a_match("Redis", "redis", "worker", coverage=1.0, metadata={"type": "solution"})
    asked = "Why does the redis worker fail?" + "\nand so on, as we said" * 7

    assert above_floor([fix], prompt(asked)) == []
    assert above_floor([fix], prompt("Why does the redis worker fail?")) == [fix]


def test_a_turn_in_which_a_listed_memory_was_stated_is_not_injected() -> None:
    query = prompt("what did we say last time about the redis session expiry?")
    said = turn("redis sessions expire daily", "redis", "session", coverage=0.9)
    record = a_match("Redis sessions expire daily", "redis", "session", coverage=0.9)

    assert above_floor([said, record], query) == [record]
    assert above_floor([said], query) == [said]


@pytest.mark.parametrize(
    ("text", "is_failure"),
    [
        ("Traceback".ljust(201), True),
        ("Traceback".ljust(200), False),
        ("Thanks".ljust(201), False),
        ("a" + "\na" * 7, True),
        ("a" + "\na" * 6, False),
    ],
)
def test_a_prompt_may_show_a_failure_if_it_is_long_and_has_an_error_or_many_lines(
    text: str, is_failure: bool
) -> None:
    assert may_show_a_failure(text) is is_failure


def test_only_current_records_are_marked_as_contradicting_a_prompt_that_is_no_paste() -> None:
    rule = a_hit("Use pnpm, never npm", metadata={"type": "constraint"})
    others = [rule._replace(source="graph"), rule.marked({"over": True}), a_hit("Use tabs")]

    marked = with_conflicts([rule, *others], prompt("please use npm here"))

    assert [bool(hit.metadata.get("conflict")) for hit in marked] == [True, False, False, False]
    assert marked[1:] == others
    assert with_conflicts([rule], prompt(f"{TRACE}npm install;\n")) == [rule]


@pytest.mark.parametrize(("relevance", "count"), [(0.6, 2), (0.59, 1)])
def test_a_further_hit_needs_six_tenths_of_the_best_relevance(relevance: float, count: int) -> None:
    best, further = a_hit(id="record:1", relevance=1.0), a_hit(id="record:2", relevance=relevance)

    assert len(choose([best, further], prompt("redis"))) == count


def test_a_memory_that_contradicts_the_prompt_comes_first() -> None:
    best = a_hit(id="record:1", relevance=0.9)
    rule = a_hit(id="record:2", relevance=0.2, metadata={"conflict": True})

    assert choose([best, rule], prompt("redis")) == [rule, best]


@pytest.mark.parametrize(
    ("matched", "count"),
    [(("invoice",), 1), (("invoice", "ledger"), 2), (("redis",), 2), (("please",), 1)],
)
def test_a_further_subject_is_a_name_or_two_new_topics(
    matched: tuple[str, ...], count: int
) -> None:
    query = prompt("please paint the harbour map beside the invoice ledger of Redis")
    first = a_match("Harbour map", "harbour", "map", id="record:1", relevance=0.9)
    second = a_match("Another", *matched, id="record:2", relevance=0.2)

    assert len(choose([first, second], query)) == count


def test_memories_of_others_come_last_and_get_no_more_than_their_share() -> None:
    own = [a_hit(f"own {n}", id=f"record:{n}", relevance=0.8) for n in range(6)]
    metadata = {"trust": "foreign"}
    theirs = [
        a_hit(name, id=f"record:{name}", relevance=0.9, metadata=metadata | {"author": name})
        for name in ("ann", "bob", "eva", "tom")
    ]

    def ids(*hits: Hit) -> list[str]:
        return [hit.id for hit in choose(hits, prompt("redis"), max_hits=6)]

    assert ids(*theirs, *own) == [*(hit.id for hit in own[:4]), "record:ann", "record:bob"]
    assert ids(*theirs) == [hit.id for hit in theirs]
    assert ids(own[0], *(hit._replace(relevance=0.4) for hit in theirs)) == [own[0].id]


def test_a_text_states_a_statement_if_it_has_nearly_all_its_words() -> None:
    words = [f"blor{letter}t" for letter in "abcdefghijklmnopqrst"]
    statement = " ".join(words)

    assert states(" ".join(words[:17]), statement)
    assert not states(" ".join(words[:16]), statement)
    assert not states(statement, "")
