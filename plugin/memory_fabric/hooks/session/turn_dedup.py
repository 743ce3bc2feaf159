"""Detection of copied turns: transcripts of forks and resumed sessions begin with copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.clients.claude_code.transcript import Turn
from memory_fabric.models import ERASED
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store.conversations import sessions
from memory_fabric.store.database import Database
from memory_fabric.text import cut, without_injected

MAX_EPISODE_CHARS = 16 << 10


class OwnedTurn(NamedTuple):
    """A turn, its session, and flags: new to memory, and of the current session.

    A turn of another session may still be new: that one may have been interrupted before it was
    read.
    """

    turn: Turn
    owner: str
    is_new: bool
    is_own: bool


def with_owners(db: Database, turns: Sequence[Turn], session: str) -> list[OwnedTurn]:
    """Return the turns of a session's transcript in their order, each with its session.

    A fork's copies come first: all turns up to the last one that names another session, or that was
    saved for another one, found by its uuid or by its time, role and text.
    """
    keepers = _keepers(db, turns)
    owners = _owners(turns, session)
    foreign = [
        place
        for place, keeper in enumerate(keepers)
        if owners[place] != session or keeper not in ("", session)
    ]
    copied = foreign[-1] + 1 if foreign else 0
    return [
        OwnedTurn(turn, keeper or owner, not keeper, place >= copied)
        for place, (turn, owner, keeper) in enumerate(zip(turns, owners, keepers, strict=True))
    ]


def episode_text(said: str) -> str:
    """Return the part of a turn that an episode holds, redacted before it is cut."""
    return cut(without_secrets(without_injected(said)).strip(), MAX_EPISODE_CHARS)


def _owners(turns: Sequence[Turn], session: str) -> list[str]:
    """Return the session that each turn names; a copied prompt names none and has its answer's."""
    owners: list[str] = []
    later = session
    for turn in reversed(turns):
        named = turn.session or later
        owner = later if turn.role == "user" and named == session else named
        later = named if turn.role == "assistant" else later
        owners.append(owner)
    return owners[::-1]


def _keepers(db: Database, turns: Sequence[Turn]) -> list[str]:
    """Return the session for which each turn was saved before, or ''."""
    said = [turn for turn in turns if turn.uuid and turn.text]
    if not said:
        return [""] * len(turns)
    by_uuid, by_time = sessions.known_turns(db, [(t.uuid, t.role, t.created_at) for t in said])
    if not by_uuid and not by_time:
        return [""] * len(turns)
    # late: it compiles patterns, only needed for saved turns
    from memory_fabric.store.write import cleaned

    keepers = []
    for turn in turns:
        keeper = by_uuid.get(turn.uuid, "")
        kept = () if keeper else by_time.get((turn.role, turn.created_at), ())
        if kept:
            text = cleaned({"text": episode_text(turn.text)})["text"]
            # A copy of a turn still has what was erased from the original.
            same = (one for one, known in kept if known == text or ERASED in known)
            keeper = next(same, "")
        keepers.append(keeper)
    return keepers
