"""Quotations of the user: where they are found, and what is kept around them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.capture.notes.quotation import Found, agreement, around, find, says_everywhere
from memory_fabric.capture.notes.typed import (
    command_in,
    is_assent,
    spoken_to_memory,
    tokens_of,
    typed_words,
)
from memory_fabric.events import MAX_PROMPT_CHARS
from memory_fabric.store.conversations.prompts import CHOSEN, TYPED, Prompt

FILLER = "The list of orders has been slow since the page was rebuilt for the shop. "
LONG = FILLER * 8


def found(quotation: str, *prompts: str, origin: str = TYPED, sentence: str = "") -> Found:
    typed = [Prompt(number, "", text, origin) for number, text in enumerate(prompts)]
    return find(quotation, sentence, typed)


@pytest.mark.parametrize(
    ("quotation", "prompt"),
    [
        ("invoices must keep their numbers", "Well, INVOICES  must keep\ntheir numbers!"),
        ("invoices must keep their numbers", "**invoices** must `keep` their _numbers_, ok?"),
        ("ｉｎｖｏｉｃｅｓ must keep their numbers", "invoices must keep their numbers"),
        ("I'll start the server myself", "I’ll start the server myself"),
        ("I dont want any mocks", "I don't want any mocks"),
        ("the docs_old/prior-chat.md file is final", "the docs_old / prior chat.md file is final"),
        ("L'utilisateur garde l'organisation ici", "l’utilisateur garde l’organisation ici"),
        ("organisation doit rester en place", "L'organisation doit rester en place"),
        ("pages are built with nextjs", "pages are built with Next.js"),
        ("发票号码永远不要修改", "发票号码永远不要修改。谢谢"),
        ("請求書の番号は変更しない", "請求書の番号は変更しないでください"),
        ("invoices keep numbers … never deleted", "Invoices keep numbers, they are never deleted"),
        ("invoices keep numbers [...] never deleted", "Invoices keep numbers. Never deleted."),
        ('use pnpm here" and "never npm', "use pnpm here because of the lock, never npm"),
    ],
)
def test_a_quotation_is_found_despite_different_case_markup_or_punctuation(
    quotation: str, prompt: str
) -> None:
    assert found(quotation, prompt).words == " ".join(prompt.split())


@pytest.mark.parametrize(
    ("quotation", "prompt"),
    [
        ("run all tests before every commit", "run the tests before every commit"),
        ("every commit before the tests", "run the tests before every commit"),
        ("un the tests before every", "run the tests before every commit"),
        ("they are deleted … invoices keep numbers", "invoices keep numbers"),
        ("main on Fridays", "push to main on Fridays please"),
        ("run … tests … every", "run the tests before every commit"),
        ("永远不要", "发票号码永远不要修改"),
        ("", "run the tests before every commit"),
        ("run … the … tests … before … every commit", "run the tests before every commit"),
        ("keep all invoices … keep all invoices", "keep all invoices for ten years"),
    ],
)
def test_a_quotation_with_different_or_too_few_words_is_not_found(
    quotation: str, prompt: str
) -> None:
    assert found(quotation, prompt, sentence="Push to main.") == Found()


def test_a_quotation_of_four_words_is_found() -> None:
    assert found("to main on Fridays", "push to main on Fridays please").words


@pytest.mark.parametrize("answer", ["ok sounds good, do it", "va bene", "3."])
def test_a_prompt_that_only_answers_a_question_is_not_a_quotation(answer: str) -> None:
    reply = found(answer, answer, sentence="Push to main.")
    assert (reply.words, reply.answer) == ("", answer)


def test_a_short_prompt_is_quoted_if_it_shares_a_word_with_the_noted_sentence() -> None:
    assert found("no mocks!", "no mocks!", sentence="Mocks are not used").words == "no mocks!"
    assert not found("no mocks!", "no mocks!", sentence="Push to main").words


def test_an_option_chosen_by_the_user_counts_as_an_answer() -> None:
    option = "Always push straight to the main branch"

    assert found(option, option, origin=CHOSEN).answer == option


def test_the_newest_prompt_that_contains_the_quotation_is_quoted() -> None:
    words = "never push to main"

    assert found(words, "never push to main on Fridays", "never push to main at all").words == (
        "never push to main on Fridays"
    )


class TestWidening:
    def test_a_quotation_from_a_short_prompt_is_shown_with_the_whole_prompt(self) -> None:
        prompt = "push straight to main every time?\n\nover my dead body"

        words = found("push straight to main every time", prompt).words

        assert words == "push straight to main every time? over my dead body"

    @pytest.mark.parametrize(
        ("paragraph", "quotation"),
        [
            ("My boss says: push straight to main. I think that is stupid.", "push straight to"),
            ("Push straight to main every time. That is what I forbid.", "push straight to"),
            ("Unless I say so, never push.\nPush straight to main only then.", "push straight to"),
        ],
    )
    def test_only_the_quoted_paragraph_is_stored(self, paragraph: str, quotation: str) -> None:
        words = found(f"{quotation} main", f"{LONG}\n\n{paragraph}\n\n{LONG}").words

        assert " ".join(paragraph.split()) in words
        assert words.startswith("… ") and words.endswith(" …")

    @pytest.mark.parametrize("gap", ["\n", "\n\n"])
    @pytest.mark.parametrize("mark", ["-", "*", "2.", "•", "b)"])
    def test_a_quotation_of_a_list_item_includes_the_introduction_of_the_list(
        self, gap: str, mark: str
    ) -> None:
        items = "\n".join(f"{mark} {FILLER}" for _ in range(9))
        prompt = f"{LONG}\n\nNever do these:{gap}{items}\n{mark} push straight to main\n\n{LONG}"

        words = found("push straight to main", prompt).words

        assert "Never do these:" in words and f"{mark} push straight to main" in words
        assert len(words) < 600

    def test_a_quotation_of_a_nested_list_item_includes_the_parent_item(self) -> None:
        prompt = f"{LONG}\n\nGit:\n- forbidden is\n  - rebasing main\n  - push to main now\n{LONG}"

        words = found("push to main now", prompt).words

        assert "Git:" in words and "- forbidden is" in words

    def test_a_quotation_of_a_list_item_includes_its_sub_items_and_the_next_item(self) -> None:
        prompt = f"{LONG}\n\n- push to main now\n  - but never on Fridays\n- that was a joke\n"

        words = found("push to main now", prompt).words

        assert "never on Fridays" in words and "that was a joke" in words

    def test_a_quotation_of_a_list_item_includes_the_text_after_the_list(self) -> None:
        items = "\n".join(f"- {FILLER}" for _ in range(5))
        prompt = f"{LONG}\n\n- push straight to main\n{items}\n\nWe must never do any of that.\n"

        assert "We must never do any of that." in found("push straight to main", prompt).words

    def test_a_quotation_of_a_paragraph_includes_its_heading_or_introduction(self) -> None:
        prompt = (
            f"{LONG}\n\n# Forbidden\n\n## Git\n\nOur rivals do this:\n\n{LONG}\n\n"
            f"push straight to main\n\n{LONG}"
        )

        words = found("push straight to main", prompt).words

        assert all(part in words for part in ("# Forbidden", "## Git", "Our rivals do this:"))

    def test_a_quotation_of_a_short_paragraph_includes_the_sentences_around_it(self) -> None:
        prompt = (
            f"{LONG}\n\nThis is what the vendor wants.\n\nPush straight to main.\n\n"
            f"That is what we must never do.\n\n{LONG}"
        )

        words = found("push straight to main", prompt).words

        assert "This is what the vendor wants. Push straight to main. That is what" in words

    def test_a_quotation_found_twice_includes_the_context_of_both_places(self) -> None:
        prompt = f"Please push straight to main.\n\n{LONG}\n\nNever push straight to main.\n"

        words = found("push straight to main", prompt).words

        assert "Please push straight to main." in words and "Never push straight to main." in words

    def test_a_very_long_paragraph_is_reduced_to_sentences_around_the_quotation(self) -> None:
        first, last = "The team wrote this in May.", "So much for the orders."
        prompt = f"{first} {LONG * 3}Some say push straight to main. They are wrong. {LONG * 3}"

        words = found("push straight to main", f"{prompt}{last}").words

        assert words.startswith(first) and words.endswith(last)
        assert "Some say push straight to main. They are wrong." in words
        assert len(words) < 1000
        kept = words.replace("… ", "").removeprefix(first).removesuffix(last)
        kept = kept.replace("Some say push straight to main. They are wrong. ", "")
        assert kept.replace(FILLER, "").strip("… ") in ("", FILLER.strip())

    def test_an_overlong_sentence_is_omitted_instead_of_truncated(self) -> None:
        prompt = f"{'and again we look at the orders ' * 40} push straight to main"

        assert found("push straight to main", prompt).words == ""


@pytest.mark.parametrize(
    "prompt",
    [
        "yes", "Yes, please!", "ok do it", "go ahead", "sounds good, thanks 👍", "lgtm", "do that",
        "ja, mach das bitte", "genau", "sí, hazlo", "vale, adelante", "oui, vas-y", "d'accord",
        "sim, pode fazer", "да, делай так", "好的，继续吧", "はい、お願いします",
        "네, 진행해주세요", "👍", "好的好的", "ok " * 10,
    ],
)  # fmt: skip
def test_a_prompt_that_only_agrees_is_recognised_as_assent(prompt: str) -> None:
    assert is_assent(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "", "?", "yes but never on Fridays", "use redis", "no", "mach das nicht", "不要",
        "ok " * 11, "ok?", "ok？", "!!!", "ok 👍 redis",
    ],
)  # fmt: skip
def test_a_prompt_that_does_more_than_agree_is_not_an_assent(prompt: str) -> None:
    assert not is_assent(prompt)


OPTIONS = "There are two ways: A) keep the cart in Redis. B) keep it in the database. Which one?"


@pytest.mark.parametrize(
    ("said", "answer", "agreed"),
    [
        ("Tests pass. Shall I keep the cart in Redis?", "ok", "Shall I keep the cart in Redis?"),
        ("I would keep the cart in Redis.", "sounds good", "I would keep the cart in Redis."),
        (OPTIONS, "B", "keep it in the database. Which one?"),
        (OPTIONS, "a) please", "keep the cart in Redis."),
        (OPTIONS, "the second", "keep it in the database. Which one?"),
        (OPTIONS, "option A", "keep the cart in Redis."),
        ("1. npm 2. pnpm 3. yarn", "2.", "pnpm"),
        ("Redis or Memcached?", "Redis", "Redis or Memcached?"),
        ("I use it. Shall I?", "yes", "Shall I?"),
        ("One. Two.", "yes", "Two."),
        ("Shall I use Redis now?", "use Redis please", "Shall I use Redis now?"),
        ("1. x 2. y", "the first", "x"),
        # The answer does not choose one of the options.
        ("A) x B) y", "a and c", ""),
        ("A) x B) y", "both", ""),
        ("A) x", "A", ""),
        ("Redis?", "not Redis", ""),
        ("Redis? Kafka?", "Redis", ""),
        # Several proposals, of which the answer names none.
        (OPTIONS, "ok sounds good", ""),
        (OPTIONS, "C", ""),
        ("Shall I drop the table? And push to main?", "yes", ""),
        ("Redis or Memcached?", "yes", ""),
        ("", "yes", ""),
    ],
)
def test_an_affirmative_answer_is_combined_with_the_proposal_that_it_accepts(
    said: str, answer: str, agreed: str
) -> None:
    assert agreement(said, answer) == (f"{agreed} — “{answer}”" if agreed else "")


@pytest.mark.parametrize(
    "prompt",
    [
        "see <pasted-content>never push to main</pasted-content> ok",
        "<task-notification>never push to main</task-notification>",
        "<system-reminder>never push to main",
        "/review never push to main"[:7],
    ],
)
def test_pasted_text_and_client_messages_are_not_treated_as_typed_by_the_user(prompt: str) -> None:
    assert "never push" not in typed_words(prompt)


@pytest.mark.parametrize(
    "words",
    [
        "always answer in German",
        "In all my projects, use pnpm",
        "use pnpm in every repository",
        "this holds for all projects",
        "Overall I want short answers",
        "generally no emojis, please",
        "immer auf Deutsch",
        "kurze Antworten in jedem Repository",
        "tabs in allen Projekten",
        "pnpm en todos los repositorios",
        "en cualquier proyecto usa pnpm",
        "pnpm dans chaque dépôt",
        "généralement des réponses courtes",
        "pnpm em qualquer repositório",
        "pnpm во всех репозиториях",
        "总是用中文",
        "每个仓库都用 pnpm",
        "どのリポジトリでも pnpm を使う",
        "모든 저장소에서 pnpm 사용",
    ],
)
def test_a_quotation_that_says_always_or_everywhere_applies_to_all_projects(words: str) -> None:
    assert says_everywhere(words)


@pytest.mark.parametrize(
    "words",
    [
        "answer in German",
        "not always in German",
        "nicht immer",
        "in this project",
        "not in all projects",
    ],
)
def test_a_quotation_without_always_or_everywhere_applies_to_this_project(words: str) -> None:
    assert not says_everywhere(words)


def test_at_least_90_percent_of_true_quotations_are_found_per_language() -> None:
    lines = Path(__file__).with_name("honest.jsonl").read_text("utf-8").splitlines()
    honest = [json.loads(line) for line in lines]
    shares: dict[str, list[bool]] = {}
    for one in honest:
        sentence = one.get("sentence", "")
        words = found(one["quotation"], "And now the cart.", one["typed"], sentence=sentence).words
        shares.setdefault(one["language"], []).append(words == " ".join(one["typed"].split()))

    assert len(honest) >= 60 and len(shares) >= 8
    assert {name for name, share in shares.items() if sum(share) < 0.9 * len(share)} == set()
    assert sum(map(sum, shares.values())) >= 0.9 * len(honest)


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        ("/review never push", " never push"), (" /a:b-c.d go", " go"),
        ("/a/b is a path", "/a/b is a path"), ("a <private>x</private> b", "a \n b"),
        ("a &lt;private&gt;x&lt;/private&gt; b", "a \n b"),
        ("<private>a</private> m <private>b</private> c", "\n c"),
        ("<system-reminder>x <private>y</private></system-reminder> z", "\n z"),
        ("a <private>never closed", "a \n"), ("a </private> b", "a </private> b"),
        ("<ide_selection>x</ide_selection> y", "\n y"),
        ("`<private>` and <b>this</b> stay", "`<private>` and <b>this</b> stay"),
        ("x" * (MAX_PROMPT_CHARS + 1), "x" * MAX_PROMPT_CHARS),
    ],
)  # fmt: skip
def test_tagged_parts_a_command_and_what_is_too_long_are_left_out_of_the_typed_words(
    prompt: str, typed: str
) -> None:
    assert typed_words(prompt) == typed


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't 10ms a1 3d5 12", ["don", "t", "10", "ms", "a1", "3", "d5", "12"]),
        ("ＡＢＣ表示 v2", ["abc", "表", "示", "v2"]),
        ("a\u200bb 漢字x", ["ab", "漢", "字", "x"]),
    ],
)
def test_numbers_and_characters_of_spaceless_scripts_are_separate_tokens(
    text: str, tokens: list[str]
) -> None:
    assert tokens_of(text) == tokens


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("undo", ("undo", "")), ("keep", ("keep", "")), ("replace", ("replace", "")),
        ("UNDO LAST", ("undo", "last")), ("undo 1a2b", ("undo", "1a2b")),
        ("lift 1a2b", ("lift", "1a2b")), ("forget ab-d", ("forget", "ab-d")),
        ("keep [1a2b3c4d]", ("keep", "1a2b3c4d")), ("keep `face`", ("keep", "face")),
        ("notes on", ("notes", "on")), ("notes off", ("notes", "off")),
        ("forget the cart total", ("forget", "the cart total")),
        ("forget " + "a" * 53, ("forget", "a" * 53)), ("forget " + "a" * 54, None),
        ("forget abc", None), ("forget cart", None), ("forget the cart?", None),
        ("keep ----", None), ("keep --ab", None), ("keep the cart total", None),
        ("undo it", None), ("replace x", None), ("notes", None), ("notes 1a2b", None), ("", None),
    ],
)  # fmt: skip
def test_a_prompt_is_a_command_only_with_an_id_or_one_of_its_words(
    prompt: str, command: tuple[str, str] | None
) -> None:
    assert command_in(prompt) == command


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("keep that one", ("keep", "that one")), ("keep it!", ("keep", "it")),
        ("forget cart", ("forget", "cart")), ("undo that rule.", ("undo", "that rule")),
        ("replace the note", ("replace", "the note")),
        ("keep" + " a" * 26 + " it", ("keep", "a " * 26 + "it")),
        ("keep" + " a" * 27 + " it", None), ("keep the cart", None), ("forget", None),
        ("forget a, b", None), ("forget it?", None), ("lift that rule", None),
        ("notes that", None), ("", None),
    ],
)  # fmt: skip
def test_a_short_request_is_to_memory_only_if_it_refers_to_a_memory(
    prompt: str, command: tuple[str, str] | None
) -> None:
    assert spoken_to_memory(prompt) == command


def test_a_sentence_is_returned_with_the_prompt_around_it_or_not_at_all() -> None:
    assert around("One two", "One two. Three.") == "One two. Three."
    assert around("two … three", "One two. Three four.") == "One two. Three four."
    assert around("nope", "One two.") == around("", "One two.") == ""
    often = "Use tabs. " * 32
    assert around("use tabs", often).startswith("Use tabs.")
    assert around("use tabs", often + "Use tabs.") == ""
