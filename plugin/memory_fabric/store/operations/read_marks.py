"""Where a project's database notes what was read of shared journals: keys of its table `meta`."""

from __future__ import annotations

# Each is followed by the path of a journal: its stamp when it was read, checksums of its lines by
# id, and how many of them could not be read.
STAMP, LINES, UNREADABLE = "shared:", "shared-lines:", "shared-unreadable:"
