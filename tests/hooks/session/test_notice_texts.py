"""Notices say what is so."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap

import pytest

from memory_fabric.capture.notes.debt import Debt
from memory_fabric.config import TIES, read_settings
from memory_fabric.hooks.session import notice_texts
from memory_fabric.models import QUOTATION, Record


@pytest.mark.parametrize("tied", [False, True])
def test_the_welcome_claims_local_storage_only_if_no_space_is_linked(
    tmp_path: Path, *, tied: bool
) -> None:
    settings = read_settings({"MEMORY_FABRIC_HOME": str(tmp_path)}, {})
    if tied:
        (tmp_path / TIES).write_text("{}", "utf-8")

    text = notice_texts.welcome(settings, {})

    assert "on this machine" in text
    assert ("on this machine only" in text) is not tied


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_the_welcome_has_at_most_three_lines_and_contains_no_path(
    tmp_path: Path, client: str
) -> None:
    environ = {"MEMORY_FABRIC_HOME": str(tmp_path), "MEMORY_FABRIC_CLIENT": client}
    settings = read_settings({**environ, "CLAUDE_PLUGIN_ROOT": str(tmp_path)}, {})

    text = notice_texts.welcome(settings, {"Claude Code": 113})

    assert len(wrap(text, 80)) <= 3
    assert str(tmp_path) not in text and "113 earlier sessions of Claude Code" in text


@pytest.mark.parametrize("trust", ["user", "assistant"])
def test_a_question_about_contradictory_records_shows_the_quoted_words(
    tmp_path: Path, trust: str
) -> None:
    settings = read_settings({"MEMORY_FABRIC_HOME": str(tmp_path)}, {})
    quoted = {QUOTATION: "never deploy on a friday"}
    new = Record("constraint", "No deploys on Fridays", id="1" * 8, trust=trust, evidence=quoted)
    old = Record("constraint", "Deploy daily", id="2" * 8, trust="assistant")

    text = notice_texts.waiting(Debt(asked=((new, old),)), settings)

    assert "never deploy on a friday" in text and "Deploy daily" in text
