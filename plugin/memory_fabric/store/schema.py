"""The database schema: schema.sql and migration steps. Databases of all released versions must open
without loss (docs/decisions/0061): never edit a released step, and never raise OLDEST.
"""

import os

# The version (PRAGMA user_version) of schema.sql, and the oldest one that can be migrated.
LATEST, OLDEST = 10, 8
# For each version, the statements that migrate a database to it from the previous version.
STEPS: dict[int, tuple[str, ...]] = {
    9: ("ALTER TABLE prompts ADD COLUMN origin TEXT NOT NULL DEFAULT 'typed'",),
    # Renames `used` to `followed` (did the model follow a shown item?); clears the old estimates.
    10: (
        "ALTER TABLE told RENAME COLUMN used TO followed",
        "UPDATE told SET followed = NULL, judged_at = ''",
    ),
}
# The key in `meta` for the name of the team's shared log (space) with which the database syncs.
TEAM_SPACE = "team space"
# SQL conditions for current records (neither ended nor superseded), and for active current records.
CURRENT = "superseded_by = '' AND valid_to = ''"
ACTIVE_CURRENT = f"status = 'active' AND {CURRENT}"
# SQL condition: the entity `e` has neither observations nor relations.
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
