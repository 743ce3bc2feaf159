"""The texts of the demonstration: the messages of two sessions, and the expected memories."""

PROJECT = "orders-api"
MONDAY, TUESDAY, WEDNESDAY = (f"5e551011-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))

RULE = "Never start the dev server, I run it myself."
NOTED_RULE = (
    "Understood.\n\n"
    "Noted rule: Never start the dev server; the user runs it himself. "
    'From: "Never start the dev server, I run it myself"'
)
DECISION = "Let's use MongoDB for the analytics DB."
NOTED_DECISION = (
    "Set up.\n\n"
    'Noted decision: The analytics DB uses MongoDB. From: "use MongoDB for the analytics DB"'
)
TASK = "The orders list times out. Please find out why and fix it."
FAILING = "pytest tests/test_orders.py"
FAILURE = "TimeoutError: GET /orders took 31 s"
PASSING = "1 passed in 0.4 s"
CHANGED_FILE = "src/orders/list.py"
ANSWER = (
    "Fixed: the orders list is paged by cursors now.\n\n"
    "Noted fix: TimeoutError of the orders test: page by cursors."
)

PARAPHRASE = "The orders test has a TimeoutError again. What was it last time?"
UNRELATED = "Which colour would you paint a garden shed?"
CORRECTION = "No, we use PostgreSQL for the analytics DB: we need window functions."
# It names what it replaces by the id that the cue told.
NOTED_CORRECTION = (
    "Changed.\n\n"
    "Noted decision: The analytics DB uses PostgreSQL. Why: we need window functions. "
    'Instead of: {id}. From: "we use PostgreSQL for the analytics DB"'
)
AGENT = "database-engineer"
AGENT_TASK = "Write the migration for the analytics tables."

# Words of the memories that sessions must be given.
RULED, DECIDED, LESSON = "Never start the dev server", "uses MongoDB", "page by cursors"
CHOSEN, REASON = "uses PostgreSQL", "window functions"
