"""Commands project and domains: show, list, link and split projects; count memories by domain."""

from typing import Literal

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import AS_JSON, argument, flag
from memory_fabric.config import Settings
from memory_fabric.domain_config import DomainConfig
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.recall.agent_domains import domain_for, visible_to_process
from memory_fabric.sharing.git import adoption
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import link
from memory_fabric.store.queries.counts import TABLES_BY_DOMAIN, DomainCounts, count_by_domain
from memory_fabric.text import cut, many

MAX_SHOWN, MAX_CHARS = 10, 100


def project(
    action: Literal["list", "link", "split", "undo", "adopt"] | None = argument(
        "[list|link|split|undo|adopt]  list: all projects. link: assign this folder to another "
        "one. split: give it one of its own. By default: show the project of this folder.",
        None,
    ),
    wanted: str = argument(
        "[KEY-OR-PATH]  With link: its id, a key, a folder or its name; by default the one that "
        "this folder claims. With adopt: the author's name in the journal, if it is not yours.",
        "",
    ),
    yes: bool = flag("--yes  Do not ask."),
    as_json: bool = flag("--json  Answer in JSON, without asking."),
) -> int:
    """Show or change which project this folder belongs to.

    link, split and undo (of the last link or split) show what would change, and ask. If link takes
    a project's last folder, its memories are also copied to the folder's new project. adopt
    restores the records in this folder's decisions.jsonl after the home was lost. Only you can run
    these four: if Claude Code started the shell, type /memory-fabric:project in the chat instead.
    """
    if wanted and action not in ("link", "adopt"):
        text = "Only link takes a project, and only adopt an author."
        remedy = "memory-fabric project list shows ids, keys and folders."
        raise BadInput("KEY-OR-PATH", text, remedy=remedy)
    with environment.open_memory() as memory:
        if action == "list":
            return _list(memory, as_json)
        if action == "adopt":
            return _adopt(memory, wanted, yes, as_json)
        if action:
            return _change(memory, action, wanted, yes, as_json)
        return _show_current(memory, as_json)


def _show_current(memory: Memory, as_json: bool) -> int:
    project = memory.project
    if project is None:
        raise NotFound("project", "This folder has no project; the user's memory is used.")
    if as_json:
        return show.json_out({**project._asdict(), "database": memory.path_of("project")})
    show.facts(
        ("name", project.name),
        ("id", project.id),
        ("folder", project.root),
        ("database", memory.path_of("project")),
        ("journal", project.local),
        ("keys", "\n".join(project.keys)),
    )
    if question := link.pending_question(memory):
        show.warn(question)
    elif project.others:
        show.warn(
            f"some of its keys belong to {', '.join(project.others)}: choose with memory-fabric "
            f"project link {project.others[0]} or {project.id}."
        )
    if (missing := adoption.missing(memory)) is not None:
        show.warn(adoption.notice_text(missing))
    return 0


def _list(memory: Memory, as_json: bool) -> int:
    projects = link.list_projects(memory.settings.home)
    own = memory.project.id if memory.project else ""
    if as_json:
        names = "id name folders keys records entities asked"
        sizes = [{"bytes": p.size_bytes, "here": p.id == own} for p in projects]
        show.json_out([show.fields(p, names) | s for p, s in zip(projects, sizes, strict=True)])
    elif projects:
        rows = []
        for p in projects:
            numbers = ("?" if n is None else str(n) for n in (p.records, p.entities))
            size, folders = f"{p.size_bytes / 1024:.0f} KB", "\n".join(p.folders) or "—"
            rows.append(("*" if p.id == own else "", p.name, p.id, *numbers, size, folders))
        show.table(("", "name", "id", "records", "entities", "size", "folders"), rows)
        for p in (p for p in projects if p.asked):
            claims = "claims to belong to another project: run memory-fabric project there."
            show.line(f"{', '.join(p.folders)} {claims}")
    else:
        show.line("No project is known yet.")
    return 0 if projects else 3


def _change(memory: Memory, action: str, wanted: str, yes: bool, as_json: bool) -> int:
    plan = link.plan(memory, action, wanted)
    target = f"{plan.new.name} ({plan.new.id})"
    fields = show.fields(plan, "action coming") | {"from": plan.old.id, "to": plan.new.id}
    fields |= {"keys": dict(plan.before), "left": [project.id for project in plan.left]}
    if not as_json:
        show.facts(("from", _named(plan.old)), ("to", _named(plan.new)))
        owners = ((key, owner or "no project") for key, owner in plan.before)
        show.lines((f"  {key}, until now of {owner}" for key, owner in owners), "dim")
        show.lines(f"No folder will belong to {_named(project)} any more." for project in plan.left)
        if plan.coming:
            show.line(
                f"Its memories are copied ({plan.coming} records and entities), and also stay "
                "where they are; turns of past conversations are not copied."
            )
        elif plan.left:
            show.line("Its memories stay where they are.")
        if plan.undoes and plan.undoes.get("left"):
            show.line("The memories that were copied are removed again.")
    elif not yes:
        return show.json_out(fields | {"done": False})
    _require_user(f"{action} {wanted}")
    show.confirm(f"Assign this folder to {target}?", yes)
    with show.progress_bar("Copying memories", quiet=as_json) as tell:
        copied = link.carry_out(memory, plan, environment.provenance(), tell)
    undo = "" if action == "undo" else "memory-fabric project undo"
    if as_json:
        return show.json_out(fields | {"done": True, "came": copied, "undo": undo})
    show.line(f"This folder belongs to {target} now.{undo and f' {undo} reverts it.'}")
    show.warn_all(memory.failures)
    return 0


def _adopt(memory: Memory, author: str, yes: bool, as_json: bool) -> int:
    missing = adoption.missing(memory, author)
    if missing is None:
        raise NotFound("journal", "Memory has all records of the journal in this folder already.")
    first, last = missing.span
    fields = {"action": "adopt", "journal": missing.path, "records": len(missing.lines)}
    fields |= {"first": first, "last": last, "proved": missing.proved}
    fields |= {"others": dict(missing.others)}
    if not as_json:
        if missing.lines:
            number = many(len(missing.lines), "record")
            show.line(f"{missing.path}: {number} not in memory, {first} to {last}.")
        for line in missing.lines[:MAX_SHOWN]:
            date, text = str(line.get("created_at", ""))[:10], str(line["what"])
            show.line(f"  {date} {cut(text, MAX_CHARS)}")
        for name, count in missing.others.items():
            show.line(f"{count} are by {name or 'an unnamed author'}; they are left alone.")
    if not missing.lines or (as_json and not yes):
        if as_json:
            show.json_out(fields | {"done": False})
        return 0 if missing.lines else 3
    _require_user(f"adopt {author}")
    show.confirm("Are they yours?", yes)
    with show.progress_bar("Restoring records", quiet=as_json) as tell:
        copied = adoption.adopt(memory, missing, environment.provenance(), tell)
    memory.flush()
    if as_json:
        return show.json_out(fields | {"done": True, "came": copied})
    show.line(f"Restored {many(copied, 'record')}. memory-fabric undo removes them again.")
    show.warn_all(memory.failures)
    return 0


def _require_user(words: str) -> None:
    typed = f"/memory-fabric:project {words}".rstrip()
    how = f"The user types {typed}, or runs this in a terminal outside Claude Code."
    environment.require_user("project", "which project a folder belongs to", how)


def _named(project: link.KnownProject) -> str:
    records = "unreadable" if project.records is None else str(project.records)
    return f"{project.name} ({project.id}, records: {records})"


def domains(as_json: bool = AS_JSON) -> int:
    """Count memories by domain, and list relations between domains.

    Through such a relation, recall in one domain may find memories of the other. The domains in
    config.toml and of this folder are listed, too (docs/domains.md). If MEMORY_FABRIC_DOMAIN names
    an isolated domain, count only this domain. Exit code 3 if memory is empty.
    """
    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        counts = count_by_domain(memory.databases(), MAX_SHOWN)
        failures, settings = list(memory.failures), memory.settings
    if as_json:
        config = settings.domains
        isolated = {"isolated_domains": sorted(config.isolated)}
        isolated |= {"isolated_agents": sorted(config.isolated_agents)}
        configured = {"agents": dict(config.agents), "paths": dict(config.paths), **isolated}
        configured |= {"complaints": list(settings.complaints)}
        tables = TABLES_BY_DOMAIN
        rows = [{"domain": d, **dict(zip(tables, n, strict=True))} for d, n in counts.counts]
        crossings = {"relations": counts.crossings, "first": list(counts.first)}
        stated = {"configured": configured, "here": domain_for(settings).name}
        show.json_out({"domains": rows, "contamination": crossings, **stated, "failures": failures})
    else:
        _show_domains(counts, settings)
        show.warn_all((*failures, *settings.complaints))
    return 0 if counts.counts else 1 if failures else 3


def _show_domains(counts: DomainCounts, settings: Settings) -> None:
    if not counts.counts:
        show.line("Nothing is stored here yet.")
    else:
        rows = [(name, *map(str, numbers)) for name, numbers in counts.counts]
        show.table(("domain", *TABLES_BY_DOMAIN), rows)
        crossings = f"Relations between different domains: {counts.crossings}"
        show.line(crossings if counts.crossings else "No relation connects different domains.")
    for r in counts.first:
        ends = (f"{r[end]} ({r[f'{end}_domain']})" for end in ("from", "to"))
        show.line("  " + f" {r['relation']} ".join(ends))
    if counts.crossings > len(counts.first):
        show.line(f"  and {counts.crossings - len(counts.first)} more", "dim")
    config = settings.domains
    if config == DomainConfig() and not settings.domain:
        return
    show.line("From config.toml:")
    for domain in sorted({*config.agents.values(), *config.paths.values(), *config.isolated}):
        agents = [agent for agent, name in config.agents.items() if name == domain]
        paths = [path for path, name in config.paths.items() if name == domain]
        parts = ["isolated"] if domain in config.isolated else []
        parts += [f"agents {', '.join(agents)}"] if agents else []
        parts += [f"paths {', '.join(paths)}"] if paths else []
        show.line(f"  {domain}: {'; '.join(parts)}")
    if config.isolated_agents:
        show.line(f"  isolated agent types: {', '.join(sorted(config.isolated_agents))}")
    current = domain_for(settings)
    show.line(f"This folder: {current.name}{', isolated' if current.isolated else ''}")
