"""The bound rules of a memory, and those of them that apply to a tool call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.models import QUOTATION, WHEN, Record
from memory_fabric.rules import matching, programs
from memory_fabric.rules.bindings import COMMAND, Binding, bindings_of
from memory_fabric.rules.matching import Action
from memory_fabric.store import launch_marks
from memory_fabric.store.conditions import OF_SESSION
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import identity
from memory_fabric.text import words as words_of

MAX_RULES = 500
_HELD = launch_marks.KINDS[launch_marks.RULES]


class BoundRule(NamedTuple):
    """A record with what it is bound to; `bindings` are empty if nothing in `When:` binds."""

    record: Record
    bindings: tuple[Binding, ...]


class Applied(NamedTuple):
    """A rule that applies to a call: the binding, and the command or path that it means.

    `is_final` is True if the call pushes, deploys, publishes or deletes.
    """

    record: Record
    binding: Binding
    part: str
    is_final: bool = False


def load(memory: Memory) -> list[BoundRule]:
    """Return the rules with `When:` of this project and its user, newest first.

    Local ones are those of this session.
    """
    return _found(memory, f"{_HELD} AND {OF_SESSION}", (memory.settings.session,))


def load_all(memory: Memory) -> list[BoundRule]:
    """Return the rules with `When:` of all sessions, newest first; MAX_RULES need not be all."""
    return _found(memory, _HELD)


def _found(memory: Memory, where: str, values: tuple[str, ...] = ()) -> list[BoundRule]:
    found = memory.find_records(where, values, MAX_RULES)
    return [BoundRule(r, bindings_of(str(r.evidence.get(WHEN) or ""))) for r in found]


def roots_of(memory: Memory) -> tuple[str, ...]:
    """Return the folders from which relative paths of rules count, with and without links.

    They are the project's root, the launch folder and the top of its worktree.
    """
    launched = memory.settings.project_dir
    stated = [memory.project.root if memory.project else "", launched]
    stated += [identity.worktree_of(launched)] if launched else []
    both = [form for root in stated if root for form in (root, os.path.realpath(root))]
    return tuple(dict.fromkeys(both))


def applying(rules: Sequence[BoundRule], action: Action, roots: Sequence[str]) -> list[Applied]:
    """Return the rules that mean a call, each by its first binding that does."""
    found = []
    for rule in rules:
        for binding in rule.bindings:
            part, is_final = matching.matched(binding, action, roots)
            part = part or _by_another(rule, binding, action, roots)
            if part:
                found.append(Applied(rule.record, binding, part, is_final))
                break
    return found


def _by_another(rule: BoundRule, binding: Binding, action: Action, roots: Sequence[str]) -> str:
    """Return the call that runs the bound script by another package manager; '' if none does.

    A rule that names package managers beside its command is about these, not about the script.
    """
    if binding.kind != COMMAND or programs.as_script(binding.words) is None:
        return ""
    for call in action.calls:
        if call.words and matching.is_by_another_manager(binding, call, roots):
            return "" if _names_manager(rule.record, binding) else " ".join(call.words)
    return ""


def _names_manager(record: Record, binding: Binding) -> bool:
    stated = (record.what, record.why, *record.alternatives, str(record.evidence.get(QUOTATION)))
    text = " ".join(stated).lower().replace(binding.text.lower(), " ")
    return not set(programs.MANAGERS).isdisjoint(words_of(text))
