"""Words, keys and cuts; their laws are properties."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric import text as t


@pytest.mark.parametrize(
    ("asked", "terms"),
    [
        ("What pagination approach did we take?", ["pagination", "approach", "take"]),
        ("the API's limits", ["api", "limits"]),
        ("snake_case and kebab-case", ["snake", "case", "kebab"]),
        ("use FastAPIRouter", ["use", "fastapirouter", "fast", "api", "router"]),
        ("os.path.join", ["os", "path", "join"]),
        ("what is it?", ["what", "is", "it"]),
        ("Résumé naïve", ["résumé", "naïve"]),
        ("re\u0301sume\u0301", ["résumé"]),
        ("数据库", ["数据库", "数据", "据库"]),
        ("", []),
        ("!?…", []),
    ],
)
def test_search_terms_are_the_meaningful_words_of_a_text(asked: str, terms: list[str]) -> None:
    assert t.terms(asked) == terms


@given(st.text())
def test_terms_never_fail_are_lower_case_and_stand_once(text: str) -> None:
    found = t.terms(text)
    assert len(found) == len(set(found))
    assert all(word and word.strip() == word for word in found)


IDENTIFIERS = st.text(alphabet="abzABZ019_-.éЖ数 ")


@given(st.text() | IDENTIFIERS)
def test_words_are_what_the_expression_says(text: str) -> None:
    assert t.words(text) == re.findall(r"[^\W_]+", t.composed(text).lower())


@given(st.text() | IDENTIFIERS)
def test_parts_of_camel_case_are_what_the_expressions_say(text: str) -> None:
    parts = [
        part.lower()
        for word in re.findall(r"[^\W_]+", text)
        if re.search(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]", word)
        for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", word)
    ]
    assert t.camel_parts(text) == parts


TAGGED = st.lists(
    st.sampled_from(["<", "</", ">", " ", "x", "memory-fabric", "SYSTEM-reminder", "prİvate"])
    | st.sampled_from(["private", "memory-fabrıc", "ſystem-reminder", "memory-fabricx"])
).map("".join)


@given(st.text() | TAGGED)
def test_tags_are_met_wherever_the_expressions_meet_them(text: str) -> None:
    tags, guarded = "memory-fabric|system-reminder", "memory-fabric|system-reminder|private"
    block = rf"<({tags})\b[^<>]{{0,200}}>.*?(?:</\1\s{{0,8}}>|\Z)"
    tag = rf"<(\s{{0,8}}/?\s{{0,8}})({guarded})\b"
    assert t.without_injected(text) == re.sub(block, " ", text, flags=re.DOTALL | re.IGNORECASE)
    assert t.unfenced(text) == re.sub(tag, r"‹\1\2", text, flags=re.IGNORECASE)


@given(st.text())
def test_a_text_with_a_word_has_a_term(text: str) -> None:
    assert bool(t.terms(text)) == bool(t.words(text))


@pytest.mark.parametrize(
    "family",
    [
        "caches cached caching cache",
        "decides decided deciding decide",
        "libraries library",
        "queries query",
        "stopped stopping stop stops",
        "uses use",
        "indexes indexing index",
        "recommendation recommendations",
    ],
)
def test_inflected_forms_of_a_word_share_a_stem(family: str) -> None:
    assert len({t.stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("caching", "cat"), ("process", "proceed"), ("redis", "red"), ("pass", "pas"), ("bus", "bu")],
)
def test_unrelated_words_have_different_stems(one: str, other: str) -> None:
    assert t.stem(one) != t.stem(other)


@given(st.text(alphabet="abcdefgilnosty", max_size=12))
def test_a_stem_is_no_longer_than_its_word_and_never_empty(word: str) -> None:
    stem = t.stem(word)
    assert len(stem) <= len(word) + 1
    assert bool(stem) == bool(word)


@pytest.mark.parametrize(
    "names", ["cursor-pagination cursor_pagination CursorPagination Cursor-Pagination".split()]
)
def test_spelling_variants_of_a_name_are_treated_as_the_same_name(names: list[str]) -> None:
    assert {t.name_key(name) for name in [*names, "cursor pagination"]} == {"cursorpagination"}


@given(st.text())
def test_a_key_of_a_key_is_the_key_and_only_no_name_has_none(name: str) -> None:
    assert t.name_key(t.name_key(name)) == t.name_key(name)
    assert bool(t.name_key(name)) == bool(name)


@given(st.text(), st.integers(-3, 60))
def test_a_cut_text_fits_and_begins_as_the_whole(text: str, max_chars: int) -> None:
    found = t.cut(text, max_chars)
    assert len(found) <= max(0, max_chars) or found == text
    if found != text:
        assert text.startswith(found.removesuffix("…"))


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    found = t.one_line(text)
    assert len(found.splitlines()) <= 1
    assert t.one_line(found) == found


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a <memory-fabric>x</memory-fabric> b", "a   b"),
        ("a <memory-fabric n='1'>x\ny</memory-fabric >b", "a  b"),
        ("a <system-reminder>x", "a  "),
        ("a <SYSTEM-Reminder>x</system-reminder>b", "a  b"),
        ("a < b and c > d", "a < b and c > d"),
        ("<memory>x</memory>", "<memory>x</memory>"),
    ],
)
def test_injected_blocks_and_system_reminders_are_removed_from_a_text(text: str, rest: str) -> None:
    assert t.without_injected(text) == rest


@given(
    st.text(alphabet="</> \nabmemory-fabricsystem-reminderprivate", max_size=80)
    | st.sampled_from(
        [t.OPEN_FENCE, t.CLOSE_FENCE, "< / memory-fabric>", "<System-Reminder>", "<private >"]
    )
)
def test_a_neutralised_text_opens_and_closes_nothing(text: str) -> None:
    found = t.neutralised(text)
    assert t.OPEN_FENCE not in found and t.CLOSE_FENCE not in found
    assert "<system-reminder" not in found.lower() and "<private" not in found.lower()
    assert t.neutralised(found) == found
    assert len(found) == len(text)


@given(
    st.text()
    | st.text(alphabet=st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF), max_size=5)
)
def test_an_encodable_text_can_be_written(text: str) -> None:
    found = t.encodable(text)
    found.encode()
    assert len(found) == len(text)


@given(st.text())
def test_what_the_index_gets_beside_a_text_is_short_and_spaced(text: str) -> None:
    extra = t.index_extra(text)
    assert "\n" not in extra
    assert len(extra) <= 3 * len(text) + 1


def test_parts_of_camel_case_words_and_pairs_of_cjk_characters_are_indexed() -> None:
    assert t.index_extra("HTTPServer2Go") == "http server2 go"
    assert t.index_extra("我们用数据库") == "我们 们用 用数 数据 据库"
    assert t.index_extra("한국어") == "한국 국어"
    assert t.index_extra("plain words") == ""


@pytest.mark.parametrize(("number", "told"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines")])
def test_the_noun_after_a_number_is_singular_only_after_one(number: int, told: str) -> None:
    assert t.many(number, "line") == told


@pytest.mark.parametrize(
    ("parts", "told"),
    [("", ""), ("a", "a"), ("abc", "a, b, c"), ("abcd", "a, b, c and 1 more")],
)
def test_a_long_list_shows_the_first_items_and_the_number_of_further_items(
    parts: str, told: str
) -> None:
    assert t.first_of(iter(parts), 3) == told


def test_list_items_can_be_joined_by_a_given_separator() -> None:
    assert t.first_of(["a", "b", "c"], 2, "; ") == "a; b and 1 more"


@pytest.mark.parametrize(
    ("words", "stems"),
    [
        ("cats cuts class pass", "cat cut clas pass"),
        ("sing doing rings caching seeing", "sing doing ring cach see"),
        ("ties dies queries", "tie die query"),
        ("stopped falling passing freed", "stop fall pass fre"),
        ("name nice names boxes", "name nice nam box"),
        ("node1 node11", "node1 node1"),
    ],
)
def test_the_stems_of_words_in_the_database_do_not_change(words: str, stems: str) -> None:
    assert " ".join(map(t.loose_stem, words.split())) == stems


@pytest.mark.parametrize(
    ("text", "other", "is_covered"),
    [
        ("We use Redis for the sessions", "redis FOR the", True),
        ("Cached sessions", "sessions cache", True),
        ("Cached", "caching", False),
        ("alpha beta gamma delta", "delta gamma beta alpha omega", True),
        ("alpha beta gamma", "gamma beta alpha omega", False),
    ],
)
def test_a_text_covers_another_if_it_has_four_fifths_of_its_two_or_more_words(
    text: str, other: str, is_covered: bool
) -> None:
    assert t.covers(text, other) is is_covered


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("step I is next", []),
        ("plan a is a plan", []),
        ("AI 5 x", ["5", "x"]),
        ("plan i", ["i"]),
        ("plan A is next", ["a"]),
        ("case I.", ["i"]),
        ("step b: go", ["b"]),
    ],
)
def test_a_single_letter_is_a_term_if_it_is_a_label(text: str, letters: list[str]) -> None:
    assert [term for term in t.terms(text) if len(term) == 1] == letters


@pytest.mark.parametrize(
    ("token", "is_file"),
    [
        ("@when", True),
        ("a/b.py:12", True),
        ("(chat.md)", True),
        ("x.abcde", True),
        ("x.abcdef", False),
        ("etc.", False),
        ("...md", False),
        ("a.b-c", False),
        ("Makefile", False),
    ],
)
def test_a_word_with_a_short_ending_or_an_at_sign_is_a_file(token: str, is_file: bool) -> None:
    assert t.is_file(token) is is_file


def test_file_names_and_mentions_are_removed_from_a_question() -> None:
    assert t.without_files("see error.log now") == "see now"
    assert t.without_files("ask @bob  now") == "ask now"
    assert t.without_files("two  words.") == "two  words."


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Use  Redis.", "use redis"),
        ("USE redis!…", "use redis"),
        ("nodeA Is it?", "nodeA is it?"),
        ("one. Two . ", "one. two"),
        ("", ""),
    ],
)
def test_texts_that_differ_only_in_capitals_and_their_end_have_one_form(
    text: str, form: str
) -> None:
    assert t.same_form(text) == form


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [
        ("one two three four", 11, "one two…"),
        ("abcdefgh", 8, "abcdefgh"),
        ("abcdefghi", 8, "abcdefg…"),
        ("abcd efghij", 8, "abcd ef…"),
        ("abcde fghij", 8, "abcde…"),
        ("ab", 1, "…"),
        ("ab", 0, ""),
    ],
)
def test_a_long_text_is_cut_at_a_word_boundary_in_its_second_half(
    text: str, most: int, kept: str
) -> None:
    assert t.cut(text, most) == kept


def test_control_characters_are_removed_but_white_space_is_kept() -> None:
    assert t.without_controls("a\tb\x00c\x1bd\x7fe\x80f\x9fg\xa0h\n") == "a\tbcdefg\xa0h\n"
    assert t.without_controls("a \x1b[1;31mre\x1b[m\x1b[Kd\x1b[0m\nmark [0m]") == "a red\nmark [0m]"
    assert t.without_controls("\x1b[1G\x1b[0Jtoken \x1b[?25h\x1b[2A") == "token "


def test_the_texts_in_a_json_value_are_changed_and_its_keys_only_on_request() -> None:
    value = {"a": ["b", ("c", 1)], "d": None}

    assert t.each_text(value, str.upper) == {"a": ["B", ["C", 1]], "d": None}
    assert t.each_text(value, str.upper, keys=True) == {"A": ["B", ["C", 1]], "D": None}


@pytest.mark.parametrize(("length", "is_shortened"), [(40, False), (41, True)])
def test_a_quotation_is_shortened_only_if_it_is_long_and_also_in_the_line_above(
    length: int, is_shortened: bool
) -> None:
    quoted = f"“{'x' * length}{t.NOTED_AS}"
    line, before = f"- {quoted}one)", f"- {quoted}two)"

    short = t.folded(line, before)

    assert (short != line) is is_shortened
    assert t.ABOVE not in line and (t.ABOVE in short) is is_shortened
    assert t.unfolded(short, before) == line
    assert t.unfolded(short, "- other words") == ("" if is_shortened else line)
    assert t.folded(line, f"- “other{t.NOTED_AS}two)") == line


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("", 0),
        ("nothing of it", 0),
        ("a Redis", 2),
        ("cached redis, REDIS", 3),
        ("redis", 2),
        ("FastCache is fast", 1),
        ("cargo cult caches", 1),
        ("İ caches", 1),
    ],
)
def test_the_mask_of_a_text_has_the_bits_of_the_known_stems_in_it(text: str, mask: int) -> None:
    mask_of = t.mask_reader({t.stem("cache"): 1, t.stem("redis"): 2})

    assert [mask_of(text), mask_of(text)] == [mask, mask]
