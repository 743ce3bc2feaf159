"""Claude Code's transcripts beside that of a session, for the offer at the first start."""

from __future__ import annotations

import os
from pathlib import Path

from memory_fabric.clients.claude_code.transcripts import earlier

AT_S = 1_760_000_000


def test_the_sessions_beside_one_are_counted_with_their_oldest_date(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    for name in ("-home-ann-shop/a.jsonl", "-home-ann-shop/b.jsonl", "-home-ann-atlas/c.jsonl"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n", "utf-8")
        os.utime(path, (AT_S, AT_S))
    own = root / "-home-ann-shop" / "a.jsonl"

    assert earlier(str(own)) == (2, "2025-10-09", 30)
    (tmp_path / "settings.json").write_text('{"cleanupPeriodDays": 90}', "utf-8")
    assert earlier(str(own)) == (2, "2025-10-09", 90)


def test_a_transcript_elsewhere_has_none_beside_it(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("{}\n", "utf-8")

    assert earlier(str(tmp_path / "s.jsonl"))[0] == 0
    assert earlier("")[0] == 0
