"""The adapter for agent-memory-bench: sessions of its form are kept, and told in other folders."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from e2e.harness.home import Home
from e2e.harness.script import Script

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).with_name("stand_ins")))

from harness.adapters.base import ArmSpec, CorpusManifest, IngestReport, digest_tree
from harness.gate import is_admitted

from agent_memory_bench import feed
from agent_memory_bench.adapter import MemoryFabricAdapter

ROOT = Path(__file__).resolve().parents[2]
CENTS = "totals.csv holds every amount in whole cents"
TASK = "Write totals.csv with the amounts of orders.json, a row for each customer."
OTHER_TASK = "Sort the names in guests.txt by family name."
NAMESPACE, MUNDANE = "run-1", "distractors/d1.jsonl"


def entry(at: str, role: str, content: str, **tool: str) -> dict[str, str]:
    return {"role": role, "content": content, **tool, "ts": f"{at}Z"}


def said(*entries: dict[str, str]) -> str:
    return "".join(json.dumps(one) + "\n" for one in entries)


# A session ends with the user's decision, and nobody answers it.
SETTLED = said(
    entry(
        *("2026-07-02T09:00:00", "user"),
        "Two customers were billed a cent too much. incident/export.log has the run. Find out where"
        " the cent comes from, and say how amounts should be written.",
    ),
    entry(
        *("2026-07-02T09:00:40", "assistant", ""),
        tool_name="Read",
        tool_input=json.dumps({"file_path": "/tmp/tmp1/project/incident/export.log"}),
        tool_result="1\ttotal=10.000000000000002\n",
    ),
    entry("2026-07-02T09:01:20", "assistant", "The export adds floats. I recommend whole cents."),
    entry(
        *("2026-07-02T09:02:40", "user"),
        f"That settles it. Decision: {CENTS}, as integers; whoever reads it divides by 100.",
    ),
)
FAILING = said(
    entry("2026-07-03T09:00:00", "user", "The smoke test fails on the build machine. Mend it."),
    entry(
        *("2026-07-03T09:00:40", "assistant", ""),
        tool_name="Bash",
        tool_input=json.dumps({"command": "make smoke"}),
        tool_result="Exit code 2\nmake: *** [smoke] Error 1",
    ),
    entry("2026-07-03T09:01:20", "assistant", "The port was taken by an old run; I ended that."),
    entry("2026-07-03T09:02:40", "user", "Thanks, that is all for today."),
)


def times(told: str) -> int:
    """Return how many lines tell the decision; one has the user's words and the sentence."""
    return sum(CENTS in line for line in told.splitlines())


def of(corpus: CorpusManifest, *paths: str) -> CorpusManifest:
    """Return the corpus with these of its sessions only."""
    return CorpusManifest(corpus.root, {path: corpus.sessions[path] for path in paths})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> CorpusManifest:
    """A corpus of two sessions, the later one first."""
    root = tmp_path_factory.mktemp("corpus")
    files = {MUNDANE: FAILING, "sessions/ts-cents/p01.jsonl": SETTLED}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(text, encoding="utf-8")
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}
    return CorpusManifest(root, digests)


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> MemoryFabricAdapter:
    """The adapter of this checkout."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "prompt.md").write_text("# Project notes\n", encoding="utf-8")
    return MemoryFabricAdapter(folder / "staging", folder / "prompt.md")


@pytest.fixture(scope="module")
def ingested(adapter: MemoryFabricAdapter, corpus: CorpusManifest) -> IngestReport:
    """The report of the corpus's ingestion into the namespace."""
    return adapter.ingest(corpus, NAMESPACE)


@pytest.fixture(scope="module")
def arm(
    adapter: MemoryFabricAdapter, ingested: IngestReport, tmp_path_factory: pytest.TempPathFactory
) -> ArmSpec:
    """An arm for several sessions: its copy of the plugin is compiled once."""
    return adapter.build(tmp_path_factory.mktemp("arm") / "cfg", NAMESPACE)


def sandbox(folder: Path) -> Path:
    """A repository as the benchmark makes it: one commit, no remote."""
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("# orders\n", encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "fixture")):
        subprocess.run([*git, *words], check=True)
    return folder


class Session:
    """A fresh session of an arm in a sandbox: its hooks, as the client runs those of settings."""

    def __init__(self, arm: ArmSpec, place: Path, name: str = "fresh") -> None:
        assert arm.config_dir is not None
        self._place, self._config, self._name = place, arm.config_dir, name
        settings = json.loads((self._config / "settings.json").read_text("utf-8"))
        self._hooks: dict[str, Sequence[dict[str, Any]]] = settings["hooks"]

    def told(self, event: str, **fields: str) -> str:
        """Return what the model is told at an event."""
        [hook] = self._hooks[event][0]["hooks"]
        given = {
            "hook_event_name": event,
            "session_id": self._name,
            "transcript_path": str(self._config / f"projects/place/{self._name}.jsonl"),
            "cwd": str(self._place),
            **fields,
        }
        done = subprocess.run(
            ["sh", "-c", hook["command"]],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            cwd=self._place,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self._config.parent),
                "LANG": "C.UTF-8",
                "CLAUDE_CONFIG_DIR": str(self._config),
                "CLAUDE_PROJECT_DIR": str(self._place),
                "CLAUDE_CODE_SESSION_ATTENDED": "0",
                "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
                "MEMORY_FABRIC_PATIENCE": "20",
            },
            check=True,
        )
        reply = json.loads(done.stdout or "{}")
        return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def whole(self, task: str) -> str:
        """Return what the model is told before it answers its first prompt."""
        start = self.told("SessionStart", source="startup")
        return start + self.told("UserPromptSubmit", prompt=task)


def test_a_session_in_a_new_folder_receives_an_earlier_decision_exactly_once(
    arm: ArmSpec, tmp_path: Path
) -> None:
    place = sandbox(tmp_path / "work/task/s0/memory_fabric")

    told = Session(arm, place).whole(TASK)

    assert times(told) == 1
    status = ["git", "-C", str(place), "status", "--porcelain"]
    assert subprocess.run(status, capture_output=True, check=True).stdout == b""


@pytest.mark.e2e
def test_claude_code_sends_an_earlier_decision_to_the_model_exactly_once(
    adapter: MemoryFabricAdapter, ingested: IngestReport, tmp_path: Path
) -> None:
    arm = adapter.build(tmp_path / "cfg", NAMESPACE)
    assert arm.config_dir is not None
    home = Home(tmp_path / "machine")
    home.config, home.project = arm.config_dir, sandbox(tmp_path / "place")

    result = home.session(Script(prompts=(TASK,)))

    ledger = adapter.read_hook_ledger(result.session_id, arm.config_dir)
    assert times(result.main_texts[0]) == 1
    assert is_admitted(adapter.admission_signal(), ledger)
    assert {"SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"} <= {
        logged["event"] for logged in ledger
    }
    assert (result.complaints, home.log) == ([], "")


def test_the_ingestion_report_counts_sessions_and_stored_records(ingested: IngestReport) -> None:
    assert (ingested.arm, ingested.namespace) == ("memory_fabric", NAMESPACE)
    assert (ingested.sessions_offered, ingested.items_stored) == (2, 1)
    assert (ingested.llm_input_tokens, ingested.llm_output_tokens) == (0, 0)
    assert any("records {'decision': 1}" in note for note in ingested.notes)
    assert "hooks that ran out of time: 0" in ingested.notes


def test_the_benchmark_accepts_a_session_if_its_start_hook_injected_text(
    adapter: MemoryFabricAdapter, arm: ArmSpec, tmp_path: Path
) -> None:
    assert arm.config_dir is not None
    signal = adapter.admission_signal()
    before = adapter.read_hook_ledger("counted", arm.config_dir)
    session = Session(arm, sandbox(tmp_path / "place"), "counted")

    told = session.told("SessionStart", source="startup")

    [logged] = adapter.read_hook_ledger("counted", arm.config_dir)
    assert signal.required_hooks == ("SessionStart",) and signal.mcp_tool_prefixes == ()
    assert logged["output_sha256"] == hashlib.sha256(told.encode()).hexdigest()
    assert is_admitted(signal, [logged]) and not is_admitted(signal, before)
    assert adapter.read_hook_ledger("another", arm.config_dir) == ()


def test_the_benchmark_rejects_a_session_if_its_start_hook_injected_nothing(
    adapter: MemoryFabricAdapter, corpus: CorpusManifest, tmp_path: Path
) -> None:
    adapter.ingest(of(corpus, MUNDANE), "mundane")
    arm = adapter.build(tmp_path / "cfg", "mundane")
    assert arm.config_dir is not None

    told = Session(arm, sandbox(tmp_path / "place")).told("SessionStart", source="startup")

    [logged] = adapter.read_hook_ledger(None, arm.config_dir)
    assert (told, logged["exit_code"], logged["output_sha256"]) == ("", 0, "")
    assert not is_admitted(adapter.admission_signal(), [logged])


def test_benchmark_sessions_are_isolated_and_start_from_the_same_snapshot(
    adapter: MemoryFabricAdapter, ingested: IngestReport, tmp_path: Path
) -> None:
    first = adapter.build(tmp_path / "one", NAMESPACE)
    session = Session(first, sandbox(tmp_path / "first"))
    session.told("SessionStart", source="startup")
    session.told("UserPromptSubmit", prompt="Decision: the guest list is sorted by first name.")
    session.told("SessionEnd", reason="other")

    second = adapter.build(tmp_path / "two", NAMESPACE)

    assert second.config_dir_digest == first.config_dir_digest
    assert first.config_dir is not None and digest_tree(first.config_dir) != first.config_dir_digest
    other = Session(second, sandbox(tmp_path / "second")).whole(OTHER_TASK)
    assert "guest list" not in other and times(other) == 1


def test_a_benchmark_configuration_contains_only_hooks_and_a_system_prompt_file(
    adapter: MemoryFabricAdapter, ingested: IngestReport, tmp_path: Path
) -> None:
    arm = adapter.build(tmp_path / "cfg", NAMESPACE)

    assert arm.config_dir is not None and arm.append_system_prompt_file is not None
    settings = json.loads((arm.config_dir / "settings.json").read_text("utf-8"))
    stated = json.loads((ROOT / "hooks.json").read_text("utf-8"))
    assert list(settings["hooks"]) == list(stated["hooks"])
    assert (arm.bare, arm.mcp_config, arm.extra_allowed_tools) == (False, None, ())
    assert Path(arm.append_system_prompt_file).read_text("utf-8") == "# Project notes\n"
    assert str(tmp_path) not in json.dumps(settings)


def test_restoring_a_snapshot_undoes_later_ingestion(
    adapter: MemoryFabricAdapter, corpus: CorpusManifest, ingested: IngestReport, tmp_path: Path
) -> None:
    before = adapter.build(tmp_path / "one", NAMESPACE).config_dir_digest
    snapshot = adapter.snapshot(NAMESPACE)
    adapter.ingest(of(corpus, MUNDANE), NAMESPACE)
    other = adapter.build(tmp_path / "two", NAMESPACE).config_dir_digest

    adapter.restore(snapshot)

    after = adapter.build(tmp_path / "three", NAMESPACE).config_dir_digest
    assert before == after != other


def test_a_corpus_file_that_differs_from_its_manifest_is_refused_by_name(
    adapter: MemoryFabricAdapter, corpus: CorpusManifest
) -> None:
    changed = dict.fromkeys(corpus.sessions, "0" * 64)

    with pytest.raises(ValueError, match=r"d1\.jsonl"):
        adapter.ingest(CorpusManifest(corpus.root, changed), "changed")


@pytest.mark.parametrize(
    "text",
    ["not JSON\n", "", '{"role": "user", "content": "Hello", "ts": "yesterday"}\n', "[]\n"],
)
def test_a_file_without_a_valid_session_is_reported_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "p01.jsonl").write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=r"p01\.jsonl"):
        feed.read_session(str(tmp_path), "p01.jsonl")


def test_ingestion_fails_with_the_name_of_a_session_that_cannot_be_replayed(
    adapter: MemoryFabricAdapter, tmp_path: Path
) -> None:
    (tmp_path / "p01.jsonl").write_text("not JSON\n", encoding="utf-8")
    digest = hashlib.sha256(b"not JSON\n").hexdigest()

    with pytest.raises(RuntimeError, match=r"p01\.jsonl, line 1"):
        adapter.ingest(CorpusManifest(tmp_path, {"p01.jsonl": digest}), "broken")


def test_building_a_benchmark_configuration_without_ingested_data_fails(
    adapter: MemoryFabricAdapter, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match="ingest into 'unknown' first"):
        adapter.build(tmp_path, "unknown")


def test_a_checkout_path_that_is_not_a_checkout_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="MEMORY_FABRIC_CHECKOUT"):
        MemoryFabricAdapter(tmp_path, tmp_path / "prompt.md", checkout=tmp_path)
