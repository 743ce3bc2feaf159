"""project: show, list, link and split projects."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_fabric.cli import environment, option_values, progress, show
from memory_fabric.cli.option_values import PROJECT_ACTIONS
from memory_fabric.config import in_client
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import link
from memory_fabric.store.projects.link import KnownProject, Plan
from memory_fabric.text import cut

if TYPE_CHECKING:
    from memory_fabric.sharing.git.adoption import Missing


MAX_SHOWN, MAX_CHARS = 10, 100


def project(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[list|link|split|undo|adopt]",
            help="list: all projects. link: assign this folder to another one. split: give it "
            "one of "
            "its own. undo: undo the last link or split. adopt: confirm that the journal in this "
            "folder is yours. By default: show the project of this folder.",
            autocompletion=option_values.project_actions,
        ),
    ] = "",
    wanted: Annotated[
        str,
        typer.Argument(
            metavar="[KEY-OR-PATH]",
            help="With link: its id, a key, a folder or its name; by default the project that this "
            "folder claims to belong to. With adopt: the author's name in the journal, if it is "
            "not yours.",
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON, without asking.")
    ] = False,
) -> int:
    """Show or change which project this folder belongs to.

    link, split and undo show what would change and ask. If this folder is the last one of the
    project that it leaves by link, the memories of that project are copied; split copies nothing.
    adopt restores the records that are in decisions.jsonl of this folder but not in memory, after
    the loss of the home. Only you can run these four: in a shell that Claude Code started they
    change nothing; type /memory-fabric:project there.
    """
    if action not in ("", *PROJECT_ACTIONS):
        raise BadInput(
            "ACTION", f"There is no action {action!r}.", remedy=f"Use {', '.join(PROJECT_ACTIONS)}."
        )
    if wanted and action not in ("link", "adopt"):
        raise BadInput(
            "KEY-OR-PATH",
            "Only link takes a project, and only adopt an author.",
            remedy="memory-fabric project list shows ids, keys and folders.",
        )
    with environment.open_memory() as memory:
        if action == "list":
            return _list(memory, as_json)
        if action == "adopt":
            return _adopt(memory, wanted, yes, as_json)
        if action:
            return _change(memory, action, wanted, yes, as_json)
        return _show_current(memory, as_json)


def _show_current(memory: Memory, as_json: bool) -> int:
    from memory_fabric.sharing.git import adoption

    found = memory.project
    if found is None:
        raise NotFound("project", "This folder has no project; the user's memory is used.")
    if as_json:
        show.json_out({**found._asdict(), "database": memory.path_of("project")})
        return 0
    show.facts(
        (
            ("name", found.name),
            ("id", found.id),
            ("folder", found.root),
            ("database", memory.path_of("project")),
            ("journal", found.local),
            ("keys", "\n".join(found.keys)),
        )
    )
    asked = link.pending_question(memory)
    if asked:
        show.warn(asked)
    elif found.others:
        show.warn(
            f"some of its keys belong to {', '.join(found.others)}: choose with memory-fabric "
            f"project link {found.others[0]} or {found.id}."
        )
    lacking = adoption.missing(memory)
    if lacking is not None:
        show.warn(adoption.notice_text(lacking))
    return 0


def _list(memory: Memory, as_json: bool) -> int:
    known = link.list_projects(memory.settings.home)
    own = memory.project.id if memory.project else ""
    if as_json:
        show.json_out([_as_json(one) | {"here": one.id == own} for one in known])
    elif known:
        columns = ("", "name", "id", "records", "entities", "size", "folders")
        show.table(columns, [("*" if one.id == own else "", *_row(one)) for one in known])
        for one in known:
            if one.asked:
                where = ", ".join(one.folders)
                show.line(
                    f"{where} claims to belong to another project: run memory-fabric project there."
                )
    else:
        show.line("No project is known yet.")
    return 0 if known else 3


def _change(memory: Memory, action: str, wanted: str, yes: bool, as_json: bool) -> int:
    plan = link.plan(memory, action, wanted)
    if not as_json:
        _show(plan)
    if not yes and as_json:
        show.json_out(_plan_as_json(plan) | {"done": False})
        return 0
    _require_user(action, wanted)
    if not show.confirmed(_question(plan), yes):
        raise typer.Abort
    with progress.bar("Copying memories", quiet=as_json) as tell:
        copied = link.carry_out(memory, plan, environment.provenance(), tell)
    undo = "" if action == "undo" else "memory-fabric project undo"
    if as_json:
        show.json_out(_plan_as_json(plan) | {"done": True, "came": copied, "undo": undo})
        return 0
    back = f" {undo} reverts it." if undo else ""
    show.line(f"This folder belongs to {plan.new.name} ({plan.new.id}) now.{back}")
    for failure in memory.failures:
        show.warn(failure)
    return 0


def _adopt(memory: Memory, author: str, yes: bool, as_json: bool) -> int:
    from memory_fabric.sharing.git import adoption

    found = adoption.missing(memory, author)
    if found is None:
        raise NotFound("journal", "Memory has all records of the journal in this folder already.")
    if not as_json:
        _show_lines(found)
    if not found.lines or (as_json and not yes):
        if as_json:
            show.json_out(_missing_as_json(found) | {"done": False})
        return 0 if found.lines else 3
    _require_user("adopt", author)
    if not show.confirmed("Are they yours?", yes):
        raise typer.Abort
    with progress.bar("Restoring records", quiet=as_json) as tell:
        copied = adoption.adopt(memory, found, environment.provenance(), tell)
    memory.flush()
    if as_json:
        show.json_out(_missing_as_json(found) | {"done": True, "came": copied})
        return 0
    show.line(f"{copied} records were restored. memory-fabric undo removes them again.")
    for failure in memory.failures:
        show.warn(failure)
    return 0


def _show_lines(found: Missing) -> None:
    first, last = found.span
    if found.lines:
        count = len(found.lines)
        show.line(f"{found.path}: {count} records that are not in memory, {first} to {last}.")
    for line in found.lines[:MAX_SHOWN]:
        show.line(f"  {str(line.get('created_at', ''))[:10]} {cut(str(line['what']), MAX_CHARS)}")
    for name, count in found.others.items():
        show.line(f"{count} are by {name or 'an unnamed author'}; they are left alone.")


def _missing_as_json(found: Missing) -> dict[str, Any]:
    first, last = found.span
    return {
        "action": "adopt",
        "journal": found.path,
        "records": len(found.lines),
        "first": first,
        "last": last,
        "proved": found.proved,
        "others": dict(found.others),
    }


def _require_user(action: str, wanted: str) -> None:
    """Raise BadInput in a shell of Claude Code, where a model may have written the command."""
    if in_client(os.environ):
        typed = f"/memory-fabric:project {action} {wanted}".rstrip()
        raise BadInput(
            "project",
            "Nothing was changed: only the user may decide which project a folder belongs to.",
            remedy=f"The user types {typed}, or runs this in a terminal outside Claude Code.",
        )


def _show(plan: Plan) -> None:
    show.facts((("from", _named(plan.old)), ("to", _named(plan.new))))
    for key, owner in plan.before:
        show.line(f"  {key}, until now of {owner or 'no project'}", "dim")
    for one in plan.left:
        show.line(f"No folder will belong to {_named(one)} any more.")
    if plan.coming:
        show.line(
            f"Its memories are copied ({plan.coming} records and entities), and also stay where "
            "they are; turns of past conversations are not copied."
        )
    elif plan.left:
        show.line("Its memories stay where they are.")
    if plan.undoes and plan.undoes.get("left"):
        show.line("The memories that were copied are removed again.")


def _question(plan: Plan) -> str:
    return f"Assign this folder to {plan.new.name} ({plan.new.id})?"


def _named(one: KnownProject) -> str:
    records = "unreadable" if one.records is None else str(one.records)
    return f"{one.name} ({one.id}, records: {records})"


def _row(one: KnownProject) -> tuple[str, ...]:
    records, entities = ("?" if n is None else str(n) for n in (one.records, one.entities))
    size = f"{one.size_bytes / 1024:.0f} KB"
    return one.name, one.id, records, entities, size, "\n".join(one.folders) or "—"


def _as_json(one: KnownProject) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "folders": list(one.folders),
        "keys": list(one.keys),
        "records": one.records,
        "entities": one.entities,
        "bytes": one.size_bytes,
        "asked": one.asked,
    }


def _plan_as_json(plan: Plan) -> dict[str, Any]:
    return {
        "action": plan.action,
        "from": plan.old.id,
        "to": plan.new.id,
        "keys": dict(plan.before),
        "left": [one.id for one in plan.left],
        "coming": plan.coming,
    }
