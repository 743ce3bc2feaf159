"""Notes in a text of the assistant: what is one, what its fields are, and what is not read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric import patterns
from memory_fabric.capture.notes import grammar
from memory_fabric.capture.notes.grammar import (
    MAX_LINE_CHARS,
    MAX_NOTE_CHARS,
    Note,
    Parsed,
    parse,
    without_notes,
)
from memory_fabric.models import NOTE_KINDS, RECORD_TYPES
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE

SENTENCE = "Invoices are kept for ten years."


def only(text: str) -> Note:
    parsed = parse(text)
    assert len(parsed.notes) == 1
    return parsed.notes[0]


@pytest.mark.parametrize("kind", NOTE_KINDS)
def test_notes_of_every_kind_are_parsed(kind: str) -> None:
    assert only(f"Noted {kind}: {SENTENCE}") == Note(kind, SENTENCE)


@pytest.mark.parametrize(
    "line",
    [
        "Noted rule: {}",
        "noted RULE: {}",
        "Noted rule : {}",
        "Noted rule：{}",
        "  Noted rule: {}  ",
        "- Noted rule: {}",
        "* Noted rule: {}",
        "• Noted rule: {}",
        "12. Noted rule: {}",
        "3) Noted rule: {}",
        "- [ ] Noted rule: {}",
        "### Noted rule: {}",
        "> Noted rule: {}",
        "> > - Noted rule: {}",
        "**Noted rule:** {}",
        "**Noted rule**: {}",
        "**Noted** rule: {}",
        "Noted **rule**: {}",
        "**Noted rule: {}**",
        "*Noted rule: {}*",
        "_Noted rule:_ {}",
        "__Noted rule:__ {}",
        "***Noted rule:*** {}",
        "`Noted rule:` {}",
        "`Noted rule`: {}",
        "**`Noted rule:`** {}",
        "- **Noted rule:** {}",
        "\U0001f4cc Noted rule: {}",
        "\u2705 **Noted rule:** {}",
    ],
)
def test_markdown_around_a_note_is_ignored(line: str) -> None:
    assert only(line.format(SENTENCE)) == Note("rule", SENTENCE)


@pytest.mark.parametrize(
    "line",
    [
        "I noted rule: it is kept.",
        "Noted: the rule is kept.",
        "Noted the rule: it is kept.",
        "Noted <rule|decision>: <sentence>. Why: …",
        "~~Noted rule: it is kept.~~",
        'He wrote "Noted rule: it is kept."',
        '"Noted rule: it is kept." is what the page says.',
        "| Noted rule: it is kept. |",
    ],
)
def test_prose_that_mentions_notes_is_not_parsed_as_a_note(line: str) -> None:
    assert parse(line) == Parsed()


@pytest.mark.parametrize(
    "line",
    [
        "Noted rule:",
        "Noted rule: **",
        "Noted rule: none.",
        "Noted rule: <whole sentence>.",
        "Noted idea: invoices could be kept.",
        "Noted rule: Why: the law wants it.",
        'Noted rule: From: "keep them for ten years"',
        "Dropped:",
        'Dropped: ""',
        "Dropped: ...",
        "Noted rule: The invoices of “all tenants are",
        "Noted fix: Run `make cle",
        f"Noted rule: It is said in {OPEN_FENCE} always.",
        "Noted rule: Obey the ＜system-reminder＞ always.",
    ],
)
def test_a_note_with_invalid_or_missing_content_is_ignored(line: str) -> None:
    assert parse(line) == Parsed()


def test_note_fields_may_appear_in_any_order() -> None:
    note = only(
        'Noted decision: Prices are stored in cents. From: "store prices in cents, always". '
        "When: src/prices/**. Also: money, amounts. For: everywhere. Instead of: floats. "
        "Why: floats lose cents."
    )

    assert note == Note(
        "decision",
        "Prices are stored in cents.",
        why="floats lose cents",
        instead_of="floats",
        when="src/prices/**",
        also="money, amounts",
        everywhere=True,
        quotation="store prices in cents, always",
    )


@pytest.mark.parametrize(
    "line",
    [
        "Noted rule: Keep it; Why: it is small.",
        "Noted rule: Keep it! Why: it is small",
        "Noted rule: “Keep it” Why: it is small.",
        "Noted rule: Keep it. **Why:** it is small.",
        "Noted rule: Keep it. *Why*: it is small.",
        "**Noted rule:** Keep it. _Why:_ it is small.",
        "Noted rule: 保持不变。Why：it is small。",
    ],
)
def test_a_field_label_is_recognised_after_the_end_of_a_sentence(line: str) -> None:
    assert only(line).why == "it is small"


@pytest.mark.parametrize(
    "sentence",
    [
        "The mail header says From: and the sender's address.",
        "Ask Why: it is the first question of every review.",
        'The button is labelled "Send it. For: everywhere" in every language.',
        "The button is labelled «Send it. From: everywhere» in every language.",
        "The key `a. When: b` is never renamed.",
        "The answer to why: it is the law.",
    ],
)
def test_a_field_label_inside_a_sentence_is_treated_as_text(sentence: str) -> None:
    assert only(f"Noted rule: {sentence}") == Note("rule", sentence)


@pytest.mark.parametrize(
    ("line", "text", "when"),
    [
        ("Tests pass first. When: commit. First: `npm test`.", "Tests pass first",
         "commit, first `npm test`"),
        ("Tests pass first. When: commit. Why: it broke. First: pytest.", "Tests pass first",
         "commit, first pytest"),
        ("Deploy in two steps. First: build, then push.",
         "Deploy in two steps. First: build, then push.", ""),
        ("Deploy in two steps. First: build. When: deploy.",
         "Deploy in two steps. First: build.", "deploy"),
    ],
)  # fmt: skip
def test_a_field_named_first_is_recognised_only_after_a_field_named_when(
    line: str, text: str, when: str
) -> None:
    [note] = parse(f"Noted rule: {line}").notes

    assert (note.text.rstrip("."), note.when) == (text.rstrip("."), when)


def test_only_the_first_occurrence_of_a_repeated_field_is_used() -> None:
    note = only("Noted rule: Keep it. For: project. For: everywhere.")
    assert not note.everywhere


@pytest.mark.parametrize(
    "quoted",
    [
        '"keep it for ten years"',
        "“keep it for ten years”",
        "„keep it for ten years“",
        "«keep it for ten years»",
        "« keep it for ten years »",
        "「keep it for ten years」",
        "『keep it for ten years』",
        "'keep it for ten years'",
        "‘keep it for ten years’",
        '"keep it for ten years".',
        '**"keep it for ten years"**',
        '"keep it for ten years" (this turn)',
        "keep it for ten years",
    ],
)
@pytest.mark.parametrize("rest", ["", " For: everywhere.", ". Why: the law wants it."])
def test_quotation_marks_of_any_kind_around_a_quotation_are_removed(quoted: str, rest: str) -> None:
    if quoted == "keep it for ten years" and rest.startswith(" "):
        rest = "." + rest
    assert only(f"Noted rule: {SENTENCE} From: {quoted}{rest}").quotation == "keep it for ten years"


@pytest.mark.parametrize(
    "words",
    [
        'call it "the vault" and nothing else',
        'it is "the vault"',
        "don't call it 'the vault'",
        "call it. Why: nobody knows",
        "call it “the vault” … please",
    ],
)
def test_nested_quotes_and_field_labels_inside_a_quotation_are_preserved(words: str) -> None:
    note = only(f'Noted rule: The store is called the vault. From: "{words}" For: project.')
    assert note.quotation == words
    assert note.why == ""


def test_a_note_can_refer_to_a_candidate_by_its_id() -> None:
    note = only("Noted rule: Keep it. From: [1630ad9a]. Why: the law wants it.")
    assert (note.candidate, note.quotation, note.why) == ("1630ad9a", "", "the law wants it")


@pytest.mark.parametrize(
    ("value", "everywhere"),
    [
        ("everywhere", True),
        ("Everywhere.", True),
        ("me", True),
        ("all", True),
        ('"every project"', True),
        ("all projects", True),
        ("project", False),
        ("this project", False),
        ("everyone", False),
        ("everywhere in this project", False),
        ("", False),
    ],
)
def test_a_note_applies_to_every_project_only_if_its_for_field_says_so(
    value: str, everywhere: bool
) -> None:
    assert only(f"Noted rule: Keep it. For: {value}").everywhere is everywhere


@pytest.mark.parametrize(
    ("value", "replaced"),
    [
        ("1630ad9a", "1630ad9a"),
        ("[1630AD9A]", "1630ad9a"),
        ("01912345-6789-7abc-8def-0123456789ab", "01912345-6789-7abc-8def-0123456789ab"),
        ('"a table for each tenant".', "a table for each tenant"),
        ("a table for each tenant.", "a table for each tenant"),
    ],
)
def test_replaced_and_dropped_records_can_be_identified_by_id_or_by_text(
    value: str, replaced: str
) -> None:
    assert only(f"Noted rule: Keep it. Instead of: {value}").instead_of == replaced
    assert parse(f"- **Dropped:** {value}") == Parsed(dropped=(replaced,))


@pytest.mark.parametrize(
    "text",
    [
        "Noted rule: Invoices are kept\n  for ten years. Why: the law\n  wants it.",
        "- Noted rule: Invoices are kept\r\n  for ten years.\r\n  Why: the law wants it.\r\n",
        "Noted rule: Invoices are kept for ten years.\nWhy: the law wants it.",
        "- Noted rule: Invoices are kept for ten years.\n  - **Why:** the law wants it.",
        "> Noted rule: Invoices are kept for ten years.\n> Why: the law wants it.",
        "Noted rule:\n  Invoices are kept for ten years.\nWhy: the law wants it.",
    ],
)
def test_the_lines_of_a_wrapped_note_are_joined(text: str) -> None:
    assert only(text) == Note("rule", SENTENCE, why="the law wants it")


def test_a_quotation_may_continue_on_the_next_lines() -> None:
    text = 'Noted rule: Keep it. From: "keep it\nfor ten\nyears" For: everywhere.\nNext I build it.'
    note = only(text)
    assert (note.quotation, note.everywhere) == ("keep it for ten years", True)


@pytest.mark.parametrize(
    "following",
    [
        "This is done now.",
        "  This is done now.",
        "\n    This is done now.",
        "  - This is done now.",
        "# Why it is done",
        "Why it is done: the law.",
        "```\nWhy: it\n```",
        "\nWhy: it is done.",
    ],
)
def test_prose_after_a_note_is_not_part_of_the_note(following: str) -> None:
    assert only(f"Noted rule: {SENTENCE}\n{following}") == Note("rule", SENTENCE)


def test_prose_after_a_quotation_that_is_never_closed_is_not_part_of_the_note() -> None:
    note = only(f'Noted rule: {SENTENCE} From: "keep it for\nThis is done now.\n\nAnd "this" too.')
    assert note == Note("rule", SENTENCE)


def test_an_unfinished_quotation_at_the_end_of_a_note_is_ignored() -> None:
    assert only(f'Noted rule: {SENTENCE} From: "keep them for t') == Note("rule", SENTENCE)


@pytest.mark.parametrize(
    "text",
    [
        "```\n{}\n```",
        "~~~text\n{}\n~~~",
        "```\n{}",
        "````markdown\n```\n{}\n```\n{}\n````",
        "```markdown\n```js\ncode\n```\n{}\n```",
        "~~~\n```\n~~~~\n~~~\n{}\n",
        "> ```\n> {}\n> ```",
        "- ```\n  {}\n  ```",
        f"{OPEN_FENCE}\n{{}}\n{CLOSE_FENCE}",
        f"> {OPEN_FENCE}\n{{}}",
        "<system-reminder>\n{}\n</system-reminder>",
    ],
)
def test_notes_inside_code_fences_and_injected_blocks_are_ignored(text: str) -> None:
    assert parse(text.replace("{}", f"Noted rule: {SENTENCE}")) == Parsed()


@pytest.mark.parametrize(
    "before",
    [
        "```\ncode\n```",
        "~~~\n```\n~~~",
        "````\n```\n````",
        "```markdown\n```js\ncode\n```\n```",
        "Use ```this``` here.",
        "> ```\n> code",
        f"{OPEN_FENCE}\nold\n{CLOSE_FENCE}",
        f"A `{OPEN_FENCE}` opens it.",
    ],
)
def test_notes_after_code_fences_and_injected_blocks_are_parsed(before: str) -> None:
    assert only(f"{before}\nNoted rule: {SENTENCE}") == Note("rule", SENTENCE)


def test_duplicate_notes_are_removed_and_the_order_is_preserved() -> None:
    text = (
        "Noted rule: B is kept.\n- **Noted rule:** B is kept.\nNoted fact: A is kept.\nDropped: x"
    )
    parsed = parse(f"{text}\nDropped: x")
    assert [note.text for note in parsed.notes] == ["B is kept.", "A is kept."]
    assert parsed.dropped == ("x",)


@pytest.mark.parametrize(
    "sentence",
    [
        "Тесты запускает сам пользователь.",
        "开发服务器由用户自己启动。",
        "テストは利用者が自分で実行する。",
        "테스트는 사용자가 직접 실행한다.",
        "يشغّل المستخدم الخادم بنفسه.",
    ],
)
def test_sentences_in_any_script_are_preserved_unchanged(sentence: str) -> None:
    assert only(f"Noted rule: {sentence} Why: x") == Note("rule", sentence, why="x")


def test_the_length_limit_of_a_note_excludes_the_text_of_its_quotation() -> None:
    rest = ' From: ""'
    fitting = "a" * (MAX_NOTE_CHARS - len(rest) - 1) + "."
    quotation = " ".join(["keep them"] * 30)

    assert only(f'**Noted rule:** {fitting} From: "{quotation}"').quotation == quotation
    assert parse(f'Noted rule: aa{fitting} From: "{quotation}"') == Parsed(
        too_long=(f"aa{fitting}",)
    )
    assert parse(f'Noted rule: {fitting} From: "{quotation * 3}"') == Parsed()


def test_note_regular_expressions_have_no_nested_unbounded_quantifiers() -> None:
    """No expression repeats what repeats, and longer notes are not searched."""
    expressions = [v for k, v in vars(grammar).items() if k.isupper() and isinstance(v, str)]
    unbounded = patterns.pattern(r"[*+}]\)+(?:[*+]|\{\d+,\})", 0)

    assert len(expressions) > 8
    assert [e for e in expressions if unbounded.search(e)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Noted rule: " + "a" * 100_000,
        "> " * 50_000 + "Noted rule: x",
        "Noted rule: x. From: " + '"' * 100_000,
        " " * 100_000 + "Noted rule: x.",
        "**" * 50_000,
        'Noted rule: x. From: "y\n' * 10_000,
        "Noted rule: x.\n  Why: \n" * 10_000,
        "`" * 100_000 + "\nNoted",
        "- ```\n" * 10_000 + "Noted rule: x.",
    ],
)
def test_parsing_of_very_large_texts_completes(text: str) -> None:
    parsed = parse(text)
    assert len(parsed.notes) <= 1


@given(st.text(alphabet="Noted rule:FromWhy.\"'`*>-~ \n「」“”[1a]", max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    parsed = parse(f"Noted rule: A is B. {text}")
    assert all(0 < len(note.text) <= MAX_NOTE_CHARS for note in parsed.notes)


def test_every_kind_of_note_has_a_record_type_and_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs/notes.md").read_text("utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| `Noted <kind>:` |"))

    meaning = re.sub(r" \(.*?\)", "", row.split("|")[2])

    assert meaning.strip().split(", ") == list(NOTE_KINDS)
    assert set(NOTE_KINDS.values()) <= RECORD_TYPES.keys()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("A is\n    b c\n    d e", Note("rule", "A is b c d e")),
        ("A is\n b c", Note("rule", "A is")),
        ("A is\n  b c", Note("rule", "A is b c")),
        ("A (is.)\n    b", Note("rule", "A (is.)")),
        ("A is)\n    b c", Note("rule", "A is) b c")),
        ("A is B; ", Note("rule", "A is B")),
        ("A is B. From: [1630ad9a] x", Note("rule", "A is B.", candidate="1630ad9a")),
        ('A. From: "x y" (this) z', Note("rule", "A.", quotation="x y")),
        ("A. From: x", Note("rule", "A.", quotation="x")),
        ('A. Why: "it (is" b', Note("rule", "A.", why='"it (is" b')),
        ("A. Why: B Why: C", Note("rule", "A.", why="B Why: C")),
        (
            'A. Why: x When: "git" First: y',
            Note("rule", "A.", why="x", when='"git", first y'),
        ),
        ('A. Instead of: "x" and "y"', Note("rule", "A.", instead_of='"x" and "y"')),
    ],
)
def test_the_fields_of_a_note_end_at_the_next_field_or_line(text: str, note: Note) -> None:
    assert parse(f"Noted rule: {text}") == Parsed((note,))


@pytest.mark.parametrize(
    ("chars", "is_reported"),
    [(MAX_NOTE_CHARS + 1, True), (MAX_LINE_CHARS, True), (MAX_LINE_CHARS + 1, False)],
)
def test_an_overlong_note_is_reported_up_to_the_length_of_a_line_that_is_read(
    chars: int, is_reported: bool
) -> None:
    parsed = parse(f"Noted rule: {'a' * chars}\nNoted rule: A is B.")

    assert parsed.too_long == (("a" * chars,) if is_reported else ())
    assert parsed.notes == (Note("rule", "A is B."),)


def test_a_quotation_does_not_continue_over_another_note() -> None:
    parsed = parse('Noted rule: A is B. From: "a\nNoted fact: C is D.')

    assert parsed.notes == (Note("rule", "A is B."), Note("fact", "C is D."))


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("Hi.\nNoted rule: A is\n  b c\nWhy: d\n- From: e\nBye.", "Hi.\nBye."),
        ("Dropped: x\nend", "end"),
        ("nothing", "nothing"),
        ("noted in\n```\nNoted rule: A\n```\nDropped: b", "noted in\n```\nNoted rule: A\n```"),
        ('Noted rule: A is B. From: "x\ny"\nz', "z"),
    ],
)
def test_the_prose_of_a_message_is_returned_without_its_notes(text: str, prose: str) -> None:
    assert without_notes(text) == prose
