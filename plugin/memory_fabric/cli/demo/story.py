"""The texts of the demonstration: the messages of two sessions, and the expected memories."""

from __future__ import annotations

PROJECT = "orders-api"
FIRST, SECOND = "5e551011-0000-4000-8000-000000000001", "5e551011-0000-4000-8000-000000000002"

RULE = "Never start the dev server, I'll run the server myself."
NOTED_RULE = (
    "Understood.\n\n"
    "Noted rule: Never start the dev server; the user runs the server himself. "
    'From: "Never start the dev server, I\'ll run the server myself"'
)
DECISION = "Let's use MongoDB for the analytics DB."
NOTED_DECISION = (
    "Set up.\n\n"
    'Noted decision: The analytics DB uses MongoDB. From: "Let\'s use MongoDB for the analytics DB"'
)
TASK = "The orders list times out. Please find out why and fix it."
FAILING = "pytest tests/test_orders.py::test_list_is_fast"
FAILURE = "FAILED test_list_is_fast - TimeoutError: GET /orders?page=9000 took 31 s"
CHANGED_FILE = "src/orders/list.py"
ANSWER = "Fixed: the orders list is paged by cursors now. The test passes."
SUMMARY = (
    "<analysis>-</analysis>\n<summary>\nThe orders list was made fast.\n"
    "Noted decision: Pages of the orders list have 50 rows. Why: the mobile client needs it.\n"
    "</summary>"
)
CORRECTION = "No, we use PostgreSQL for the analytics DB, not MongoDB: we need window functions."
# It names what it replaces by the id that the cue told.
NOTED_CORRECTION = (
    "Changed.\n\n"
    "Noted decision: The analytics DB uses PostgreSQL. Why: we need window functions. "
    'Instead of: {id}. From: "we use PostgreSQL for the analytics DB, not MongoDB"'
)
PARAPHRASE = "The list test runs into a TimeoutError again. What was it last time?"
UNRELATED = "Which colour would you paint a garden shed?"
AGENT = "database-engineer"
AGENT_TASK = "Write the migration that adds the analytics tables for monthly revenue."

# Words that the model of session 2 must be given.
RULED, DECIDED, LESSON = "Never start the dev server", "uses MongoDB", "src/orders/list.py"
CHOSEN = "uses PostgreSQL"
