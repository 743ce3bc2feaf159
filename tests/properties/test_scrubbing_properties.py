"""Laws of scrubbing: an operation without what was purged is still one, and does not name it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_fabric.store.forget import scrub_log
from memory_fabric.store.forget.scrub_log import PurgeTarget
from memory_fabric.store.operations import kinds
from properties.test_store_operations import IDS, databases
from properties.test_undo_properties import STEPS, Change, all_done, undone
from thorough import examples

TARGET = PurgeTarget(
    ids=frozenset(IDS[:2]),
    names=frozenset(("Redis",)),
    said=frozenset((("api", "is fast"),)),
    texts=("Use it — because yes",),
)


def names_in(value: Any) -> set[str]:
    """Every text that stands alone, as names do."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return {name for part in value.values() for name in names_in(part)}
    return {name for part in value for name in names_in(part)} if isinstance(value, list) else set()


@settings(max_examples=examples(150, 15))
@given(STEPS)
def test_what_is_left_of_an_operation_has_its_shape_and_no_word_of_it(
    changes: list[Change],
) -> None:
    with databases(1) as [db]:
        for id_ in all_done(db, changes):
            undone(db, id_)
        for kind, payload, inverse in db.rows("SELECT kind, payload, inverse FROM operations"):
            said = json.loads(payload)
            left = scrub_log.without(kind, said, TARGET)
            steps = scrub_log.without_steps(kinds.read_inverse(kind, said, inverse), TARGET)
            for kind_, part in [(kind, left)] * (left is not None) + [
                (step["kind"], step["payload"]) for step in steps
            ]:
                assert part is not None and kinds.problem(kind_, part) == ""
                assert "Redis" not in names_in(part)
                assert TARGET.texts[0] not in json.dumps(part, ensure_ascii=False)


@settings(max_examples=examples(40, 12))
@given(STEPS, st.sampled_from(("Redis", "fast", "Use it", "api")))
def test_what_is_left_of_an_operation_has_its_shape_and_none_of_the_words(
    changes: list[Change], words: str
) -> None:
    target = PurgeTarget(words=(words,))
    with databases(1) as [db]:
        for id_ in all_done(db, changes):
            undone(db, id_)
        for kind, payload, inverse in db.rows("SELECT kind, payload, inverse FROM operations"):
            said = json.loads(payload)
            left = scrub_log.without(kind, said, target)
            steps = scrub_log.without_steps(kinds.read_inverse(kind, said, inverse), target)
            for kind_, part in [(kind, left)] * (left is not None) + [
                (step["kind"], step["payload"]) for step in steps
            ]:
                assert part is not None and kinds.problem(kind_, part) == ""
                assert not target.is_in(json.dumps(part))


@settings(max_examples=examples(80, 12))
@given(STEPS)
def test_an_operation_that_does_not_concern_it_stays_the_same_object(
    changes: list[Change],
) -> None:
    for (kind, payload), _ in changes:
        assert (
            scrub_log.without(kind, payload, PurgeTarget(names=frozenset(("nobody",)))) is payload
        )
