"""Words that a search wants left out, and what only sounds like it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.recall.parse import MAX_LEFT_OUT, left_out, parse
from memory_fabric.recall.pipeline import Fabric
from recall.given import NOW, open_memory, remember


@pytest.mark.parametrize(
    ("text", "rest", "out", "worse"),
    [
        ("caches other than Redis", "caches", (), ("redis",)),
        ("which caches besides the Redis cluster?", "which caches cluster?", (), ("redis",)),
        ("deploy rules except for Docker, please", "deploy rules please", (), ("docker",)),
        ("databases apart from Postgres", "databases", (), ("postgres",)),
        ("cache -redis -memcached", "cache", ("redis", "memcached"), ()),
        ("why not Redis?", "why not Redis?", (), ()),
        ("how do we deploy without Docker", "how do we deploy without Docker", (), ()),
        ("don't use Redis here", "don't use Redis here", (), ()),
        ("what does grep -r do", "what does grep -r do", (), ()),
        ("the option --verbose", "the option --verbose", (), ()),
        ("-redis", "", ("redis",), ()),
        ("cache -abc", "cache", ("abc",), ()),
        ("cache -ab", "cache -ab", (), ()),
        ("cache -4711", "cache -4711", (), ()),
        ("a list - with dashes", "a list - with dashes", (), ()),
        ("other than", "other than", (), ()),
        ("except for the", "except for the", (), ()),
    ],
)
def test_words_to_exclude_are_parsed_from_a_question(
    text: str, rest: str, out: tuple[str, ...], worse: tuple[str, ...]
) -> None:
    assert left_out(text) == (rest, out, worse)


parts = st.lists(st.sampled_from("other than -xyz except for redis but not".split()))


@given(st.text() | parts.map(" ".join))
def test_any_text_is_read_and_little_is_left_out(text: str) -> None:
    rest, out, worse = left_out(text)

    assert max(len(out), len(worse)) <= MAX_LEFT_OUT
    assert len(rest.split()) <= len(text.split())


def test_minus_redis_hides_matches_and_other_than_redis_ranks_them_last(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    remember(memory, "Sessions are cached in Redis")
    remember(memory, "Thumbnails are cached on disk")
    fabric = Fabric(memory, NOW)

    excluded = [hit.text for hit in fabric.recall("what is cached -redis").hits]
    worse = [hit.text for hit in fabric.recall("what is cached other than in Redis").hits]

    assert excluded == ["Thumbnails are cached on disk"]
    assert worse == [*excluded, "Sessions are cached in Redis"]
    assert parse("what is cached -redis", plain=True).excluded == ()
