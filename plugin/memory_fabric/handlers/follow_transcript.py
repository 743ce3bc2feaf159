"""The new part of a session's transcript, remembered: records, solved problems, episodes.

Work is proportional to what was added since the last time; reading a turn twice stores it once.
"""

from __future__ import annotations

import os

from memory_fabric.fabric import incidents, remember
from memory_fabric.handlers.work_in_hand import CHANGING_TOOLS
from memory_fabric.models import Provenance
from memory_fabric.store import sessions
from memory_fabric.text import cut, without_injected
from memory_fabric.transcript import read_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.fabric.core import Fabric
    from memory_fabric.models import Record
    from memory_fabric.store.memory import Memory
    from memory_fabric.transcript import Turn

MAX_EPISODE_CHARS = 16 << 10
# One reading of a hook; a longer rest is read by the hooks that follow.
MAX_NEW_BYTES = 8 << 20


def follow(fabric: Fabric, session: str, path: str, max_bytes: int = MAX_NEW_BYTES) -> list[Record]:
    """Remember what the transcript has gained; returns the records that are new.

    The offset moves only after everything read was stored or queued.
    """
    database = fabric.memory.session_database()
    sessions.touch(database, session, fabric.now, path)
    offset = int(sessions.field(database, session, "offset") or 0)
    turns, end, bad = read_turns(path, offset, max_bytes)
    if bad:
        fabric.memory.fail(f"transcript {path}: {bad} lines could not be read")
    new = _remember(fabric.memory, session, turns)
    if end != offset:
        sessions.set_fields(database, session, offset=end)
    return new


def speak(
    memory: Memory, session: str, role: str, text: str, *, source: str = "", said_at: str = ""
) -> list[Record]:
    """Remember one text of the session's main dialogue; returns the records that are new."""
    trust = remember.trust_for(memory.settings, role)
    if not trust or not text.strip():
        return []
    default = "prompt" if role == "user" else "assistant"
    by = Provenance(source or default, trust=trust, session=session)
    return remember.remember_text(memory, text, role, by, said_at)


def _remember(memory: Memory, session: str, turns: Sequence[Turn]) -> list[Record]:
    trust = remember.trust_for(memory.settings, "assistant")
    if not trust:
        return []
    new = []
    for turn in turns:
        new += speak(memory, session, turn.role, turn.text, said_at=turn.created_at)
    by = Provenance("assistant", trust="assistant", session=session)
    new += remember.store(memory, incidents.solved(_steps(turns)), by)
    _keep_episodes(memory, session, turns, by)
    return new


def _keep_episodes(memory: Memory, session: str, turns: Sequence[Turn], by: Provenance) -> None:
    if not memory.settings.episodes_keep_days:
        return
    episodes = [
        {
            "id": turn.uuid,
            "session": session,
            "role": turn.role,
            "text": text,
            "place": turn.cwd,
            "created_at": turn.created_at,
        }
        for turn in turns
        if turn.uuid and (text := cut(without_injected(turn.text).strip(), MAX_EPISODE_CHARS))
    ]
    if episodes:
        memory.write("add_episodes", {"episodes": episodes}, by)


def _steps(turns: Sequence[Turn]) -> list[incidents.Step]:
    """Commands with their outcomes, and changed files, in order."""
    commands: dict[str, str] = {}
    steps: list[incidents.Step] = []
    for turn in turns:
        for tool in turn.tools:
            if tool.name == "Bash":
                commands[tool.id] = str(tool.input.get("command", ""))
            elif tool.name in CHANGING_TOOLS:
                path = str(tool.input.get(CHANGING_TOOLS[tool.name], ""))
                steps.append(incidents.Step(changed_file=_relative(path, turn.cwd)))
        for result in turn.results:
            command = commands.get(result.tool_use_id, "")
            if command:
                steps.append(
                    incidents.Step(command=command, failed=result.is_error, output=result.text)
                )
    return steps


def _relative(path: str, place: str) -> str:
    inside = bool(place) and path.startswith(place.rstrip(os.sep) + os.sep)
    return path[len(place.rstrip(os.sep)) + 1 :] if inside else path
