from __future__ import annotations

import pytest

from linear import LIMIT, growth
from memory_fabric.models import Filters
from memory_fabric.recall.parse import (
    MAX_HINTS,
    MAX_TERMS,
    is_paste,
    parse,
    sentences,
    split,
    written,
)

NOW = "2026-03-01T12:00:00.000Z"


def test_a_question_is_parsed_into_terms_entity_hints_and_intent() -> None:
    query = parse("What pagination approach did database-engineer recommend?")

    assert " ".join(query.terms) == "pagination approach recommend"
    assert query.entity_hints == ("database-engineer", "pagination")
    assert query.intent in ("decision", "pattern")


def test_a_question_about_an_agents_recommendation_traverses_the_graph() -> None:
    assert parse("What did database-engineer recommend about pagination?").traverse


@pytest.mark.parametrize(
    "text",
    [
        "How is billing related to invoices?",
        "what depends on Redis",
        "is the parser connected to the lexer?",
    ],
)
def test_words_about_relationships_request_a_graph_traversal(text: str) -> None:
    query = parse(text)

    assert query.traverse
    assert query.intent == "relationship"


def test_an_instruction_to_use_a_technology_requests_no_graph_traversal() -> None:
    assert not parse("use Redis for the session cache", plain=True).traverse


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("why did we choose Redis", "decision"),
        ("how do I run the migrations", "howto"),
        ("which error did the importer raise", "problem"),
        ("what do I prefer for indentation", "preference"),
        ("our pattern for repositories", "pattern"),
        ("billing endpoints", ""),
        ("how do I see what depends on Redis", "relationship"),
    ],
)
def test_the_intent_of_a_question_is_derived_from_its_words(text: str, intent: str) -> None:
    assert parse(text).intent == intent


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("When did we move to Kubernetes?", "when"),
        ("Who owns the billing service?", "who"),
        ("How many retries are allowed?", "how many"),
        ("What is the timeout?", ""),
    ],
)
def test_the_question_word_decides_the_kind_of_answer(text: str, kind: str) -> None:
    assert parse(text).answer_type == kind


def test_filters_are_parsed_and_removed_from_the_search_terms() -> None:
    query = parse(
        "domain:code_reviewer type:decisions agent:database-engineer scope:team session:abc "
        "project:shop since:2026-01-01 before:2026-02 pagination",
        now=NOW,
    )

    assert query.terms == ("pagination",)
    assert query.filters == Filters(
        domains=("code_reviewer",),
        types=("decision",),
        agents=("database-engineer",),
        scopes=("team",),
        sessions=("abc",),
        projects=("shop",),
        since="2026-01-01",
        before="2026-02-01",
    )


def test_expert_domain_is_parsed_as_a_domain_filter() -> None:
    assert parse("expert_domain:code_reviewer naming").filters.domains == ("code_reviewer",)


def test_a_filter_accepts_several_values_and_quoted_values() -> None:
    query = parse('type:decision,pattern domain:"code review" caching')

    assert query.filters.types == ("decision", "pattern")
    assert query.filters.domains == ("code review",)
    assert query.terms == ("caching",)


@pytest.mark.parametrize(
    ("text", "domains"),
    [
        ("domain:ops domain:legal x", ("ops", "legal")),
        ('expert_domain:"legal advisor",ops x', ("legal advisor", "ops")),
        ('domain:ops,"legal advisor", x', ("ops", "legal advisor")),
        ('domain:"legal, old" x', ("legal, old",)),
        ("Domain:Legal-Advisor x", ("Legal-Advisor",)),
    ],
)
def test_a_domain_filter_accepts_a_comma_list_or_can_be_repeated(
    text: str, domains: tuple[str, ...]
) -> None:
    assert parse(text).filters.domains == domains


def test_relative_times_in_filters_are_resolved_from_now() -> None:
    assert parse("since:7d caching", now=NOW).filters.since == "2026-02-22"
    assert parse("since:yesterday caching", now=NOW).filters.since == "2026-02-28"


@pytest.mark.parametrize("text", ["type:banana", "scope:everywhere", "since:soon", "foo:bar"])
def test_the_words_of_an_invalid_filter_are_searched(text: str) -> None:
    query = parse(text, now=NOW)

    assert query.filters == Filters()
    assert query.terms
    assert [said.partition(" ")[0] for said in query.unread] == (
        [f"“{text}”"] if "foo" not in text else []
    )


def test_the_marker_at_global_restricts_the_search_to_the_global_scope() -> None:
    query = parse("@global error handling")

    assert query.filters.scopes == ("global",)


def test_quoted_text_is_both_an_exact_phrase_and_search_terms() -> None:
    query = parse('where is "cursor based pagination" used')

    assert query.phrases == ("cursor based pagination",)
    assert "cursor" in query.terms


def test_the_depth_is_two_unless_a_valid_depth_is_given() -> None:
    assert parse("Redis").depth == 2
    assert parse("Redis depth:3").depth == 3
    assert parse("Redis depth:9").depth == 2


def test_filters_and_phrases_in_a_plain_prompt_are_not_interpreted() -> None:
    query = parse('make type:decision the "default value" @global', plain=True)

    assert query.filters == Filters()
    assert query.phrases == ()


def test_names_become_entity_hints_in_their_canonical_form() -> None:
    query = parse("does k8s run src/app/main.py with FooBar, retry_count and Spring Boot?")

    hints = ("Kubernetes", "src/app/main.py", "FooBar", "retry_count", "Spring Boot")
    assert query.entity_hints == hints


@pytest.mark.parametrize("name", ["payments-engineer", "@security-auditor", "api-designer"])
def test_a_hyphenated_role_is_recognised_as_an_agent(name: str) -> None:
    query = parse(f"what did {name} say about retries")

    assert query.entity_hints[0] == name.lstrip("@")
    assert "engineer" not in query.terms


def test_an_identifier_is_searched_as_a_whole_and_by_its_parts() -> None:
    assert {"fastapirouter", "fast", "router"} <= set(parse("FastAPIRouter").terms)


def test_scripts_without_spaces_are_searched_by_character_pairs() -> None:
    assert "認証" in parse("認証方式").terms


def test_injected_blocks_are_removed_from_the_question() -> None:
    text = "<system-reminder>use Redis</system-reminder> explain caching"

    assert parse(text).terms == ("explain", "caching")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "\ud800 lone",
        "???",
        "the of and",
        '"',
        '""',
        "domain:",
        ':"',
        "@global",
        "database-engineer",
        "🦀",
    ],
)
def test_unusual_texts_and_an_invalid_time_are_parsed_without_an_error(text: str) -> None:
    parse(text, now="not a time")


@pytest.mark.parametrize(
    "part", ["a", "a-", '"', 'domain:"', "x:", "<memory-fabric>", "how ", "Foo bar ", "\\", "認"]
)
def test_huge_and_adversarial_texts_are_cut_off_and_parsed_in_linear_time(part: str) -> None:
    query = parse(part * (1_000_000 // len(part)), now=NOW)

    assert growth(lambda n: parse(part * (n // len(part)), now=NOW), 2 << 10) < LIMIT
    assert len(query.text) <= 64 << 10
    assert len(query.terms) <= MAX_TERMS
    assert len(query.entity_hints) <= MAX_HINTS


@pytest.mark.parametrize(
    "text",
    [
        "Users are logged out. Find out why. Then fix it.",
        "Is it slow? Measure it! Later we mend it",
        "Please do: Rename the logo",
        "- Rename the logo\n- Move it\n* Delete the old one\n1. Publish it",
    ],
)
def test_the_capitalised_first_word_of_a_sentence_or_list_item_is_not_a_name(text: str) -> None:
    assert parse(text, plain=True).entity_hints == ()


def test_a_capitalised_word_within_a_sentence_is_a_name() -> None:
    assert parse("It is slow. Ask Caroline. Then Melanie?").entity_hints == ("Caroline", "Melanie")


@pytest.mark.parametrize(
    ("named", "spoken"),
    [
        ("read @how-to-deploy.md", "how to deploy"),
        ("open how-to-deploy.md, then stop", "tell me how to deploy"),
    ],
)
def test_how_to_in_a_file_name_does_not_make_a_prompt_a_howto_question(
    named: str, spoken: str
) -> None:
    assert parse(named, plain=True).intent == ""
    assert parse(spoken, plain=True).intent == "howto"


@pytest.mark.parametrize(
    ("named", "spoken", "kind"),
    [
        ("open who.md and list", "tell me who wrote it", "who"),
        ("rename @how-many.csv", "how many rows are there", "how many"),
    ],
)
def test_a_question_word_inside_a_file_name_is_ignored(named: str, spoken: str, kind: str) -> None:
    assert parse(named, plain=True).answer_type == ""
    assert parse(spoken, plain=True).answer_type == kind


def lines(machine: int, prose: int) -> str:
    return "\n".join(["const a = b;"] * machine + ["We talked about it"] * prose)


@pytest.mark.parametrize(
    ("text", "is_pasted"),
    [
        (lines(8, 0), True),
        (lines(7, 0), False),
        (lines(6, 4), False),
        (lines(7, 3), True),
        (f"\n\n{lines(7, 0)}\n \n", False),
        ("", False),
    ],
)
def test_a_text_is_a_paste_if_most_of_at_least_eight_lines_are_not_prose(
    text: str, is_pasted: bool
) -> None:
    assert is_paste(text) is is_pasted


MACHINE_LINES = """\
at run (app)
File main
+ added
- - removed
| cell
$ make
> quoted
12 seconds later
[info] it runs
run it {
continue it \\
ab12""".split("\n")


@pytest.mark.parametrize("line", MACHINE_LINES)
def test_a_line_is_known_as_code_or_a_log_by_its_start_its_end_or_its_characters(line: str) -> None:
    assert is_paste("\n".join([line] * 8))


@pytest.mark.parametrize("line", ["abc1", "- We talked about it", "We talked about it"])
def test_a_line_of_prose_or_a_single_word_is_no_code(line: str) -> None:
    assert not is_paste("\n".join([line] * 8))


def test_of_a_prompt_with_a_paste_only_the_lines_of_a_person_are_read() -> None:
    few = "Please mend it.\n" + "It is slow\n" * 6 + "const a = b;\n\nThanks"
    paste = f"Please mend it.\n\n{lines(9, 0)}\n\nIt is\nslow"
    short = "Please mend it.\n" + "const a = b;\n" * 6

    assert written(few) == "Please mend it.\n" + "It is slow\n" * 6 + "Thanks"
    assert written(paste) == "Please mend it.\nIt is\nslow"
    assert written(short.rstrip()) == short.rstrip()


def test_a_text_is_split_into_sentences_with_their_end_marks() -> None:
    text = "See a.b now. It works!? Then\nstop"

    assert list(sentences(text)) == [
        ("See a.b now", "."),
        (" It works", "!"),
        (" Then", "\n"),
        ("stop", "."),
    ]


def test_a_sentence_of_few_content_words_belongs_to_the_one_before() -> None:
    long, short = "Gardeners plant tulips", "Ferns grow"

    assert split(f"{long}. {long} slowly. {short}")[0] == (
        f"{long}.",
        f" {long} slowly. {short}.",
    )
    assert split(f"{short}. {long}")[0] == (f"{short}. {long}.",)


@pytest.mark.parametrize(("count", "is_long"), [(32, False), (33, True)])
def test_a_text_of_several_sentences_and_over_32_content_words_is_long(
    count: int, is_long: bool
) -> None:
    words = [f"tulip{n}" for n in range(count)]
    half = count // 2

    assert split(f"{' '.join(words[:half])}. {' '.join(words[half:])}")[1] is is_long
    assert split(" ".join(words))[1] is False


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("Then ask Bob", ("Bob",)),
        ("Then ask Al", ()),
        ("IBM it is", ("IBM",)),
        ("FooBar it is", ("FooBar",)),
        ("Then use -x", ()),
        ("Then ask Ümit", ()),
        ("Then see 4/7", ()),
        (f"see a-{'b' * 78}", (f"a-{'b' * 78}",)),
        (f"see a-{'b' * 79}", ()),
    ],
)
def test_names_are_recognised_by_their_capitals_or_signs(text: str, hints: tuple[str, ...]) -> None:
    assert parse(text, plain=True).entity_hints == hints


def test_at_most_eight_phrases_of_letters_or_digits_are_searched_exactly() -> None:
    quoted = " ".join(f'"phrase {n}"' for n in range(9))

    assert len(parse(quoted).phrases) == 8
    assert parse('"--" “two words” and "a"').phrases == ("two words",)


def test_a_stated_depth_requests_a_graph_traversal() -> None:
    assert parse("Redis depth:1").traverse
    assert not parse("Redis").traverse
