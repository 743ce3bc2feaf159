"""The stores of the benchmarks of hooks: a project, its user, records, fixes and bound rules.

They are built by the product's own write functions, and are the same for the same size.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from processes import interpreter

if TYPE_CHECKING:
    from memory_fabric.store.memory import Memory

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLUGIN = os.path.join(ROOT, "plugin")

OBSERVATIONS_PER_ENTITY = 10
ENTITIES_PER_BATCH = 100
# Standing records of one kind of agent, and fixes.
RECORDS, FIXES = 200, 100
# Bound rules of a session that has some: one that is told, and others.
RULE_WHENS = ("npm run dev", "src/api/**", "git push", "deploy", "migration", "*.sql", "commit")
# The folder of a project without fixes.
NO_FIXES = "elsewhere"

SUBJECTS = "billing search checkout inventory login reporting upload webhook export audit".split()
VERBS = "uses requires caches validates retries replaces supports logs batches rejects".split()
THINGS = (
    "PostgreSQL Redis Celery FastAPI Docker Kubernetes pagination cursors timeouts indexes tokens "
    "migrations webhooks queues snapshots schemas replicas quotas sessions embeddings"
).split()
REASONS = (
    "because latency mattered",
    "after the outage in March",
    "for large tenants",
    "until the next release",
    "as the audit asked for",
    "to keep memory low",
)


def bind(folder: str, on: bool) -> None:
    """Give the project its bound rules, or take them away, by the product's own write function."""
    sys.path.insert(0, PLUGIN)
    from memory_fabric.config import read_settings
    from memory_fabric.models import WHEN, Provenance, Record
    from memory_fabric.store.memory import Memory

    memory = Memory.open(read_settings(environ_of(folder), {}))
    found = memory.find_records("json_extract(body, '$.evidence.when') IS NOT NULL")
    if on and not found:
        by = Provenance("cli", trust="user")
        for number, when in enumerate(RULE_WHENS):
            rule = Record("constraint", f"{when} follows rule {number}", confidence=0.9)
            memory.remember(rule._replace(evidence={WHEN: when}), by)
    elif found and not on:
        memory.forget([record.id for record in found], Provenance("cli", trust="user"))
    memory.close()


def build(folder: str, size: int, user: int) -> None:
    """A world in `folder` whose project remembers `size` observations, and its user `user`."""
    memory = opened(folder)
    from memory_fabric.models import Provenance

    for store, observations in (("project", size), ("user", user)):
        for batch in batches(store, observations):
            result = memory.write(
                "create_entities", {"entities": batch}, Provenance("import"), store=store
            )
            if result.get("queued"):
                raise SystemExit(f"the store could not be built: {result}")
    add_records(memory)
    memory.close()
    note_elsewhere(folder)


def opened(folder: str) -> Memory:
    """The memory of a world, whose folders are made here if they are not there."""
    sys.path.insert(0, PLUGIN)
    from memory_fabric.config import read_settings
    from memory_fabric.store.memory import Memory

    if not os.path.isdir(os.path.join(folder, "data")):
        for name in ("home", "project", NO_FIXES, "data"):
            os.makedirs(os.path.join(folder, name))
        _look_installed(os.path.join(folder, "data"))
        with open(os.path.join(folder, "data", "interpreter"), "w", encoding="utf-8") as file:
            file.write(interpreter() + "\n")
    return Memory.open(read_settings(environ_of(folder), {}))


def add_records(memory: Memory, most: int = RECORDS) -> None:
    """Add what a session's hooks tell: standing records, records that prompts ask for, fixes.

    There are at most so many of each.
    """
    from memory_fabric.models import Entity, Provenance, Record

    for number in range(min(RECORDS, most)):
        said = f"Migration {number} of the schema must be reversible"
        record = Record("constraint", said, entities=(Entity("PostgreSQL", "technology"),))
        memory.remember(record, Provenance("import"))
    chance = random.Random("records")
    for number in range(min(RECORDS, most)):  # what prompts are told: records, and what they name
        said = f"{_sentence(chance, SUBJECTS[number % len(SUBJECTS)])} (record {number})"
        memory.remember(Record("decision", said), Provenance("import"))
    for number in range(min(FIXES, most)):
        said = f'make check says "{error_of(number)}" after a restart; run ledgerctl heal {number}'
        memory.remember(Record("solution", said), Provenance("assistant"))


def note_elsewhere(folder: str) -> None:
    """Note the project without fixes, as the start of a session notes it."""
    from memory_fabric.config import read_settings
    from memory_fabric.store.home.launch_marks import note_place
    from memory_fabric.store.memory import Memory

    elsewhere = os.path.join(folder, NO_FIXES)
    environ = {**environ_of(folder), "CLAUDE_PROJECT_DIR": elsewhere}
    memory = Memory.open(read_settings(environ, {}))
    assert memory.project is not None
    note_place(memory.settings.home, elsewhere, memory.project.id)
    memory.close()


def batches(store: str, observations: int) -> Iterator[list[dict[str, Any]]]:
    """Entities with their observations, the same for the same size."""
    chance = random.Random(f"{store} {observations}")
    batch: list[dict[str, Any]] = []
    for number in range(0, observations, OBSERVATIONS_PER_ENTITY):
        count = min(OBSERVATIONS_PER_ENTITY, observations - number)
        subject = chance.choice(SUBJECTS)
        name = f"{subject}-{store}-{number // OBSERVATIONS_PER_ENTITY}"
        texts = [f"{_sentence(chance, subject)} (case {number + n})" for n in range(count)]
        batch.append({"name": name, "entityType": "component", "observations": texts})
        if len(batch) == ENTITIES_PER_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def environ_of(folder: str) -> dict[str, str]:
    """The variables of a hook or command in that world."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": os.path.join(folder, "home"),
        "MEMORY_FABRIC_HOME": os.path.join(folder, "home", "memory"),
        "CLAUDE_PROJECT_DIR": os.path.join(folder, "project"),
        "CLAUDE_PLUGIN_ROOT": ROOT,
        "CLAUDE_PLUGIN_DATA": os.path.join(folder, "data"),
    }


def _look_installed(data_dir: str) -> None:
    """Stand in for the server's environment: an installation beside the clock would be measured."""
    from memory_fabric.setup import packages

    environment = packages.folder_of("env", data_dir, ROOT)
    if environment:
        os.makedirs(os.path.join(environment, "bin"))
        os.symlink(interpreter(), os.path.join(environment, "bin", "python"))
        with open(os.path.join(environment, packages.MARKER), "w", encoding="utf-8"):
            pass


def _sentence(chance: random.Random, subject: str) -> str:
    words = (chance.choice(VERBS), chance.choice(THINGS), chance.choice(THINGS))
    return f"The {subject} service {words[0]} {words[1]} with {words[2]} {chance.choice(REASONS)}"


def error_of(number: int) -> str:
    return f"Error: ledger_shard_{number} refuses the quorum of zone {number}"
