"""The texts of the demonstration: the messages of two sessions, and the expected memories."""

from __future__ import annotations

PROJECT = "orders-api"
FIRST, SECOND = "5e551011-0000-4000-8000-000000000001", "5e551011-0000-4000-8000-000000000002"

DECISION = (
    "We decided on PostgreSQL instead of MongoDB for the analytics DB because we need window "
    "functions."
)
RULE = "Always validate input at the API boundary, never deeper in the services."
TASK = "The orders list times out. Please find out why and fix it."
FAILING = "pytest tests/test_orders.py::test_list_is_fast"
FAILURE = "FAILED test_list_is_fast - TimeoutError: GET /orders?page=9000 took 31 s"
CHANGED_FILE = "src/orders/list.py"
ANSWER = (
    "Fixed. Offset pagination caused timeouts at 1M rows. "
    "We chose cursor-based pagination for the list endpoints because it scales to 2M rows. "
    "The test passes now.\n\n"
    "Noted rule: Input is validated at the API boundary, never deeper in the services. "
    'From: "Always validate input at the API boundary, never deeper in the services"'
)
SUMMARY = (
    "<analysis>-</analysis>\n<summary>\n1. Primary Request: make the orders list fast\n"
    "2. Decision: we decided to keep page size at 50 because the mobile client depends on it.\n"
    "3. Pending: none\n</summary>"
)
PARAPHRASE = "The list test runs into a TimeoutError again. What was it last time?"
UNRELATED = "Which colour would you paint a garden shed?"
AGENT = "database-engineer"
AGENT_TASK = "Write the migration that adds the analytics tables for monthly revenue."

# Words that the model of session 2 must be given.
CHOSEN, LESSON = "PostgreSQL", "src/orders/list.py"
