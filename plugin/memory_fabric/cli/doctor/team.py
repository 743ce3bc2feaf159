"""Shared logs: the last exchange of each tie, and what needs the user."""

from __future__ import annotations

from memory_fabric.cli import team_report
from memory_fabric.cli.doctor.finding import OK, WARNING, Check, Sight


def shared_log(sight: Sight) -> Check:
    """Report when the ties of this project and the user last worked, and what failed since."""
    name = "shared log"
    known = team_report.ties_here(sight.memory)
    if not known:
        return Check(name, OK, "none: nothing is exchanged with a team")
    wrong = [tie for tie in known if team_report.is_bad(sight.memory, tie, sight.now_s)]
    told = [
        trouble for tie in wrong for trouble in team_report.troubles(sight.memory, tie, sight.now_s)
    ]
    if wrong:
        texts = [trouble.text for trouble in told] or [
            f"{tie.space} was not exchanged for a week." for tie in wrong
        ]
        remedies = dict.fromkeys(trouble.remedy for trouble in told if trouble.remedy)
        remedy = " ".join(remedies) or "Run memory-fabric team sync."
        return Check(name, WARNING, " ".join(texts), remedy)
    lines = [team_report.headline(sight.memory, tie, sight.now_s) for tie in known]
    return Check(name, OK, " ".join(lines))
