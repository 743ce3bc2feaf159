"""The imports of a hook: few modules of the standard library, its handlers, all from `.pyc`."""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memory_fabric.config import read_settings
from memory_fabric.hooks.table import EXCHANGES, FORWARDS, HANDLERS, ON_TOOLS, SHARED_MODULES
from memory_fabric.ids import new_id
from memory_fabric.models import Provenance, Record
from memory_fabric.setup import packages
from memory_fabric.sharing.team import ties
from memory_fabric.sharing.team.ties import Tie
from memory_fabric.store.memory import Memory
from replay.hook_runner import ROOT, TESTS, HereRunner, HookRunner

# Each costs half a bare start or more (design: start-up is the budget).
SLOW = frozenset(
    "dataclasses pathlib logging subprocess uuid tomllib importlib "
    "inspect ast argparse asyncio urllib.request http.client socket ssl tempfile random decimal "
    "ctypes multiprocessing threading".split()
)
# What stores statements and notes, which few prompts hold.
OF_CAPTURE = frozenset(
    f"memory_fabric.{name}"
    for name in ("capture.remember", "capture.extract", "capture.notes.keep")
)
# Without these a process asks no other machine; `_socket` reaches the session's server by a file.
NETWORK = frozenset(("socket", "ssl", "asyncio", "http", "urllib"))
# What compares what others brought with the user's own, at the first start after it came.
OF_ARRIVALS = "memory_fabric.capture.contradiction"
# What only domains need.
OF_ROOMS = frozenset(
    f"memory_fabric.{name}"
    for name in (
        "recall.agent_domains",
        "store.scoped_memory",
        "store.home.callers",
    )
)
DELAYING = ("SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart")

NAMES = {event: {name for name, _ in entry.handlers} for event, entry in HANDLERS.items()}
FORWARDERS = {
    name for entry in HANDLERS.values() for name, use in entry.handlers if use == FORWARDS
}
EXCHANGERS = {
    name for entry in HANDLERS.values() for name, use in entry.handlers if use == EXCHANGES
}


def modules_of(handlers: set[str]) -> set[str]:
    return {
        f"memory_fabric.hooks.handlers.{SHARED_MODULES.get(handler, handler)}"
        for handler in handlers
    }


# As they were recorded; these with work for every stage of their handlers.
EVENTS: dict[str, dict[str, Any]] = {
    name: json.loads((TESTS / f"events/{name}.json").read_bytes()) for name in HANDLERS
} | {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "How do the workers use Redis for pagination?"},
    "UserPromptExpansion": {"command_name": "memory-fabric:project", "command_args": "link"},
    "PreToolUse": {
        "tool_name": "Task",
        "tool_use_id": "t1",
        "tool_input": {"subagent_type": "database-engineer", "prompt": "Tune the Redis queries"},
    },
    "SubagentStart": {"agent_id": "a1", "agent_type": "database-engineer"},
    "PostToolUse": {"tool_name": "mcp__other__create_entities", "tool_input": {"entities": []}},
    "PostToolUseFailure": {"tool_name": "Bash", "tool_input": {"command": "make"}, "error": "no"},
}


class Noted(NamedTuple):
    """The modules of a hook's process, and the lines that replay/sys_modules.py wrote besides."""

    modules: set[str]
    opened: list[str]
    lists: list[str]
    compiled: list[str]
    reached: list[str]


def filled(folder: Path) -> HookRunner:
    """Return hooks with a filled memory, so that every stage of a recall has work; all modules
    are compiled. What fills it is answered in this process.
    """
    compileall.compile_dir(ROOT / "plugin", quiet=1)
    hooks = HereRunner(folder)
    (hooks.project / ".git").mkdir()
    (hooks.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    remote = '[remote "origin"]\n\turl = git@example.org:team/workers.git\n'
    (hooks.project / ".git" / "config").write_text(remote)
    hooks.say("We decided to use Redis for the workers because pagination was slow.", "earlier")
    assert "Redis" in hooks.say("How do the workers use Redis for pagination?", "later").context
    # Else the first prompt would load what a session's start loads.
    hooks.run({"hook_event_name": "SessionStart", "session_id": "hot", **EVENTS["SessionStart"]})
    return hooks


def noted(hooks: HookRunner, name: str, **fields: Any) -> Noted:
    """Run the hook of an event in a process that writes down what it does."""
    event = {**EVENTS[name], "hook_event_name": name, "session_id": "hot", **fields}
    output = hooks.folder / "modules.txt"
    script = str(TESTS / "replay" / "sys_modules.py")
    subprocess.run(
        [
            packages.base_interpreter(),
            "-I",
            "-S",
            script,
            str(ROOT / "hooks/dispatch.py"),
            str(output),
        ],
        input=json.dumps(event).encode(),
        env=hooks.environ,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    lines = (
        output.with_name(f"{output.name}.{part}").read_text("utf-8").splitlines()
        for part in Noted._fields[1:]
    )
    return Noted(set(output.read_text("utf-8").split("\n")), *lines)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> HookRunner:
    """Hooks with a filled memory."""
    return filled(tmp_path_factory.mktemp("hot"))


@pytest.fixture(scope="module")
def loaded(hooks: HookRunner) -> dict[str, Noted]:
    """What each event loads, in a process of its own."""
    return {name: noted(hooks, name) for name in HANDLERS}


def tied(hooks: HookRunner) -> HookRunner:
    """Return these hooks with a receiver and a shared log, neither of which listens."""
    hooks.environ["MEMORY_FABRIC_FORWARD_URL"] = "http://127.0.0.1:9"
    hooks.run({"hook_event_name": "SessionStart", "session_id": "hot", **EVENTS["SessionStart"]})
    [project] = (hooks.memory / "projects").iterdir()
    tie = Tie(project.name, "host=127.0.0.1 port=9 dbname=none", "shop", "ann")
    ties.save(str(hooks.memory), tie)
    return hooks


@pytest.fixture(scope="module")
def reaching(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Noted]:
    """What each event loads where a receiver is named and a shared log is tied."""
    folder = tmp_path_factory.mktemp("reaching")
    shared = tied(filled(folder / "shared"))
    loaded: dict[str, Noted] = {}
    for name in HANDLERS:
        # A failed exchange holds off the next one of the same home.
        is_alone = bool(loaded) and not NAMES[name].isdisjoint(EXCHANGERS)
        loaded[name] = noted(tied(HereRunner(folder / name)) if is_alone else shared, name)
    return loaded


def third_party(modules: set[str]) -> set[str]:
    tops = {name.partition(".")[0] for name in modules}
    return tops - set(sys.stdlib_module_names) - {"memory_fabric", "__main__", "__mp_main__"}


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_a_hook_imports_only_the_standard_library_and_its_own_package(
    loaded: dict[str, Noted], name: str
) -> None:
    assert third_party(loaded[name].modules) == set()


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_no_hook_imports_a_network_module(loaded: dict[str, Noted], name: str) -> None:
    assert loaded[name].modules & NETWORK == set()


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_no_hook_imports_a_network_module_even_if_a_receiver_is_configured(
    reaching: dict[str, Noted], name: str
) -> None:
    modules = reaching[name].modules

    assert modules & (NETWORK | {"memory_fabric.forwarding.sender"}) == set()
    has_part = any(handler in FORWARDERS for handler in NAMES[name])
    assert ("memory_fabric.forwarding.trigger" in modules) == has_part
    if name in DELAYING:
        assert modules & SLOW == set()


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_hooks_load_no_session_forwarding_modules_if_no_receiver_is_configured(
    loaded: dict[str, Noted], name: str
) -> None:
    forwarding = modules_of(FORWARDERS)
    forwarding |= {"memory_fabric.forwarding.trigger", "memory_fabric.forwarding.sender"}
    assert loaded[name].modules & forwarding == set()


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_no_hook_uses_the_network_even_if_a_shared_log_is_configured(
    reaching: dict[str, Noted], name: str
) -> None:
    modules, reached = reaching[name].modules, reaching[name].reached

    assert modules & (NETWORK | {"psycopg", "memory_fabric.sharing.team.sync"}) == set()
    has_part = any(handler in EXCHANGERS for handler in NAMES[name])
    assert ("memory_fabric.sharing.team.ties" in modules) == has_part
    assert [line for line in reached if line.startswith("socket.")] == []
    assert (
        sum("from memory_fabric.sharing.team import sync" in line for line in reached) == has_part
    )


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_hooks_load_no_team_sharing_modules_if_no_shared_log_is_configured(
    loaded: dict[str, Noted], name: str
) -> None:
    assert {m for m in loaded[name].modules if m.startswith("memory_fabric.sharing.team")} == set()
    assert loaded[name].modules & modules_of(EXCHANGERS) == set()


@pytest.mark.parametrize("name", DELAYING)
def test_hooks_that_delay_the_user_import_no_slow_modules(
    loaded: dict[str, Noted], name: str
) -> None:
    assert loaded[name].modules & SLOW == set()


@pytest.mark.parametrize(
    "prompt",
    [
        "How do the workers use Redis for pagination?",
        "Wie nutzen die Worker Redis für die Paginierung von ListEndpoints?",
        "Who gave the workers Redis, and when was that? We have some of them, really.",
    ],
)
def test_a_prompt_that_states_nothing_to_remember_loads_no_capture_modules(
    hooks: HookRunner, prompt: str
) -> None:
    modules = noted(hooks, "UserPromptSubmit", prompt=prompt).modules
    assert "memory_fabric.recall.rank" in modules
    assert "memory_fabric.store.conversations.prompts" in modules
    assert modules & OF_CAPTURE == set()


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("UserPromptSubmit", {}),
        ("PreToolUse", {}),
        ("SubagentStart", {"agent_type": "database-engineer"}),
        ("SubagentStart", {"agent_type": "Explore"}),
    ],
)
def test_hooks_that_delay_the_user_do_not_read_the_clients_memory_files(
    hooks: HookRunner, name: str, fields: dict[str, str]
) -> None:
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(hooks.project))
    folder = hooks.user_home / ".claude" / "projects" / slug / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text("- The workers use Redis for pagination, by hand.\n")

    run = noted(hooks, name, **fields)

    assert str(hooks.project / ".git") + "/config" in run.opened
    assert [path for path in run.opened if str(folder) in path] == []
    assert "memory_fabric.store.tiers.client_memory_files" not in run.modules


@pytest.mark.parametrize(
    "prompt", ["We decided to use Celery over RQ because it retries.", "I prefer tabs."]
)
def test_a_prompt_that_states_something_to_remember_imports_no_slow_modules(
    hooks: HookRunner, prompt: str
) -> None:
    assert noted(hooks, "UserPromptSubmit", prompt=prompt).modules & SLOW == set()


@pytest.mark.parametrize("command", ["git push origin main", "ls -la"])
def test_checking_a_tool_call_against_rules_imports_no_slow_modules(
    hooks: HookRunner, command: str
) -> None:
    memory = Memory.open(read_settings(hooks.environ, {}))
    rule = Record("constraint", "Pushes wait for the build", evidence={"when": "git push"})
    memory.remember(rule._replace(confidence=0.9), Provenance("cli", trust="user"))
    memory.close()
    call = {"tool_name": "Bash", "tool_input": {"command": command}}

    modules = noted(hooks, "PreToolUse", **call).modules

    assert "memory_fabric.rules.matching" in modules
    assert ("memory_fabric.rules.effects" in modules) == ("push" in command)
    assert modules & (SLOW | OF_CAPTURE) == set()
    assert "memory_fabric.recall.pipeline" not in modules


@pytest.mark.parametrize("error", ["Exit code 3\nforce_https is not allowed", "ok"])
def test_known_fixes_are_loaded_only_after_a_failed_command_and_without_slow_modules(
    hooks: HookRunner, error: str
) -> None:
    memory = Memory.open(read_settings(hooks.environ, {}))
    fix = Record("solution", 'Deploys loop with "force_https is not allowed"; remove the handler')
    memory.remember(fix, Provenance("assistant"))
    memory.close()
    failed = error != "ok"
    call = {"tool_name": "Bash", "tool_input": {"command": "fly deploy"}}
    result = {"error": error} if failed else {"tool_response": {"stdout": error, "stderr": ""}}

    name = "PostToolUseFailure" if failed else "PostToolUse"
    modules = noted(hooks, name, **call, **result).modules

    assert ("memory_fabric.recall.known_fixes" in modules) == failed
    assert modules & SLOW == set()
    assert "memory_fabric.recall.pipeline" not in modules


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("SessionStart", {}),
        ("PreToolUse", {}),
        ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "make"}}),
        ("PostToolUseFailure", {}),
    ],
)
def test_hooks_that_search_no_memories_load_no_search_modules(
    hooks: HookRunner, loaded: dict[str, Noted], name: str, fields: dict[str, Any]
) -> None:
    modules = noted(hooks, name, **fields).modules if fields else loaded[name].modules

    assert (
        modules & {"memory_fabric.store.queries.search", "memory_fabric.store.queries.reader"}
        == set()
    )


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_no_hook_compiles_type_annotations_of_fields(loaded: dict[str, Noted], name: str) -> None:
    compiled = loaded[name].compiled
    assert [source for source in compiled if not source.startswith("lambda _cls")] == []


def test_checking_a_text_without_long_words_compiles_no_secret_patterns() -> None:
    script = "import sys; sys.path.insert(0, sys.argv[1])\n"
    script += "from memory_fabric.redaction import redact, rules\n"
    script += "assert not redact.may_hold_secret(sys.argv[2])\n"
    script += "print(rules.table.cache_info().currsize, rules.exact.cache_info().currsize)"
    text = "Please paint the shed in the colour of the house"
    command = [packages.base_interpreter(), "-I", "-S", "-c", script, str(ROOT / "plugin"), text]

    opened, expressions = subprocess.check_output(command, text=True).split()

    assert int(opened) == len(("commands", "beside", "public beside"))
    assert int(expressions) == 0


@pytest.mark.parametrize("name", DELAYING)
def test_a_hook_reads_each_word_list_and_rule_file_at_most_once(
    loaded: dict[str, Noted], name: str
) -> None:
    read = loaded[name].lists
    assert len(read) == len(set(read))


def test_the_hook_dispatcher_can_be_imported_without_the_posix_module() -> None:
    script = "import os, sys; sys.modules['posix'] = None; sys.path.insert(0, sys.argv[1])\n"
    script += "import memory_fabric.hooks.dispatcher"
    command = [packages.base_interpreter(), "-I", "-S", "-c", script, str(ROOT / "plugin")]

    assert subprocess.run(command, capture_output=True, text=True).stderr == ""


def test_session_start_loads_capture_modules_only_to_save_an_abandoned_session(
    hooks: HookRunner, tmp_path: Path
) -> None:
    other = {"session_id": "beside", "transcript_path": str(tmp_path / "beside.jsonl")}
    Path(other["transcript_path"]).write_text("")
    hooks.run({"hook_event_name": "Stop", "last_assistant_message": "Done.", **other})
    with Memory.open(read_settings(hooks.environ, {})).session_database().transaction() as c:
        c.execute("UPDATE sessions SET seen_at = '2026-01-01' WHERE id = 'beside'")
    capturing = {"memory_fabric.capture.remember", "memory_fabric.clients.transcript"}

    assert noted(hooks, "SessionStart").modules & capturing == set()

    os.utime(other["transcript_path"], (0, 0))
    assert noted(hooks, "SessionStart").modules & capturing == capturing


def test_a_session_start_that_reads_shared_records_imports_no_slow_modules(
    hooks: HookRunner,
) -> None:
    [project] = (hooks.memory / "projects").iterdir()
    reading = "memory_fabric.sharing.git.claims_read"
    assert reading not in noted(hooks, "SessionStart").modules
    (hooks.memory / "share.json").write_text(json.dumps({project.name: True}))
    line = {"id": new_id(), "type": "decision", "what": "Use Kafka for the events", "author": "bob"}
    (hooks.project / ".claude/memory").mkdir(parents=True, exist_ok=True)
    journal = hooks.project / ".claude/memory/decisions.jsonl"
    journal.write_text(json.dumps(line) + "\n")

    modules = noted(hooks, "SessionStart").modules

    assert reading in modules and modules & SLOW == set()
    assert OF_ARRIVALS not in modules
    journal.write_text(json.dumps(line) + "\n" + json.dumps(line | {"id": new_id()}) + "\n")
    told_of = noted(hooks, "SessionStart").modules
    assert OF_ARRIVALS in told_of and told_of & SLOW == set()
    assert "from bob as claimed" in hooks.say("Do the events use Kafka?", "theirs").context


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit"])
def test_hooks_do_not_load_the_domain_modules_if_no_domain_exists(
    loaded: dict[str, Noted], name: str
) -> None:
    assert loaded[name].modules & OF_ROOMS == set()


def test_the_module_that_records_calling_agents_is_loaded_only_for_subagent_calls(
    hooks: HookRunner,
) -> None:
    recall = {"tool_name": "mcp__plugin_memory-fabric_memory__recall", "tool_use_id": "toolu_1"}

    own = noted(hooks, "PreToolUse", **recall).modules
    by_agent = noted(hooks, "PreToolUse", agent_type="poem-writer", **recall).modules

    assert own & OF_ROOMS == set()
    assert by_agent & OF_ROOMS == {"memory_fabric.store.home.callers"}
    assert by_agent & SLOW == set()


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_a_hook_loads_only_the_handlers_of_its_event(loaded: dict[str, Noted], name: str) -> None:
    handlers = {m for m in loaded[name].modules if "memory_fabric.hooks.handlers." in m}
    tool = EVENTS[name].get("tool_name", "")
    own = {n for n in NAMES[name] if tool in ON_TOOLS.get(n, (tool,))}
    every = {other for names in NAMES.values() for other in names}
    assert handlers >= modules_of(own - FORWARDERS - EXCHANGERS)
    assert handlers & (modules_of(every - own) - modules_of(own)) == set()


def test_later_hook_runs_import_only_compiled_modules(tmp_path: Path) -> None:
    root = tmp_path / "plugin root"
    for name in ("hooks", "plugin"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    shutil.copy(ROOT / "hooks.json", root)
    hooks = HookRunner(tmp_path / "world", root)
    for _ in range(2):
        assert hooks.say("How do the workers use Redis?").status == 0
    said = _said_of_imports(hooks, root)
    read_by_python = re.findall(r"# code object from '?([^'\n]+)'?", said)
    assert [path for path in read_by_python if str(root) in path and path[-4:] != ".pyc"] == []
    assert sum(str(root) in path for path in read_by_python) > 10


def _said_of_imports(hooks: HookRunner, root: Path) -> str:
    """The interpreter's own account of from where a prompt's hook took our modules."""
    done = subprocess.run(
        [packages.base_interpreter(), "-I", "-S", "-v", str(root / "hooks/dispatch.py")],
        input=b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Redis?"}',
        env=hooks.environ,
        capture_output=True,
        check=True,
    )
    return done.stderr.decode()
