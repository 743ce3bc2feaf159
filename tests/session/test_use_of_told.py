"""The use of a memory, estimated by its words in what the assistant did next."""

from __future__ import annotations

import pytest

from memory_fabric.hooks.session.use_of_told import signs, used_of

ID = "record:00000000-0000-7000-8000-00001a2b3c4d"

# What was told, the prompt, what the assistant did, and whether a person would say it used it.
LABELLED = [
    # used: names, commands, paths, numbers, the id
    ("Use pnpm, not npm, in this repository", "install the date library", "pnpm add date-fns", 1),
    ("Analytics runs on PostgreSQL", "where do reports come from?", "From PostgreSQL.", 1),
    ("Deploys go through scripts/ship.sh", "please release it", "bash scripts/ship.sh --all", 1),
    ("The staging proxy listens on port 6543", "connect to staging", "psql -p 6543 shop", 1),
    ("Run `make seed` before the e2e tests", "run the e2e tests", "make seed && make e2e", 1),
    ("Invoices are rounded half-even per line item", "fix the totals",
     "I round half-even for every line item of an invoice.", 1),
    ("Prefer composition over inheritance for widgets", "add a chart",
     "The chart widget is built by composition instead of inheritance.", 1),
    ("Names of branches begin with the ticket", "start", "As 1a2b3c4d says, I name it so.", 1),
    ("Webhooks are retried with exponential backoff", "the webhook fails",
     "Added exponential backoff, so it is retried.", 1),
    ("Fixtures live in tests/fixtures/orders.json", "add a test",
     "Read tests/fixtures/orders.json", 1),
    # not used
    ("Use pnpm, not npm, in this repository", "install it", "npm install date-fns", 0),
    ("Analytics runs on PostgreSQL", "does PostgreSQL do analytics?", "PostgreSQL can.", 0),
    ("Deploys go through scripts/ship.sh", "rename the header", "Edit src/Header.tsx", 0),
    ("The staging proxy listens on port 6543", "why is it slow?", "The query scans a table.", 0),
    ("Run the linter before each commit", "add a file", "I added the file and ran it.", 0),
    ("Invoices are rounded half-even per line item", "add a line to the docs",
     "Added one line item to the list.", 0),
    ("Never start the dev server yourself", "add a button", "I added the button.", 0),
    ("The user works in Berlin", "fix the build", "The build works again.", 0),
    ("Customers are called accounts in the code", "show the users", "The users are shown.", 0),
    ("Webhooks are retried with exponential backoff", "fix the retry of webhooks",
     "The retry of webhooks is fixed.", 0),
]  # fmt: skip


def judged(told: str, prompt: str, done: str) -> bool:
    return bool(used_of({"one": signs(ID, told)}, [done], prompt))


def test_at_least_nine_of_ten_labelled_cases_are_judged_as_a_person_would() -> None:
    wrong = [
        (told, done)
        for told, prompt, done, is_used in LABELLED
        if judged(told, prompt, done) != bool(is_used)
    ]

    assert len(wrong) <= len(LABELLED) // 10, wrong


@pytest.mark.parametrize(
    ("prompt", "is_used"), [("add caching", True), ("add caching with Redis", False)]
)
def test_a_word_of_the_prompt_proves_nothing(prompt: str, is_used: bool) -> None:
    assert judged("We cache sessions in Redis", prompt, "I use Redis.") is is_used


def test_a_name_that_two_memories_share_proves_neither() -> None:
    told = {
        "sessions": signs(ID, "Redis holds the sessions"),
        "cluster": signs(ID, "The Redis cluster replicates to Frankfurt"),
    }

    assert used_of(told, ["I restarted Redis."], "") == set()
    assert used_of(told, ["The Redis clusters are replicating."], "") == {"cluster"}


def test_words_spread_over_a_long_answer_are_no_use() -> None:
    told = signs(ID, "Invoices are rounded half-even per line item")
    done = ["The invoice is blue.", "I rounded the corner.", "One half is done.", "A new item."]

    assert used_of({"one": told}, done, "") == set()


def test_a_name_that_the_project_always_has_proves_nothing() -> None:
    told = {"one": signs(ID, "shop_floor keeps no stock in Redis")}

    assert used_of(told, ["cat src/shop_floor/app.py"], "/home/ann/shop_floor") == set()
    assert used_of(told, ["Redis is up."], "", {"redi", "redis"}) == set()
    assert used_of(told, ["Redis is up."], "") == {"one"}
