"""Rewrite tests/replies from the hooks' replies of today; read the difference afterwards.

PYTHONPATH=plugin:tests python -m replay.write_replies
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from replay.hook_runner import recordings
from replay.replies import REPLIES, World, replayed


def main() -> None:
    """One file for every recording."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for path in recordings():
            text = json.dumps(replayed(path, world), indent=1, ensure_ascii=False)
            (REPLIES / path.name).write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
