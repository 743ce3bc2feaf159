"""The subject of a subagent's task, found in prompts as models write them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_fabric.language.task_terms import FOCUS_CHARS, questions, text_of, title

LONG = """You are a senior database engineer working on the shop project.

Working directory: /home/ann/work/shop
Branch: feature/report-speed

## Background
The nightly sales report has become slow: it takes 40 minutes, most of it in the analytics DB.
{filler}
## Task
1. Read `reports/nightly.py` and find the slow queries.
2. Propose a migration for the warehouse tables.

```python
def unrelated_helper(): return "sourdough"
```

- Do not change application code.
Return a concise report with file paths. When you are done, finish with a summary."""


def test_the_search_query_for_a_subagent_task_omits_role_folder_and_report_format() -> None:
    [asked] = questions(text_of("Review schema", LONG.format(filler="")))

    for kept in ("schema", "analytics DB", "reports/nightly.py", "warehouse tables"):
        assert kept in asked
    for dropped in ("senior", "engineer", "/home/ann", "feature", "sourdough", "concise", "##"):
        assert dropped not in asked


def test_the_search_query_for_a_task_puts_instructions_before_prohibitions() -> None:
    [asked] = questions("\nDo not touch the parser. Speed up the importer.")

    assert asked.index("importer") < asked.index("parser")


def test_a_long_task_yields_one_search_query_for_its_start_and_one_for_all_of_it() -> None:
    filler = "\n".join(f"The ops team measured run {n} of the report again." for n in range(20))
    focus, whole = questions(text_of("Review schema", LONG.format(filler=filler)))

    assert len(focus) <= FOCUS_CHARS
    assert focus.startswith("schema")
    assert "analytics DB" in focus
    assert "warehouse tables" in whole


def test_a_task_that_only_asks_for_a_report_is_searched_by_the_reports_subject() -> None:
    assert questions("\nReport which database holds the orders.") == (
        "which database holds the orders",
    )


def test_a_task_that_states_only_a_role_and_a_folder_yields_no_search_query() -> None:
    assert questions("\nYou are a senior engineer.\nWorking directory: /home/ann/shop") == ()
    assert questions("") == ()


def test_a_list_of_many_points_is_not_treated_as_pasted_text() -> None:
    points = "\n".join(f"- Check rule {n} of the invoice numbering" for n in range(12))

    [asked] = questions(f"\n{points}")[:1]

    assert "\n" not in asked
    assert "invoice numbering" in asked


def test_the_title_of_a_task_is_its_description_without_the_leading_verb() -> None:
    assert title(text_of("Review  webhook\nretries", "Long text.")) == "webhook retries"
    assert title(text_of(None, "Long text.")) == ""
    assert title(text_of("a task", "Long text.")) == ""


def test_a_word_like_review_is_kept_in_the_query_if_it_is_the_subject_of_the_task() -> None:
    assert questions("\nReview the product reviews: the search is slow") == (
        "the product reviews: the search is slow",
    )


def test_the_first_query_of_a_long_task_has_the_whole_sentences_that_fit() -> None:
    longest, more = f"{'a' * 198}. {'b' * (FOCUS_CHARS - 200)}", "c" * 50

    assert questions(f"\n{longest}") == (longest,)
    assert questions(f"\n{longest}. {more}") == (longest, f"{longest}. {more}")
    assert questions(f"\na{longest}. {more}")[0] == "a" * 199


@pytest.mark.parametrize(
    ("prompt", "query"),
    [
        ("Speed up! Which orders? All orders.", "Speed up. Which orders. All orders"),
        ("Fix the importer.\nFix the importer.", "Fix the importer"),
        ("Fix a/b/importer.py in /home/ann/shop/src", "Fix a/b/importer.py in"),
        ("**Importer** of `orders`", "Importer of orders"),
        ("The importer\nfor (;;) {", "The importer"),
        ("```\nthe parser\n```\nThe importer", "The importer"),
        ("Please review the following importer.", "the importer"),
        ("Always be quick. Fix the importer.", "Fix the importer. Always be quick"),
        ("Please review", None),
        ("---\n", None),
    ],
)
def test_the_query_of_a_task_has_its_sentences_without_markup_folders_and_polite_words(
    prompt: str, query: str | None
) -> None:
    assert questions(f"\n{prompt}") == (() if query is None else (query,))


@given(st.text(max_size=3000))
@example("```\n" * 50)
@example("- . ! ?\n/a/b/c\n~/x")
def test_any_text_is_read_and_gives_at_most_two_questions(text: str) -> None:
    asked = questions(text)

    assert len(asked) <= 2
    assert all(any(c.isalnum() for c in question) for question in asked)
    assert questions(text) == asked
