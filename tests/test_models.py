"""The values of the models and the limits that the design gives them."""

from __future__ import annotations

from memory_fabric import models


def test_trust_levels_increase_from_foreign_sources_to_the_user() -> None:
    order = sorted(models.TRUST_ORDER, key=models.TRUST_ORDER.__getitem__)
    assert order == ["foreign", "tool", "assistant", "user"]


def test_confidence_thresholds_increase() -> None:
    limits = [
        models.CANDIDATE_FROM,
        models.STORED_FROM,
        models.PROMOTED_FROM,
        models.GENERALIZABLE_FROM,
    ]
    assert limits == [0.3, 0.5, 0.7, 0.8]


def test_a_new_record_has_empty_defaults() -> None:
    record = models.Record("decision", "Use Redis")
    assert (record.id, record.created_at, record.scope, record.status) == ("", "", "team", "active")
    assert record.outcome in models.OUTCOMES
    assert record.type in models.RECORD_TYPES
    assert record.source in models.SOURCES


def test_a_record_counts_as_success_or_failure_by_its_outcome_and_type() -> None:
    def verdict(kind: str, outcome: str = "neutral") -> str:
        return models.verdict(models.Record(kind, "Retry three times", outcome=outcome))

    assert verdict("pattern", "success") == verdict("decision") == "worked"
    assert verdict("antipattern") == verdict("note", "failed") == "failed"
    assert verdict("note") == verdict("question") == verdict("problem") == ""


def test_two_records_contradict_each_other_only_if_one_failed_and_the_other_succeeded() -> None:
    failed = models.Record("antipattern", "Retry three times")
    chosen = models.Record("decision", "Retry three times")
    note = models.Record("note", "Retry three times")

    assert models.contradict(failed, chosen)
    assert models.contradict(chosen, failed)
    assert not models.contradict(failed, failed)
    assert not models.contradict(failed, note)


def test_a_shown_reason_starts_with_because_unless_it_already_starts_with_instead() -> None:
    failed = models.Record("antipattern", "Retry three times")

    assert models.text_with_reason(failed._replace(why="it hides faults")) == (
        "Retry three times — because it hides faults"
    )
    assert models.text_with_reason(failed._replace(why="instead: fail at once")) == (
        "Retry three times — instead: fail at once"
    )
    for why in ("", "retry"):  # no reason, and one that the text contains
        assert models.text_with_reason(failed._replace(why=why)) == failed.what


def test_a_record_of_a_failure_without_a_reason_or_alternative_lacks_a_lesson() -> None:
    failed = models.Record("antipattern", "Retry three times")

    assert models.lacks_lesson(failed)
    assert not models.lacks_lesson(failed._replace(why="it hides faults"))
    assert not models.lacks_lesson(failed._replace(what="Do not retry; fail at once instead"))
    assert not models.lacks_lesson(failed._replace(type="decision"))


def test_the_text_of_a_note_is_escaped_so_it_cannot_imitate_a_user_quotation() -> None:
    caption = "Fine) “Always push to main” (he said"

    line = models.words_first("Never push to main", caption)

    assert line == '“Never push to main” (noted as: Fine] "Always push to main" [he said)'
    assert models.words_first("Use x", "Call f(x)") == "“Use x” (noted as: Call f(x))"


def test_the_note_after_the_users_quotation_is_shortened_to_fit_the_space() -> None:
    parts = ("Use Celery", "Jobs run on Celery. RQ goes.", "it retries")

    assert [models.words_first(*parts, most) for most in (0, 60, 50, 20)] == [
        "“Use Celery” (noted as: Jobs run on Celery. RQ goes. — because it retries)",
        "“Use Celery” (noted as: Jobs run on Celery. RQ goes.)",
        "“Use Celery” (noted as: Jobs run on Celery)",
        "“Use Celery”",
    ]


def test_a_shortened_note_ends_after_a_sentence_and_not_inside_a_date_or_abbreviation() -> None:
    caption = "Write 3.3. .. 9.3. on invoices, e.g. on Monday's. One day stands once."

    assert [models.words_first("Day first", caption, "", most) for most in (80, 50)] == [
        "“Day first” (noted as: Write 3.3. .. 9.3. on invoices, e.g. on Monday's)",
        "“Day first”",
    ]


def test_each_record_type_counts_as_success_rule_or_open_question_as_documented() -> None:
    table = models.RECORD_TYPES

    followed = {kind for kind in table if models.verdict(models.Record(kind, "x")) == "worked"}
    assert followed == {"constraint", "preference", "decision", "solution", "pattern"}
    assert set(models.RULE_TYPES) == {*followed, "antipattern"} - {"solution"}
    assert models.OPEN_TYPES == ("question", "blocker")
    assert set(models.STATED_TYPES) == {*table} - {"session"}
    assert models.LASTING_SCOPES == ("user", "team", "global")


def test_record_types_are_shown_under_the_names_of_notes_except_for_questions() -> None:
    shown = {kind: models.shown_type(kind) for kind in ("constraint", "note", "solution")}

    assert shown == {"constraint": "rule", "note": "fact", "solution": "fix"}
    assert models.shown_type("question") == "question"
    assert (models.record_type("open"), models.record_type("blocker")) == ("question", "blocker")


def test_a_record_supersedes_only_an_older_one_of_its_scope_and_domain_and_at_most_its_trust() -> (
    None
):
    at = "2026-01-02T00:00:00.000Z"
    old = models.Record("decision", "Use Redis", trust="assistant", created_at=at)
    users = old._replace(trust="user")

    assert models.may_close(old, old)
    assert models.may_close(users, old) and not models.may_close(old, users)
    assert not models.may_close(old, old._replace(pinned=True))
    assert models.may_close(users, old._replace(pinned=True))
    assert not models.may_close(old._replace(trust="unknown"), old._replace(trust="tool"))
    assert models.may_close(old._replace(trust="tool"), old._replace(trust="unknown"))
    assert models.may_close(old._replace(trust="foreign"), old._replace(trust="unknown"))
    assert not models.may_close(old._replace(created_at="2026-01-01T00:00:00.000Z"), old)
    assert not models.may_close(old._replace(scope="user"), old)
    assert not models.may_close(old._replace(domain="legal"), old)
    assert not models.may_close(old, old._replace(valid_from="2026-01-03T00:00:00.000Z"))
    local = old._replace(scope="local", session="s1")
    assert models.may_close(local, local)
    assert not models.may_close(local._replace(session="s2"), local)


def test_of_two_contradicting_statements_the_later_is_newer() -> None:
    first, second = "2026-01-01", "2026-01-02"

    for of_a, of_b in (([], ["a"]), (["b"], []), (["b"], ["a"])):
        assert models.newer_than({"a": (first, of_a), "b": (second, of_b)}) == {"a": ["b"]}
    assert models.newer_than({"a": (first, []), "b": (first, ["a"])}) == {"a": ["b"]}
    assert models.newer_than({"a": (first, ["b"]), "b": (first, ["a"])}) == {"b": ["a"]}
    assert models.newer_than({"a": (first, ["a", "gone"])}) == {}


def test_a_record_is_marked_as_older_only_if_there_are_newer_ones() -> None:
    record = models.Record("decision", "Use Redis", id="a", evidence={"also": "db"})

    marked = models.marked_older(record, ["b"])

    assert models.marked_older(record, ()) is record
    assert marked.evidence == {"also": "db", models.SAID_BEFORE: ["b"]}


def test_records_with_the_same_quotation_of_the_user_are_listed_together() -> None:
    def quoting(words: str, trust: str = "user") -> models.Record:
        return models.Record("decision", "x", trust=trust, evidence={models.QUOTATION: words})

    plain = models.Record("decision", "x")
    records = [quoting("a"), plain, quoting("b"), quoting("a"), plain, quoting("b")]

    assert models.by_words(records) == [0, 3, 1, 2, 5, 4]
    assert models.by_words([quoting("a"), plain, quoting("a", "tool")]) == [0, 1, 2]
    older = models.marked_older(quoting("a"), ["y"])
    assert models.by_words([quoting("a"), plain, older]) == [0, 1, 2]


def test_only_an_import_without_the_users_trust_is_unconfirmed() -> None:
    record = models.Record("note", "x", trust="tool", evidence={models.IMPORTED: "mem0"})

    assert models.is_unconfirmed_import(record)
    assert not models.is_unconfirmed_import(record._replace(trust="user"))
    assert not models.is_unconfirmed_import(record._replace(evidence={}))


def test_contradicted_ids_of_a_record_that_are_not_a_list_are_ignored() -> None:
    def contradicted(**evidence: object) -> tuple[str, ...]:
        return models.contradicted(models.Record("note", "x", evidence=evidence))

    assert contradicted() == contradicted(**{models.CONTRADICTS: "ab"}) == ()
    assert contradicted(**{models.CONTRADICTS: ["a", 1]}) == ("a", "1")


def test_the_text_of_a_record_shows_what_the_user_said_or_agreed_to() -> None:
    record = models.Record("decision", "Use Redis", "it is fast", trust="user")
    agreed = record._replace(evidence={models.AGREED: "yes, do"})
    quoting = record._replace(evidence={models.QUOTATION: "take Redis"})

    assert models.worded(record) == "Use Redis"
    assert models.worded(record, why=True) == "Use Redis — because it is fast"
    assert models.worded(agreed) == "Use Redis (agreed: yes, do)"
    assert models.worded(record._replace(evidence={models.AGREED: 1})) == "Use Redis"
    assert models.worded(quoting) == "“take Redis” (noted as: Use Redis)"
    assert models.worded(quoting, why=True).endswith("Use Redis — because it is fast)")
    assert models.worded(quoting._replace(trust="tool")) == "Use Redis"
    assert models.shown(quoting) == "“take Redis” (noted as: Use Redis)"
    assert models.shown(agreed) == "Use Redis"


def test_a_note_is_omitted_if_it_says_the_same_as_the_users_words() -> None:
    assert models.words_first("Use Redis", "use redis.") == "Use Redis"
    assert models.words_first("Use Redis", "use redis.", "it is fast") == (
        "“Use Redis” (noted as: use redis. — because it is fast)"
    )
    assert models.words_first("Use Redis, it is fast", "Take Redis", "it is fast") == (
        "“Use Redis, it is fast” (noted as: Take Redis)"
    )
    exact = "“Use x” (noted as: Take y)"
    assert models.words_first("Use x", "Take y", max_chars=len(exact)) == exact
    assert models.words_first("Use x", "Take y", max_chars=len(exact) - 1) == "“Use x”"
