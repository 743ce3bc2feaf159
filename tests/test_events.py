"""The light reader of events, held against its specification in pydantic."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import events_spec
from memory_fabric import events
from memory_fabric.errors import BadInput
from memory_fabric.events import Event, parse_event
from memory_fabric.hooks.table import HANDLERS

# Other work on the machine must not fail a law.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
RECORDED = sorted((Path(__file__).parent / "events").rglob("*.json"))

# The readers of fields that `Event.text` does not read.
READERS: dict[str, Callable[[Event], Any]] = {
    "hook_event_name": lambda e: e.name,
    "session_id": lambda e: e.session,
    "transcript_path": lambda e: e.transcript_path,
    "cwd": lambda e: e.cwd,
    "prompt_id": lambda e: e.prompt_id,
    "agent_id": lambda e: e.agent_id,
    "agent_type": lambda e: e.agent_type,
    "prompt": events.prompt,
    "tool_input": events.tool_input,
    "stop_hook_active": events.stop_active,
    "mcp_server": events.mcp_server,
}

# Fields that the client sends and no handler asks for.
UNREAD = frozenset(("tool_response", "agent_transcript_path", "trigger"))

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
SPECIFIED = {name for model in events_spec.MODELS.values() for name in model.model_fields}
FIELD_NAMES = [*sorted(SPECIFIED), "effort", "background_tasks"]
RAW_EVENTS = st.builds(
    lambda name, fields: {**fields, "hook_event_name": name},
    st.sampled_from([*HANDLERS, "LaterEvent", "Setup"]),
    st.dictionaries(st.sampled_from(FIELD_NAMES), st.text() | JSON_VALUES),
)


def of(name: str, **fields: Any) -> Event:
    return parse_event(json.dumps({"hook_event_name": name, **fields}).encode())


def assert_readers_agree(data: bytes) -> None:
    light, specified = parse_event(data), events_spec.read_event(data)
    for field in type(specified).model_fields:
        expected = getattr(specified, field)
        if field not in UNREAD:
            value = READERS[field](light) if field in READERS else light.text(field)
            assert value == getattr(expected, "name", expected), field


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.stem)
def test_every_recorded_event_is_parsed_as_its_specification_requires(path: Path) -> None:
    assert_readers_agree(path.read_bytes())


@PATIENT
@given(RAW_EVENTS)
def test_both_readers_agree_on_any_event(raw: dict[str, Any]) -> None:
    assert_readers_agree(json.dumps(raw).encode())


@PATIENT
@given(st.binary(max_size=200))
def test_any_bytes_are_an_event_for_both_readers_or_for_none(data: bytes) -> None:
    try:
        parse_event(data)
    except BadInput:
        with pytest.raises((ValidationError, ValueError)):
            events_spec.read_event(data)
    else:
        events_spec.read_event(data)


def test_every_specified_event_is_handled_and_every_handled_event_has_a_recorded_example() -> None:
    recorded = {json.loads(p.read_bytes())["hook_event_name"] for p in RECORDED}
    assert set(events_spec.MODELS) <= set(HANDLERS) <= recorded


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"   \n",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"{}",
        b'{"hook_event_name": ""}',
        b'{"hook_event_name": 7}',
        b'{"hook_event_name": "Stop"} trailing',
        b"[" * 200_000,
        b'{"hook_event_name": "Stop", "n": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda d: repr(d[:24]),
)
def test_input_that_is_not_an_event_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput):
        parse_event(data)


def test_a_byte_order_mark_and_invalid_utf_8_are_tolerated_in_an_event() -> None:
    event = parse_event(b'\xef\xbb\xbf{"hook_event_name": "UserPromptSubmit", "prompt": "a\xffb"}')
    assert events.prompt(event) == "a�b"


def test_lone_surrogates_in_the_keys_and_values_of_an_event_are_replaced() -> None:
    data = (
        rb'{"hook_event_name": "PreToolUse", "tool_input": {"\ud800": ["x\uDFFF", "\ud83d\ude00"]}}'
    )
    event = parse_event(data)
    assert events.tool_input(event) == {"?": ["x?", "😀"]}


def test_a_long_prompt_is_truncated_to_the_maximum_length() -> None:
    event = of("UserPromptSubmit", prompt="é" * 100_000)
    assert len(events.prompt(event)) == events.MAX_PROMPT_CHARS


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("/probe:probe-skill", True),
        ("/probe:probe-skill arg one", True),
        ("  /compact\nkeep this", True),
        ("/home/user/project does not build", False),
        ("/ is the root", False),
        ("/", False),
        ("", False),
        ("// a comment", False),
        ("use /compact", False),
    ],
)
def test_a_prompt_is_a_typed_command_if_it_starts_with_a_slash_and_a_name(
    prompt: str, expected: bool
) -> None:
    assert events.is_typed_command(of("UserPromptSubmit", prompt=prompt)) is expected


def test_prompts_written_by_the_client_are_distinguished_from_typed_prompts() -> None:
    recorded = Path(__file__).parent / "events/variants/UserPromptSubmit.task_notification.json"
    assert events.is_machine_turn(parse_event(recorded.read_bytes()))
    assert not events.is_machine_turn(of("UserPromptSubmit", prompt="what is <task-notification>?"))


@pytest.mark.parametrize(
    ("text", "is_machine"),
    [
        ("<tick>", True),
        (" \n<TICK> 3", True),
        ("<tick a='b'>", True),
        ("<ticker>", False),
        ("<command-name>/x</command-name>", True),
        ("<commander>", False),
        ("<", False),
        ("", False),
        ("Another Claude session sent a message: hello", True),
        ("He said: another Claude session sent a message", False),
    ],
)
def test_a_text_that_begins_with_a_tag_of_the_client_is_not_typed(
    text: str, is_machine: bool
) -> None:
    assert events.is_machine_text(text) is is_machine
    assert events.is_machine_turn(of("UserPromptSubmit", prompt=text)) is is_machine


def test_a_prompt_from_an_automatic_source_is_not_typed() -> None:
    sources = ("", "user", "sdk", "cron")
    prompts = [of("UserPromptSubmit", prompt="x", source=source) for source in sources]

    assert [events.is_machine_turn(prompt) for prompt in prompts] == [False, False, False, True]


def test_answers_of_the_user_are_divided_into_chosen_labels_and_typed_texts() -> None:
    labels = [{"label": "Redis"}, {"label": "Redis, with TLS"}, {"label": ""}]
    asked = {
        "questions": [{"question": "Which?", "options": labels}],
        "answers": {"Which?": "Redis, with TLS, Redis, and a backup", "Free?": "only at night"},
        "annotations": {"Which?": {"notes": "soon"}, "Free?": {"notes": ""}},
        "response": "thanks",
    }

    assert events.answers_in(asked) == (
        ["Redis, with TLS", "Redis"],
        ["and a backup", "only at night", "soon", "thanks"],
    )
    assert events.answers_in({"answers": {"Free?": "at night"}}) == (["at night"], [])
    assert events.answers_in({"answers": ["x"], "questions": "x"}) == ([], [])
    assert events.answers_in("words") == ([], [])


def test_prompts_that_the_assistant_scheduled_are_read_from_an_event() -> None:
    crons = [{"prompt": "check the build"}, "noise", {"prompt": 3}]

    assert events.scheduled_prompts(of("Stop", session_crons=crons)) == ["check the build", ""]
    assert events.scheduled_prompts(of("Stop")) == []
    assert events.scheduled_prompts(of("Stop", session_crons=3)) == []


def test_the_mcp_server_of_a_tool_is_empty_if_the_tool_is_built_in() -> None:
    folder = Path(__file__).parent / "events/variants"
    ours = parse_event((folder / "PostToolUse.mcp_recall.json").read_bytes())
    builtin = parse_event((folder / "PostToolUse.Bash.json").read_bytes())
    assert events.mcp_server(ours) == "plugin:probe:fabric"
    assert events.mcp_server(builtin) == ""
