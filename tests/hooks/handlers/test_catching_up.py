"""Sessions that broke off are read at the next start."""

from __future__ import annotations

import os
from pathlib import Path

from hook_transcripts import DECISION, FOUND, age, episodes, row, stop
from memory_fabric.hooks.handlers import context_loader
from simulated_client import SimulatedClient


class TestCatchUp:
    def test_an_interrupted_session_is_read_and_marked_ended(self, client: SimulatedClient) -> None:
        client.fire("UserPromptSubmit", prompt="Look at the pool")
        client.say("assistant", FOUND)
        age(client, client.transcript)
        client.fire("SessionStart", "session-2", source="startup", transcript_path="")

        assert [r.session for r in client.records()] == ["session-1"]
        assert row(client, "session-1")[1] != ""

    def test_each_interrupted_session_is_read_only_once(self, client: SimulatedClient) -> None:
        for n in range(5):
            client.transcript = client.transcript.with_name(f"t{n}.jsonl")
            client.fire("UserPromptSubmit", f"broken-{n}", prompt="Look at the pool")
            client.say("assistant", f"We looked at part {n}.", session=f"broken-{n}")
            age(client, client.transcript)
        for n in range(3):
            client.fire("SessionStart", f"new-{n}", source="startup", transcript_path="")

        assert sorted(s for s, _ in episodes(client)) == [f"broken-{n}" for n in range(5)]
        assert all(row(client, f"broken-{n}")[1] for n in range(5))

    def test_a_session_without_a_transcript_is_marked_ended(self, client: SimulatedClient) -> None:
        client.say("assistant", "A first file.")
        stop(client)
        client.transcript.unlink()
        age(client, client.transcript)
        client.fire("SessionStart", "session-2", source="startup", transcript_path="")

        assert row(client, "session-1")[1] != ""
        assert "transcript" not in client.log

    def test_a_moved_transcript_is_found_beside_the_transcript_of_the_new_session(
        self, client: SimulatedClient, tmp_path: Path
    ) -> None:
        client.fire("UserPromptSubmit", prompt="Look at the pool")
        client.say("assistant", FOUND)
        age(client, client.transcript)
        (tmp_path / "moved").mkdir()
        client.transcript.rename(tmp_path / "moved" / client.transcript.name)
        beside = str(tmp_path / "moved" / "session-2.jsonl")
        client.fire("SessionStart", "session-2", source="startup", transcript_path=beside)

        assert [text for _, text in episodes(client)] == [FOUND]

    def test_a_session_whose_transcript_grows_counts_as_running(
        self, client: SimulatedClient
    ) -> None:
        client.fire("UserPromptSubmit", prompt="Look at the pool")
        client.say("assistant", FOUND)
        age(client, client.transcript)
        os.utime(client.transcript)
        client.fire("SessionStart", "session-2", source="startup", transcript_path="")

        assert episodes(client) == []
        assert row(client, "session-1")[1] == ""

    def test_a_resumed_session_is_marked_ended_again_only_after_a_longer_pause(
        self, client: SimulatedClient
    ) -> None:
        client.fire("UserPromptSubmit", prompt="Look at the pool")
        client.say("assistant", FOUND)
        age(client, client.transcript)
        client.fire("SessionStart", "session-2", source="startup", transcript_path="")
        assert row(client, "session-1")[1] != ""
        client.say("assistant", "I went on after lunch.")
        stop(client)
        assert row(client, "session-1")[1] == ""
        age(client, client.transcript)
        client.fire("SessionStart", "session-3", source="startup", transcript_path="")
        assert row(client, "session-1")[1] == ""
        age(client, client.transcript, 2 * context_loader.REVIVED_UNSEEN_FOR_S)
        client.fire("SessionStart", "session-4", source="startup", transcript_path="")

        assert row(client, "session-1")[1] != ""
        assert [text for _, text in episodes(client)] == [FOUND, "I went on after lunch."]

    def test_a_session_whose_transcript_ends_in_an_incomplete_line_is_marked_ended(
        self, client: SimulatedClient
    ) -> None:
        client.fire("UserPromptSubmit", prompt="Look at the pool")
        client.say("assistant", FOUND)
        with client.transcript.open("ab") as file:
            file.write(b'{"type": "assist')
        age(client, client.transcript)
        for n in range(2):
            client.fire("SessionStart", f"new-{n}", source="startup", transcript_path="")

        assert row(client, "session-1")[1] != ""

    def test_messages_unread_at_session_end_are_read_later(self, client: SimulatedClient) -> None:
        for n in range(12):
            client.say("assistant", f"Part {n}. " + "We looked at the importer. " * 300)
        client.fire("SessionEnd", reason="other")
        assert row(client, "session-1")[1] == ""
        age(client, client.transcript)
        for n in range(8):
            client.fire("SessionStart", f"new-{n}", source="startup", transcript_path="")

        assert row(client, "session-1")[1] != ""
        assert len(episodes(client)) == 12

    def test_prompts_of_an_unattended_session_have_the_assistants_trust(
        self, client: SimulatedClient
    ) -> None:
        client.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
        client.fire("UserPromptSubmit", prompt="Look at the pool")
        client.say("user", DECISION)
        client.say("assistant", f'Noted decision: {DECISION}. From: "{DECISION}"')
        age(client, client.transcript)
        client.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "1"
        client.fire("SessionStart", "session-2", source="startup", transcript_path="")

        assert [r.trust for r in client.records() if r.type == "decision"] == ["assistant"]

    def test_a_session_start_in_ci_does_not_read_interrupted_sessions(
        self, client: SimulatedClient
    ) -> None:
        client.fire("UserPromptSubmit", prompt="Look at the pool")
        client.say("assistant", FOUND)
        age(client, client.transcript)
        client.environ["CI"] = "true"
        client.fire("SessionStart", "session-2", source="startup", transcript_path="")
        assert row(client, "session-1")[0] == 0
        del client.environ["CI"]
        client.fire("SessionStart", "session-3", source="startup", transcript_path="")

        assert [text for _, text in episodes(client)] == [FOUND]

    def test_a_resumed_session_is_read_from_its_saved_offset(self, client: SimulatedClient) -> None:
        client.say("assistant", FOUND)
        client.fire("SessionEnd", reason="other")
        client.fire("SessionStart", source="resume")
        client.say("assistant", "I went on the next day.")
        stop(client)

        assert row(client, "session-1")[1] == ""
        assert [text for _, text in episodes(client)] == [FOUND, "I went on the next day."]
        assert "transcript" not in client.log
