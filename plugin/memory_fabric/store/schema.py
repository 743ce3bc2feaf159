"""Schema of the databases: of a new one in schema.sql, and the steps that an older one needs.

The promise of docs/decisions/0061: every database of a released version opens with nothing lost.
So a released step is never edited, and OLDEST never rises.
"""

from __future__ import annotations

import os

# The version (PRAGMA user_version) of schema.sql, and the oldest one that can be migrated.
LATEST, OLDEST = 10, 8
# The statements that migrate a database to a version from the one before.
STEPS: dict[int, tuple[str, ...]] = {
    # The origin of each prompt. Earlier prompts keep the origin that they were treated as.
    9: ("ALTER TABLE prompts ADD COLUMN origin TEXT NOT NULL DEFAULT 'typed'",),
    # The outcome of injected items; before, it was estimated by words.
    10: (
        "ALTER TABLE told RENAME COLUMN used TO followed",
        "UPDATE told SET followed = NULL, judged_at = ''",
    ),
}
# The key in `meta` of the team whose log a database is tied to.
TEAM_SPACE = "team space"
# Conditions on records that have not ended and were not replaced, and of these the active ones.
CURRENT = "superseded_by = '' AND valid_to = ''"
ACTIVE_CURRENT = f"status = 'active' AND {CURRENT}"
# The condition on entities `e` that have neither observations nor relations.
IS_ORPHAN = (
    "NOT EXISTS (SELECT 1 FROM observations AS o WHERE o.entity = e.id) "
    "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.source = e.id) "
    "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.target = e.id)"
)


def whole() -> str:
    """Return the text of schema.sql. Raises OSError."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema.sql")
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def statements_from(version: int) -> list[str]:
    """Return the statements that bring a database of this version, 0 for a new one, to LATEST."""
    if not version:
        return whole().split("\n\n")
    return [statement for number in range(version, LATEST) for statement in STEPS[number + 1]]
