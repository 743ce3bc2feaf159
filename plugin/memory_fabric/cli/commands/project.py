"""project: which project this folder belongs to, all that are known, and settling it by hand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_fabric.cli import environment, option_values, progress, show
from memory_fabric.cli.option_values import PROJECT_ACTIONS
from memory_fabric.config import in_client
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.text import cut

if TYPE_CHECKING:
    from memory_fabric.store.memory import Memory
    from memory_fabric.store.projects.link import KnownProject, Plan
    from memory_fabric.store.sharing.adoption import Missing


MAX_SHOWN, MAX_CHARS = 10, 100


def project(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[list|link|split|undo|adopt]",
            help="list: all projects. link: this folder belongs to another one. split: it gets one "
            "of its own. undo: take back the last link or split. adopt: the journal in this folder "
            "is yours. Without: show this one.",
            autocompletion=option_values.project_actions,
        ),
    ] = "",
    wanted: Annotated[
        str,
        typer.Argument(
            metavar="[KEY-OR-PATH]",
            help="With link: the id, a key, a folder or the name of it; left out, the project that "
            "this folder claims to be of. With adopt: the author's name in the journal, where it "
            "is not yours.",
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do what is shown; do not ask.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON, for programs; it asks nothing.")
    ] = False,
) -> int:
    """Show which project this folder belongs to, list all, or settle it by hand.

    link, split and undo show what would change and ask. When this folder was the last of a project
    that it leaves by link, what that one remembers comes along; split takes nothing along. adopt
    takes in what decisions.jsonl of this folder has and memory lacks, as it was: after a lost home.
    What these four do is for you to say: in a shell that Claude Code started they change nothing;
    type /memory-fabric:project there.
    """
    if action not in ("", *PROJECT_ACTIONS):
        raise BadInput("ACTION", f"{action!r} is none of {', '.join(PROJECT_ACTIONS)}.", remedy="")
    if wanted and action not in ("link", "adopt"):
        raise BadInput(
            "KEY-OR-PATH",
            "Only link takes a project, and adopt an author.",
            remedy="memory-fabric project list shows ids, keys and folders.",
        )
    with environment.open_memory() as memory:
        if action == "list":
            return _list(memory, as_json)
        if action == "adopt":
            return _adopt(memory, wanted, yes, as_json)
        if action:
            return _settle(memory, action, wanted, yes, as_json)
        return _this(memory, as_json)


def _this(memory: Memory, as_json: bool) -> int:
    from memory_fabric.store.projects import link
    from memory_fabric.store.sharing import adoption

    found = memory.project
    if found is None:
        raise NotFound("project", "There is no project here; the user's memory serves.")
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
        show.complain(asked)
    elif found.others:
        show.complain(
            f"some of its keys belong to {', '.join(found.others)}: memory-fabric project link "
            f"{found.others[0]} or {found.id} settles it."
        )
    lacking = adoption.missing(memory)
    if lacking is not None:
        show.complain(adoption.notice_text(lacking))
    return 0


def _list(memory: Memory, as_json: bool) -> int:
    from memory_fabric.store.projects import link

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
                show.line(f"{where} claims to be of another project: memory-fabric project there.")
    else:
        show.line("No project is known yet.")
    return 0 if known else 3


def _settle(memory: Memory, action: str, wanted: str, yes: bool, as_json: bool) -> int:
    from memory_fabric.store.projects import link

    plan = link.plan(memory, action, wanted)
    if not as_json:
        _show(plan)
    if not yes and as_json:
        show.json_out(_plan_as_json(plan) | {"done": False})
        return 0
    _need_the_user(action, wanted)
    if not show.confirmed(_question(plan), yes):
        raise typer.Abort
    with progress.bar("Bringing memory along", quiet=as_json) as tell:
        came = link.carry_out(memory, plan, environment.said_here(), tell)
    undo = "" if action == "undo" else "memory-fabric project undo"
    if as_json:
        show.json_out(_plan_as_json(plan) | {"done": True, "came": came, "undo": undo})
        return 0
    back = f" {undo} takes it back." if undo else ""
    show.line(f"This folder belongs to {plan.new.name} ({plan.new.id}) now.{back}")
    for failure in memory.failures:
        show.complain(failure)
    return 0


def _adopt(memory: Memory, author: str, yes: bool, as_json: bool) -> int:
    from memory_fabric.store.sharing import adoption

    found = adoption.missing(memory, author)
    if found is None:
        raise NotFound("journal", "The journal of this folder has nothing that memory lacks.")
    if not as_json:
        _show_lines(found)
    if not found.lines or (as_json and not yes):
        if as_json:
            show.json_out(_missing_as_json(found) | {"done": False})
        return 0 if found.lines else 3
    _need_the_user("adopt", author)
    if not show.confirmed("Are they yours?", yes):
        raise typer.Abort
    with progress.bar("Taking records in", quiet=as_json) as tell:
        came = adoption.adopt(memory, found, environment.said_here(), tell)
    memory.flush()
    if as_json:
        show.json_out(_missing_as_json(found) | {"done": True, "came": came})
        return 0
    show.line(f"{came} records are back. memory-fabric undo takes them out again.")
    for failure in memory.failures:
        show.complain(failure)
    return 0


def _show_lines(found: Missing) -> None:
    first, last = found.span
    if found.lines:
        count = len(found.lines)
        show.line(f"{found.path}: {count} records that memory lacks, {first} to {last}.")
    for line in found.lines[:MAX_SHOWN]:
        show.line(f"  {str(line.get('created_at', ''))[:10]} {cut(str(line['what']), MAX_CHARS)}")
    for name, count in found.others.items():
        show.line(f"{count} are by {name or 'nobody named'}; they stay where they are.")


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


def _need_the_user(action: str, wanted: str) -> None:
    """Raises BadInput in a shell that Claude Code started: a model may have written the command."""
    if in_client(os.environ):
        typed = f"/memory-fabric:project {action} {wanted}".rstrip()
        raise BadInput(
            "project",
            "Nothing was changed: which memories are one is for the user to say.",
            remedy=f"The user types {typed}, or runs this in a terminal outside Claude Code.",
        )


def _show(plan: Plan) -> None:
    show.facts((("from", _named(plan.old)), ("to", _named(plan.new))))
    for key, owner in plan.before:
        show.line(f"  {key}, until now of {owner or 'none'}", "dim")
    for one in plan.left:
        show.line(f"No folder has {_named(one)} any more then.")
    if plan.coming:
        show.line(
            f"What is remembered there comes along ({plan.coming} records and entities) and also "
            "stays where it is; turns of past conversations only stay."
        )
    elif plan.left:
        show.line("What is remembered there stays there.")
    if plan.undoes and plan.undoes.get("left"):
        show.line("What had come along is taken out again.")


def _question(plan: Plan) -> str:
    return f"Shall this folder belong to {plan.new.name} ({plan.new.id})?"


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
