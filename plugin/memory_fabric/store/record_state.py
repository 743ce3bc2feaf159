"""SQL conditions on the state of records, on the columns of their table."""

from __future__ import annotations

# Records that have not ended and were not replaced, and of these the active ones.
CURRENT = "superseded_by = '' AND valid_to = ''"
ACTIVE_CURRENT = f"status = 'active' AND {CURRENT}"
