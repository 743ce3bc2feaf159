"""Keys under which a project's database notes the shared journals that were read (table `meta`)."""

from __future__ import annotations

# Each is followed by the path of a journal. Values: its stamp when it was read, the checksums of
# its lines by id, and the number of unreadable lines.
STAMP, LINES, UNREADABLE = "shared:", "shared-lines:", "shared-unreadable:"
