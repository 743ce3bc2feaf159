"""Schema of the databases: a new one's in schema.sql, and the migration steps of older ones.

docs/decisions/0061 promises that every database of a released version opens without loss. Therefore
a released step is never edited, and OLDEST never rises.
"""

import os

# The version (PRAGMA user_version) of schema.sql, and the oldest one that can be migrated.
LATEST, OLDEST = 10, 8
# For each version, the statements that migrate a database from the previous version.
STEPS: dict[int, tuple[str, ...]] = {
    # The origin of each prompt. Earlier prompts were treated as typed.
    9: ("ALTER TABLE prompts ADD COLUMN origin TEXT NOT NULL DEFAULT 'typed'",),
    # The outcome of injected items, which was formerly estimated from words.
    10: (
        "ALTER TABLE told RENAME COLUMN used TO followed",
        "UPDATE told SET followed = NULL, judged_at = ''",
    ),
}
# The key in `meta` of the team's space to whose log a database is linked.
TEAM_SPACE = "team space"
# SQL conditions: current records (neither ended nor replaced), and active current ones.
CURRENT = "superseded_by = '' AND valid_to = ''"
ACTIVE_CURRENT = f"status = 'active' AND {CURRENT}"
# The condition for entities `e` without observations and relations.
IS_ORPHAN = (
    "NOT EXISTS (SELECT 1 FROM observations AS o WHERE o.entity = e.id) "
    "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.source = e.id) "
    "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.target = e.id)"
)


def whole() -> str:
    """Return the content of schema.sql. Raises OSError."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema.sql")
    with open(path, encoding="utf-8") as stream:
        return stream.read()
