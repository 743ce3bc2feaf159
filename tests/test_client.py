"""The client whose hook runs, by what its events and its environment have."""

from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.client import VARIABLE, key_of


@pytest.mark.parametrize(
    ("environ", "event", "key"),
    [
        ({}, {}, "claude-code"),
        ({VARIABLE: "cursor", "QWEN_PROJECT_DIR": "/p"}, {"turn_id": 1, "model": "x"}, "cursor"),
        ({}, {"turn_id": "1", "model": "x"}, "codex"),
        ({}, {"turn_id": "1"}, "claude-code"),
        ({}, {"model": "x"}, "claude-code"),
        ({}, {"cursor_version": "1", "conversation_id": "2"}, "cursor"),
        ({}, {"transcript_path": "/h/rollout-1.jsonl"}, "codex"),
        ({}, {"transcript_path": "C:\\h\\rollout-1.jsonl"}, "codex"),
        ({}, {"transcript_path": "/rollout-1/s.jsonl"}, "claude-code"),
        ({}, {"transcript_path": 3}, "claude-code"),
        ({"QWEN_PROJECT_DIR": "/p", "GEMINI_PROJECT_DIR": "/p"}, {}, "qwen"),
        ({"GEMINI_PROJECT_DIR": "/p"}, {}, "gemini"),
        ({"GEMINI_PROJECT_DIR": "/p", "CLAUDE_CODE_ENTRYPOINT": ""}, {}, "claude-code"),
        ({"GEMINI_PROJECT_DIR": "/p"}, {"turn_id": "1", "model": "x"}, "codex"),
    ],
)
def test_a_client_is_recognised_by_its_variable_its_fields_or_its_transcript(
    environ: dict[str, str], event: dict[str, Any], key: str
) -> None:
    assert key_of(environ, event) == key
