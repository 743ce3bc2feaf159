"""The sessions from before memory was on, for the offer at the first start."""

from __future__ import annotations

from pathlib import Path

from memory_fabric.clients.transcripts import earlier
from memory_fabric.config import transcript_roots


def write(home: Path, name: str, text: str = "{}\n") -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_past_sessions_are_counted_separately_for_each_client(tmp_path: Path) -> None:
    roots = transcript_roots({"HOME": str(tmp_path)})
    own = write(tmp_path, ".claude/projects/-home-ann-shop/a.jsonl")
    assert earlier(roots, {str(own)}) == {}
    write(tmp_path, ".claude/projects/-home-ann-shop/b.jsonl")
    write(tmp_path, ".claude/projects/-home-ann-atlas/c.jsonl")
    write(tmp_path, ".claude/projects/-home-ann-atlas/empty.jsonl", "")
    write(tmp_path, ".codex/sessions/2025/10/09/rollout-2025-10-09T08-00-00-1.jsonl")

    assert earlier(roots, {str(own)}) == {"Claude Code": 2, "Codex": 1}
