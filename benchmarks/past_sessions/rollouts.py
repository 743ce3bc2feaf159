"""The sessions of past_sessions.transcripts in Codex's form: rollouts as release 0.169 writes them.

The form is that of tests/clients/events/codex/rollout.jsonl: what the user typed and what the
assistant said stand twice, as an item for the model and as an event, between records of the tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from past_sessions.transcripts import Session


class Rollout(Session):
    """Writes the entries of one session in Codex's form."""

    @property
    def path(self) -> str:
        """The path of the rollout below CODEX_HOME."""
        at = self.at.strftime("%Y-%m-%dT%H-%M-%S")
        return f"sessions/{self.at:%Y/%m/%d}/rollout-{at}-{self._session}.jsonl"

    def _head(self) -> Iterator[dict[str, Any]]:
        yield self._line(
            "session_meta",
            session_id=self._session,
            id=self._session,
            timestamp=self._time(),
            cwd=self._place,
            originator="codex_cli_rs",
            cli_version="0.169.0",
            source="cli",
            thread_source="user",
            model_provider="openai",
            base_instructions={"text": self._prose(900)},
        )
        yield self._message("developer", self._prose(600))
        context = f"<environment_context>\n  <cwd>{self._place}</cwd>\n</environment_context>"
        yield self._message("user", context)
        yield self._line("turn_context", cwd=self._place, approval_policy="never", model="gpt-5.5")

    def _user(self, text: str) -> Iterator[dict[str, Any]]:
        yield self._message("user", text)
        item = {"type": "UserMessage", "id": self._uuid()}
        yield self._event("item_completed", item={**item, "content": [_text(text)]})

    def _text(self, text: str) -> Iterator[dict[str, Any]]:
        item = {"type": "AgentMessage", "id": self._uuid(), "content": [_text(text)]}
        yield self._event("item_completed", item=item)
        yield self._message("assistant", text)

    def _end(self, asked: str) -> Iterator[dict[str, Any]]:
        yield self._event("token_count", info={"total_token_usage": {"total_tokens": 15}})
        yield self._event("task_complete", duration_ms=6023)

    def _tool(
        self, name: str, given: dict[str, Any], output: str, *, failed: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield a call and its output: an edit is a patch, all else a command."""
        call, code = f"call_{self._dice.getrandbits(60):015x}", int(failed)
        told = f"Wall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{output}\n"
        if name == "Edit":
            patch = f"*** Begin Patch\n*** Update File: {given['file_path']}\n@@\n-a\n+b\n"
            patch += "*** End Patch\n"
            kind = "custom_tool_call"
            yield self._line(
                "response_item", type=kind, name="apply_patch", input=patch, call_id=call
            )
        else:
            kind = "function_call"
            command = given.get("command") or f"cat {given.get('file_path', self._place)}"
            given = {"cmd": command, "workdir": self._place}
            yield self._line(
                "response_item",
                type=kind,
                name="exec_command",
                arguments=json.dumps(given),
                call_id=call,
            )
            item = {"type": "CommandExecution", "id": call, "aggregated_output": output}
            yield self._event("item_completed", item={**item, "exit_code": code})
        yield self._line("response_item", type=f"{kind}_output", call_id=call, output=told)

    def _message(self, role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        return self._line(
            "response_item",
            type="message",
            id=f"msg_{self._uuid()}",
            role=role,
            content=[{"type": kind, "text": text}],
        )

    def _event(self, kind: str, **more: Any) -> dict[str, Any]:
        return self._line("event_msg", type=kind, **more)

    def _line(self, kind: str, /, **payload: Any) -> dict[str, Any]:
        return {"timestamp": self._time(), "type": kind, "payload": payload}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "text_elements": []}
