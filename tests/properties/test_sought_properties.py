"""Laws of seeking: every spelling is found, a mark leaves none, longer words are left alone."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from urllib.parse import quote, quote_plus

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_fabric.store.forget.scrub_log import marked, marked_json
from memory_fabric.store.forget.spellings import MARK, Needle, Sought

Spelling = Callable[[str], str]
SPELLINGS: tuple[Spelling, ...] = (
    str,
    str.upper,
    str.lower,
    lambda text: unicodedata.normalize("NFD", text),
    json.dumps,
    lambda text: json.dumps(text, ensure_ascii=False),
    lambda text: json.dumps(json.dumps({"a": [text]})),
    lambda text: json.dumps(text).replace("/", "\\/"),
    lambda text: "".join(f"\\u{ord(c):04X}" if ord(c) < 0x10000 else c for c in text),
    lambda text: quote(text, safe=""),
    quote_plus,
    lambda text: text.replace(" ", "\n  "),
    lambda text: json.dumps({"words": text.split(" ")}),
)
# Letters of several scripts, digits, and all that JSON, addresses and expressions escape.
LETTERS = "abkszÄéßñΩжш密码🔑09\"\\/'%+.-_*[](){}^$|?&<>#@:"
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=8), min_size=1, max_size=3).map(" ".join)


@settings(max_examples=50, deadline=None)
@given(WORDS, st.sampled_from(SPELLINGS))
def test_words_are_found_in_every_spelling_and_a_mark_leaves_none(
    words: str, spelled: Spelling
) -> None:
    sought = Sought((Needle(words),))
    text = f"tout, {spelled(words)}; fin"  # of other letters than the words

    left = sought.without(text)

    assert sought.spans(text.encode())
    assert not sought.spans(left.encode())
    assert MARK in left
    assert left.startswith("tout, ") and left.endswith("; fin")


@settings(max_examples=50, deadline=None)
@given(st.text("bkszéжñ09", min_size=1, max_size=8), st.sampled_from("aäк7"))
def test_a_part_of_a_longer_word_is_no_whole_word(word: str, more: str) -> None:
    whole, part = Sought((Needle(word, whole=True),)), Sought((Needle(word),))

    for text in (f"{more}{word}", f"{word}{more}", json.dumps(f"{word}{more}")):
        assert not whole.spans(text.encode())
        assert part.spans(text.encode())
    assert len(whole.spans(f"({word})\n{word}".encode())) == 2


def test_the_placeholder_for_erased_words_is_not_itself_found_as_a_word() -> None:
    sought = Sought((Needle("erased"),))

    left = sought.without("It was erased, [erased] or not.")

    assert left == "It was [erased], [erased] or not."
    assert not sought.is_in(left)


@settings(max_examples=50, deadline=None)
@given(WORDS.map("kñ{}z".format), st.lists(st.text(LETTERS, max_size=6), max_size=3))
def test_what_is_left_of_json_is_json_and_holds_none(words: str, others: list[str]) -> None:
    sought = Sought((Needle(words),))
    value = {"a": [*others, words], "b": {words: [f"x {words} y", 7, None]}, "c": words.split(" ")}

    left = marked(value, sought)
    text = json.loads(marked_json(json.dumps(value), sought))

    assert not sought.spans(json.dumps(left).encode())
    assert not sought.spans(json.dumps(text).encode())
    assert len(left["a"]) == len(value["a"]) and len(left["c"]) == len(value["c"])
