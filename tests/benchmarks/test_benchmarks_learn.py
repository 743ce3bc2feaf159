"""The benchmark of reading past sessions in, in a small size: what it reports, it has seen."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import learn
from past_sessions.transcripts import PROJECTS


def test_all_past_sessions_are_imported_while_another_session_is_running(tmp_path: Path) -> None:
    found = learn.measure(str(tmp_path), 12, 3)

    assert [one["name"] for one in found.made] == sorted(
        PROJECTS, key=[one["name"] for one in found.made].index
    )
    assert sum(one["sessions"] for one in found.made) == 12
    assert found.known == len(PROJECTS)
    assert found.live.seconds and not found.live.refused
    assert len(learn.report(found)) == 4
