"""Report on shared logs, for team, status and doctor: ties, what waits, failures."""

from datetime import datetime
from typing import Any

from memory_fabric.cli import show
from memory_fabric.errors import FabricError
from memory_fabric.health.check import Message, TieState, ago
from memory_fabric.sharing.replica import heads, space
from memory_fabric.sharing.replica.space import Counts
from memory_fabric.sharing.team import ties
from memory_fabric.sharing.team.ties import USER, Tie
from memory_fabric.store.memory import Memory
from memory_fabric.text import many

WEEK_S = 7 * 24 * 3600.0


def reports(memory: Memory, now_s: float) -> list["TieReport"]:
    """Return the state of each tie, without asking the server; none without a tie."""
    return [TieReport(memory, tie, now_s) for tie in ties.joined_by(memory)]


class TieReport:
    """The state of a tie as this machine knows it; `counts` are zeros if it cannot be read."""

    def __init__(self, memory: Memory, tie: Tie, now_s: float) -> None:
        self.tie, self._now_s = tie, now_s
        self.state = ties.state_of(memory.settings.home, tie.key)
        self.counts, self._unsent = Counts(), ""
        try:
            self.database = memory.database(tie.kind, create=False)
            if self.database is not None:
                self.counts = space.counts(self.database)
                unsent = heads.where(self.database.connection, "state = 'unsent' LIMIT 1")
                self._unsent = next((head.payload for head in unsent), "") or "no reason is known"
        except FabricError:
            self.database = None

    @property
    def headline(self) -> str:
        """One sentence: the space, the last exchange, what waits."""
        last, oldest = self.state.last_success, self.counts.oldest
        subject = "your own memories" if self.tie.key == USER else "this project"
        exchanged = f"exchanged {ago(last, self._now_s)}" if last else "never exchanged"
        sentence = f"shared log: {subject} in {self.tie.place}, {exchanged}"
        waits = self.counts.due + self.counts.waiting
        if waits:
            sentence += f"; {many(waits, 'change')} to send"
            sentence += f", the oldest {ago(oldest, self._now_s)}" if oldest else ""
        return sentence + "."

    @property
    def trouble_lines(self) -> list[str]:
        """The sentences of `troubles` with their remedies."""
        return [f"{trouble.text} {trouble.remedy}".rstrip() for trouble in self.troubles]

    @property
    def troubles(self) -> list[Message]:
        """What is wrong with the tie, as far as this machine knows."""
        state, numbers, name = self.state, self.counts, self.tie.space
        since = ago(state.since, self._now_s) if state.since else "lately"
        possible = (
            (
                state.cause,
                f"The exchange with {name} fails, first {since}: {state.last_error}",
                state.remedy,
            ),
            (
                numbers.unsent,
                f"The server refuses {many(numbers.unsent, 'change')} of yours: "
                f"{self._unsent.rstrip('.')}.",
                "Change or forget what is in them; they are then sent anew.",
            ),
            (
                numbers.unread,
                f"{many(numbers.unread, 'operation')} of {name} cannot be read here.",
                "Update memory-fabric on this machine, or join with --me and the right words.",
            ),
            (
                numbers.asked,
                f"{many(numbers.asked, 'demand')} of {name} to erase what you said: nothing was "
                "erased.",
                "memory-fabric forget KEY --purge erases it; memory-fabric team decline KEY keeps "
                "it.",
            ),
            (
                numbers.conflicts,
                f"Your machines state {many(numbers.conflicts, 'thing')} differently; the later "
                "state is shown.",
                "A change of it, or forgetting it, settles that.",
            ),
            (state.silent, f"Members who have not read {name} for a week: {state.silent}.", ""),
        )
        return [Message(text, remedy) for is_so, text, remedy in possible if is_so]

    @property
    def for_doctor(self) -> TieState:
        """The same for `doctor`; bad is a tie that has not worked for a week, or never, or needs
        the user.
        """
        last = self.state.last_success
        needs_user = self.counts.unsent or self.counts.asked or self.state.told
        late = self._now_s - datetime.fromisoformat(last).timestamp() > WEEK_S if last else None
        is_bad = bool(needs_user or (self.state.cause if late is None else late))
        return TieState(self.tie.space, self.headline, is_bad, self.troubles)

    def as_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return {
            "scope": "user" if self.tie.key == USER else "team",
            **show.fields(self.tie, "space member me"),
            **show.fields(self.state, "last_success failures last_error remedy"),
            "silent": [name for name in self.state.silent.split(", ") if name],
            **self.counts._asdict(),
            "records": dict(self.counts.records),
        }
