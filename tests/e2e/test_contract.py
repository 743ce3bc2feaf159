"""The contract with Claude Code: the pinned release and a newer one keep what was recorded."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from e2e.harness.contract import (
    RECORDED,
    SAID,
    SCHEDULED,
    TYPED,
    Observed,
    additions,
    differences,
    observe,
    recorded_events,
)
from e2e.harness.home import (
    CLIENT_PACKAGES,
    CLIENT_VERSION,
    NEWER_PACKAGES,
    NEWER_VERSION,
    REPOSITORY,
    client_path,
)
from memory_fabric.clients.transcript import any_turn_of
from memory_fabric.store.conversations import prompts

pytestmark = pytest.mark.e2e

RELEASES = {CLIENT_VERSION: CLIENT_PACKAGES, NEWER_VERSION: NEWER_PACKAGES}


@pytest.fixture(scope="module", params=sorted(RELEASES))
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """A release as it was seen; schedules and switches only in the newer one.

    What the pinned one does under each switch: test_client_native.py.
    """
    version = str(request.param)
    folder = tmp_path_factory.mktemp("contract")
    found = observe(client_path(RELEASES[version]), folder, whole=version == NEWER_VERSION)
    assert found.version == version
    return found


def test_the_client_behaves_as_recorded_in_the_contract(seen: Observed) -> None:
    assert differences(seen, recorded_events()) == []


def test_prompts_scheduled_by_the_client_do_not_count_as_typed(seen: Observed) -> None:
    turns = {text: any_turn_of(entry) for text, entry in seen.prompts.items()}

    origins = {text: turn.origin for text, turn in turns.items() if turn is not None}
    expected = {TYPED: prompts.TYPED, SAID: prompts.TYPED}
    if seen.version == NEWER_VERSION:
        expected[SCHEDULED] = prompts.BY_MACHINE
    assert origins == expected


def test_each_deviation_of_a_client_from_the_contract_is_reported(
    seen: Observed, tmp_path: Path
) -> None:
    shutil.copytree(RECORDED, tmp_path / "events")
    for path in tmp_path.rglob("UserPromptSubmit*.json"):
        event = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps({**event, "cwd": 7, "prompt_hash": "x"}), encoding="utf-8")
    broken = Observed(
        seen.version,
        [event for event in seen.events if event["hook_event_name"] != "Stop"],
        {**seen.prompts, TYPED: {**seen.prompts[TYPED], "promptSource": "voice"}},
        {**seen.replies, "SessionStart": False},
        {"none": False, "CLAUDE_CODE_REMOTE=1": True},
    )

    told = "\n".join(differences(broken, recorded_events(tmp_path / "events")))

    assert "Stop: did not come" in told
    assert "UserPromptSubmit: cwd is str, recorded as int" in told
    assert "UserPromptSubmit: prompt_hash is missing, recorded as str" in told
    assert "'promptSource': 'voice'" in told
    assert "reply: SessionStart had no effect" in told
    assert "MEMORY.md: with none it is hidden" in told
    assert "MEMORY.md: with CLAUDE_CODE_REMOTE=1 it is shown" in told
    assert len(told.splitlines()) == 7


def test_new_event_fields_of_a_client_release_are_reported_as_additions(seen: Observed) -> None:
    newer = [{**event, "mood": "calm"} for event in seen.events]

    told = additions(Observed(seen.version, newer), recorded_events())

    assert "Stop: new mood" in told


def test_checking_a_client_release_missing_from_npm_fails_with_a_remedy(tmp_path: Path) -> None:
    offline = {"PATH": "/usr/bin:/bin", "npm_config_offline": "true", "HOME": str(tmp_path)}

    done = subprocess.run(
        [REPOSITORY / "scripts/contract", "0.0.1"], env=offline, capture_output=True, text=True
    )

    assert done.returncode == 1
    assert "no Claude Code 0.0.1" in done.stderr and "npm reaches a registry" in done.stderr
