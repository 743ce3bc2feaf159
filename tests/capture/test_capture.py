"""Records in what somebody said."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.capture import MAX_RECORDS, capture
from memory_fabric.capture.phrases.table import PHRASES
from memory_fabric.models import CANDIDATE_FROM, PROMOTED_FROM, RECORD_TYPES, STORED_FROM, Record
from memory_fabric.text import words


def one(text: str, speaker: str = "user") -> Record:
    records = capture(text, speaker=speaker)
    assert len(records) == 1, records
    return records[0]


# --- the examples of the brief -----------------------------------------------------------------


def test_a_plain_choice_of_the_user_is_promoted() -> None:
    record = one("let's use PostgreSQL for the analytics DB")
    assert record.type == "decision"
    assert record.confidence >= PROMOTED_FROM


def test_a_request_for_work_is_no_memory() -> None:
    assert capture("I want you to fix the React bug", speaker="user") == []


def test_our_approach_is_a_decision() -> None:
    assert one("Our approach is optimistic locking with retries").type == "decision"


def test_the_reason_does_not_stick_to_the_alternative() -> None:
    record = one("We chose Redis over Memcached because we need persistence")
    assert record.alternatives == ("Memcached",)
    assert record.why == "we need persistence"
    assert record.what == "We chose Redis over Memcached"


@pytest.mark.parametrize(
    ("symptom", "cause_and_fix"),
    [
        ("The build failed", "Node 18 lacks toSorted; upgrading to Node 20 fixed it"),
        ("The deploy failed", "the certificate had expired; renewing it solved it"),
    ],
)
@pytest.mark.parametrize("speaker", ["user", "assistant"])
def test_a_problem_keeps_the_cause_and_the_fix_of_its_sentence(
    speaker: str, symptom: str, cause_and_fix: str
) -> None:
    record = one(f"{symptom} because {cause_and_fix}", speaker)
    assert (record.type, record.what, record.why) == ("problem", symptom, cause_and_fix)


def test_br11_a_rule_for_all_parts_is_a_decision_with_its_entities() -> None:
    record = one("Use cursor-based pagination for all list endpoints")
    assert record.type == "decision"
    assert {e.name: e.type for e in record.entities} == {
        "cursor-pagination": "pattern",
        "list-endpoints": "component",
    }


@pytest.mark.parametrize("speaker", ["user", "assistant", "subagent", "summary"])
def test_br15_what_failed_is_an_antipattern(speaker: str) -> None:
    record = one("Offset pagination caused timeouts at 1M rows", speaker)
    assert (record.type, record.outcome) == ("antipattern", "failed")


def test_br15_what_scales_is_a_pattern() -> None:
    record = one("Cursor-based pagination scales for 2M+ rows")
    assert (record.type, record.outcome) == ("pattern", "success")


def test_br15_a_practice_for_all_is_a_constraint() -> None:
    assert one("Always validate input at API boundaries").type == "constraint"


def test_br16_chose_over_is_a_relation_of_the_record() -> None:
    record = one("We chose Redis over Memcached")
    assert [tuple(r) for r in record.relations] == [("Redis", "chose_over", "Memcached")]


def test_br18_a_reasoned_choice_of_a_known_thing_is_generalizable() -> None:
    assert one("We chose Redis over Memcached because we need persistence").generalizable
    assert not one("We chose Redis over Memcached").generalizable
    assert not one("We decided to keep one office because rents fall").generalizable


# --- each type ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "record_type"),
    [
        ("We decided to ship the desktop build without the updater.", "decision"),
        ("We'll store the thumbnails beside the originals.", "decision"),
        ("Going with a flat folder layout.", "decision"),
        ("blue goes to the header, that's decided.", "decision"),
        ("Decision: one worker for each tenant.", "decision"),
        ("The ledger remains the single source of truth for balances.", "decision"),
        ("We moved from Jest to Vitest.", "decision"),
        ("We want to keep the old route since partners call it.", "decision"),
        ("Never log request bodies in production.", "constraint"),
        ("From now on every table gets a created_at column.", "constraint"),
        ("Don't commit the lock file again.", "constraint"),
        ("Public handlers must check the tenant id.", "constraint"),
        ("Force pushes are forbidden on shared branches.", "constraint"),
        ("You never push to main.", "constraint"),
        ("I prefer small commits over large ones.", "preference"),
        ("Prefer composition over inheritance.", "preference"),
        ("Avoid global state where possible.", "preference"),
        ("The root cause was a lock file that outlived its process.", "problem"),
        ("Problem: the importer drops the last row of every sheet.", "problem"),
        ("The nightly export fails because the disk fills up.", "problem"),
        ("The release is blocked by the missing certificate.", "blocker"),
        ("We can't deploy until the contract is signed.", "blocker"),
        ("Anti-pattern: catching every error in one place.", "antipattern"),
        ("Pattern: one transaction for each message.", "pattern"),
    ],
)
def test_each_way_of_settling_something_has_its_type(text: str, record_type: str) -> None:
    assert one(text).type == record_type


def test_a_fix_is_kept_with_its_problem() -> None:
    text = "The bug was that the cache ignored the tenant. The fix: add the tenant to its key."
    assert [r.type for r in capture(text, speaker="assistant")] == ["problem", "solution"]


def test_the_sentence_before_a_labelled_fix_is_its_problem() -> None:
    text = "- The parser stripped quotes before it split the line. Fix: split the line first."
    assert [r.type for r in capture(text, speaker="assistant")] == ["problem", "solution"]


def test_a_fix_without_a_problem_is_a_report() -> None:
    assert capture("Fixed it by adding the tenant to the key.", speaker="assistant") == []


def test_a_switch_names_what_was_left_and_what_replaces_it() -> None:
    record = one("We switched from Jest to Vitest")
    assert record.alternatives == ("Jest",)
    assert [tuple(r) for r in record.relations] == [("Vitest", "replaces", "Jest")]


def test_a_summary_tells_what_the_user_wants() -> None:
    record = one("User prefers tabs over spaces.", "summary")
    assert (record.type, record.what, record.alternatives) == (
        "preference",
        "tabs over spaces",
        ("spaces",),
    )


# --- where the reason stands -------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "We decided to keep one table because joins are slow.",
        "Because joins are slow, we decided to keep one table.",
        "We decided to keep one table. Because joins are slow.",
        "We decided to keep one table, because:\n\n- joins are slow",
        "We decided to keep one table.\n\n## Rationale\n\njoins are slow",
    ],
)
def test_a_reason_is_found_before_after_and_below(text: str) -> None:
    assert one(text).why == "joins are slow"


def test_an_instead_takes_its_alternative_from_the_sentence_before() -> None:
    text = "We will not use cron jobs. Instead, we will rely on the queue of the broker."
    assert capture(text, speaker="assistant")[-1].alternatives == ("cron jobs",)


def test_a_list_under_a_heading_that_forbids_keeps_its_polarity() -> None:
    text = "## Do NOT\n\n- Edit generated files\n- Use tabs in Python"
    records = capture(text, speaker="user")
    assert [r.what for r in records] == [
        "Do not: Edit generated files",
        "Do not: Use tabs in Python",
    ]
    assert {r.type for r in records} == {"constraint"}


def test_two_statements_are_two_records_and_a_repeated_one_is_one() -> None:
    text = "Never log tokens. We decided to use Redis. Never log tokens."
    assert [r.type for r in capture(text, speaker="user")] == ["constraint", "decision"]


def test_a_decision_before_a_question_is_kept() -> None:
    text = "We decided to drop the legacy importer. Can you remove it?"
    assert one(text).what == "We decided to drop the legacy importer"


@pytest.mark.parametrize(
    ("text", "record_type"),
    [
        ("ok scrap the moment.js thing, dayjs is what we're standardising on", "decision"),
        ("We're on Node 20, don't use anything newer until the cluster is upgraded", "constraint"),
        ("I'd rather have explicit types than inference in exported functions", "preference"),
        ("don't touch anything in legacy/, it's frozen until the audit is done", "constraint"),
        ("We tried federation and it was a disaster. REST it is.", "decision"),
        ("Use the repository pattern like in orders/", "decision"),
        ("Deploys only happen Tuesday to Thursday", "constraint"),
        ("Let's use tabs.", "decision"),
        ("remember that the staging db is reset every night at 3am", "constraint"),
        ("tests: pytest, not unittest", "decision"),
        ("ci is blocked: the runner has no disk space left", "blocker"),
        ("We go with hexagonal architecture: ports and adapters", "decision"),
        ("I changed my mind: Stripe instead of Adyen, because of the fees", "decision"),
        ("No more lodash, please.", "constraint"),
        ("Secrets only via Vault, no .env in prod", "constraint"),
        ("Make sure the tests pass before you push", "constraint"),
        ("TIL sqlite needs PRAGMA foreign_keys=ON for every connection", "constraint"),
        ("We use tabs for indentation in this repo.", "decision"),
        ("Du sollst nie direkt auf main pushen, immer über einen PR", "constraint"),
        ("Wir nutzen Terraform, weil Pulumi in der CI zu langsam war.", "decision"),
    ],
)
def test_what_developers_say_in_passing_is_kept(text: str, record_type: str) -> None:
    found = [r.type for r in capture(text, speaker="user") if r.confidence >= STORED_FROM]
    assert found == [record_type]


@pytest.mark.parametrize(
    "text",
    [
        "we always crash here",
        "It always fails on CI but never locally",
        "we never get past the login screen",
        "we must have broken this in the last release",
        "we can't reproduce it because the logs are gone",
        "we should never have merged that PR",
        "I prefer the second version you showed",
        "Error: ECONNREFUSED 127.0.0.1:5432, we always get this when docker isn't up",
        "Don't use a for loop here, use a comprehension",
        "keep it in mind",
        "this only happens on Safari",
    ],
)
def test_complaints_and_choices_of_the_moment_are_no_records(text: str) -> None:
    assert [r for r in capture(text, speaker="user") if r.confidence >= STORED_FROM] == []


def test_what_lacks_support_waits_as_a_candidate() -> None:
    (record,) = capture("let's prefer short names", speaker="user")
    assert CANDIDATE_FROM <= record.confidence < STORED_FROM
    assert capture("let's prefer short names", speaker="assistant") == []


def test_a_choice_ends_where_its_consequence_begins() -> None:
    found = capture("We can't use Lambda because of the limit, so Fargate it is.", speaker="user")
    assert [(r.what, r.why) for r in found] == [
        ("Fargate it is", ""),
        ("We can't use Lambda", "the limit"),
    ]


# --- what leaves nothing -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Should we use Redis or Kafka?",
        "it should just always retry, no?",
        "We could use Redis for sessions. Thoughts?",
        "Maybe we should use Redis for every session.",
        "I think we will use Redis.",
        "We will decide whether to use Redis.",
        "We haven't decided to use Redis.",
        "They decided to use Redis.",
        "According to the vendor you must always restart it.",
        "let's rename foo to bar",
        "let's look at the third item",
        "can you always check it",
        "Don't write any code yet.",
        "Don't need the helper because it is unused.",
        "i always get an error when I start it",
        "> We decided to use Redis",
        "```\nwe decided to use Redis\n```",
        "## Options\n\n- We will use Redis\n- We will use Kafka",
        'Chosen option: "[option 1]", because [justification]',
        "Never touch the schema in this session.",
        "We'll see about it.",
        "I want the header in blue",
    ],
)
def test_nothing_is_kept_from_a_user_who_settles_nothing(text: str) -> None:
    assert capture(text, speaker="user") == []


@pytest.mark.parametrize(
    "text",
    [
        "Added Redis to the compose file; all tests pass.",
        "I've replaced the parser and updated every caller.",
        "Let's use Redis for every session.",
        "I'll always check the types first.",
        "Now the job only runs when a file changed.",
        "I recommend that we use Redis.",
        "The lock never expires and always blocks the second worker.",
    ],
)
def test_nothing_is_kept_from_reports_and_proposals_of_an_assistant(text: str) -> None:
    assert capture(text, speaker="assistant") == []


# --- other languages ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "record_type"),
    [
        ("Wir haben uns für Redis entschieden, weil es schnell ist.", "decision"),
        ("Wir verwenden Redis statt Memcached.", "decision"),
        ("Niemals Passwörter in Logs schreiben.", "constraint"),
        ("Wir bevorzugen kleine Commits.", "preference"),
        ("Hemos decidido usar Redis porque es rápido.", "decision"),
        ("Siempre validar la entrada del usuario.", "constraint"),
        ("Preferimos funciones pequeñas.", "preference"),
        ("Nous avons décidé d'utiliser Redis.", "decision"),
        ("Ne commitez jamais de secrets.", "constraint"),
        ("Nous préférons les petites fonctions.", "preference"),
        ("Decidimos usar Redis em vez de Memcached.", "decision"),
        ("Sempre validar a entrada do usuário.", "constraint"),
        ("我们决定使用Redis，因为它很快。", "decision"),
        ("永远不要提交密钥到仓库。", "constraint"),
        ("認証にはトークンを採用します。", "decision"),
        ("決して秘密をログに書かない。", "constraint"),
        ("우리는 Redis를 사용하기로 결정했습니다.", "decision"),
        ("항상 입력을 검증해야 합니다.", "constraint"),
    ],
)
def test_other_languages_are_read_from_their_tables(text: str, record_type: str) -> None:
    assert one(text).type == record_type


def test_reasons_and_alternatives_are_found_in_other_languages() -> None:
    assert one("Wir haben uns für Redis entschieden, weil es hält.").why == "es hält"
    assert one("我们决定使用Redis，因为它很快。").why == "它很快"
    assert one("Decidimos usar Redis em vez de Memcached.").alternatives == ("Memcached",)


@pytest.mark.parametrize("text", ["Wir haben uns entschieden, oder?", "我们决定使用它吗？"])
def test_questions_in_other_languages_leave_nothing(text: str) -> None:
    assert capture(text, speaker="user") == []


# --- laws --------------------------------------------------------------------------------------

TRIGGERS = sorted({trigger for phrase in PHRASES for trigger in phrase.triggers})
PIECES = [*TRIGGERS, "Redis", "over", "because", "x", ". ", "? ", "\n", "- ", "## ", ": ", '"', "`"]
texts = st.text(max_size=300) | st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join)


@given(texts, st.sampled_from(["user", "assistant", "subagent", "summary"]))
def test_any_text_gives_records_made_of_its_own_words(text: str, speaker: str) -> None:
    spoken = set(words(text))
    for record in capture(text, speaker=speaker):
        assert record.type in RECORD_TYPES
        assert CANDIDATE_FROM <= record.confidence <= 1.0
        assert record.id == ""
        for part in (record.what, record.why, *record.alternatives):
            assert set(words(part)) <= spoken


@given(texts)
def test_capture_gives_the_same_records_each_time(text: str) -> None:
    assert capture(text, speaker="user") == capture(text, speaker="user")


def test_known_names_raise_confidence_and_give_their_spelling() -> None:
    text = "We decided to route mail through `post_office`"
    plain = capture(text, speaker="user")[0]
    known = capture(text, speaker="user", known={"postoffice": "PostOffice"})[0]
    assert known.confidence > plain.confidence
    assert known.entities[0].name == "PostOffice"


def test_a_flood_of_rules_is_bounded() -> None:
    text = "\n".join(f"- Never open door {i} alone" for i in range(500))
    assert len(capture(text, speaker="user")) == MAX_RECORDS


FLOODS = [
    "we decided to use ",
    "never do it. ",
    "because because ",
    "we chose over over ",
    '"a ',
    "```\n",
    "<!-- ",
    "(",
    "[[your ",
    " ",
    "...",
    "**",
    "|",
    "`a` ",
    "moved from a to ",
    "so we will, so ",
    "so we will use Redis. ",
    "x caused b c ",
    "root cause is ",
    "我们决定",
    "a_",
    "AaBb",
    "- never do it\n",
]


@pytest.mark.parametrize("speaker", ["user", "assistant"])
def test_floods_of_64_kb_end_soon(speaker: str) -> None:
    code = (
        "import sys, json\n"
        "from memory_fabric.capture.capture import capture\n"
        "for flood in json.load(sys.stdin):\n"
        f"    capture(flood * (65536 // len(flood) + 1), speaker={speaker!r})\n"
        "print('done')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(FLOODS),
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout == "done\n"
