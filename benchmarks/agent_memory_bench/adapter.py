"""The arm `memory_fabric` of agent-memory-bench (GiulioDER): hooks, and a memory fed by hooks.

Written against harness/adapters/base.py of that repository; README.md beside this file says how it
is run there. A checkout of memory-fabric is needed, with the packages of `scripts/prepare venv`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from harness.adapters.base import (
    ArmSpec,
    CorpusManifest,
    IngestReport,
    MemoryAdapter,
    digest_tree,
)
from harness.gate import AdmissionSignal

FROZEN = Path(__file__).with_name("config.frozen.json")
# Names in a session's configuration folder; logged_hook.py has them, too.
PLUGIN, DATA, LEDGER = "memory-fabric-plugin", "memory-fabric-data", "hook-ledger.jsonl"
COPIED = (".claude-plugin", "hooks", "hooks.json", "plugin", "LICENSE")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc")


class MemoryFabricAdapter(MemoryAdapter):
    """One arm: its memories are below `staging_root`, a folder for each namespace.

    Its prompt is the static bundle alone, as that of `claude_md`: hooks need no instruction.
    """

    name = "memory_fabric"

    def __init__(
        self,
        staging_root: str | Path,
        base_prompt_file: str | Path,
        *,
        checkout: str | Path | None = None,
    ) -> None:
        self.config: dict[str, Any] = json.loads(FROZEN.read_text(encoding="utf-8"))
        self._staging_root, self._prompt = Path(staging_root), Path(base_prompt_file)
        self._checkout = _checkout(checkout, str(self.config["plugin_version"]))

    def ingest(self, corpus: CorpusManifest, namespace: str) -> IngestReport:
        """Feed all sessions in a process of the checkout's Python.

        Raises ValueError if the corpus is not what its manifest says, RuntimeError if a session
        cannot be fed.
        """
        corpus.verify()
        began = time.monotonic()
        done = subprocess.run(
            [
                str(self._checkout / ".venv/bin/python"),
                str(self._checkout / "benchmarks/agent_memory_bench/feed.py"),
                str(self._fed(namespace)),
                str(corpus.root.resolve()),
            ],
            input="\n".join(corpus.sessions),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the corpus cannot be fed to memory-fabric: {done.stderr.strip()}")
        fed = json.loads(done.stdout)
        return IngestReport(
            arm=self.name,
            namespace=namespace,
            sessions_offered=len(corpus.sessions),
            items_stored=sum(fed["records"].values()),
            wall_time_ms=(time.monotonic() - began) * 1000,
            llm_input_tokens=0,
            llm_output_tokens=0,
            notes=(
                "sessions were replayed through the plugin's hooks, then read by `learn`; no model",
                f"records {fed['records']}, made by learn {fed['learned']}",
                f"hooks that ran out of time: {fed['timeouts']}",
            ),
        )

    def build(self, session_dir: Path, namespace: str) -> ArmSpec:
        """Make a configuration folder with logged hooks and a copy of the memory.

        Nothing in it names a place, so it may be moved, and all of a run have one digest. Raises
        FileNotFoundError if nothing was ingested into the namespace.
        """
        memory = self._fed(namespace) / "home/fabric"
        if not memory.is_dir():
            raise FileNotFoundError(f"{memory} does not exist: ingest into {namespace!r} first")
        config = session_dir / "claude-config"
        shutil.rmtree(config, ignore_errors=True)
        shutil.copytree(memory, config / "memory-fabric")
        # A sandbox is another path in each session, and counts as a clone by its remote.
        settings = f"[projects]\nclaims = {json.dumps(self.config['claims'])}\n"
        (config / "memory-fabric/config.toml").write_text(settings, encoding="utf-8")
        # It says that the packages of the commands are installed, which no hook uses.
        shutil.copytree(self._fed(namespace) / "plugin", config / DATA, symlinks=True)
        self._copy_plugin(config / PLUGIN)
        shutil.copy(Path(__file__).with_name("logged_hook.py"), config)
        hooks = {"hooks": logged(self._hooks())}
        (config / "settings.json").write_text(json.dumps(hooks, indent=2), encoding="utf-8")
        return ArmSpec(
            arm=self.name,
            bare=False,
            append_system_prompt_file=self._prompt,
            config_dir=config,
            config_dir_digest=digest_tree(config),
            metadata={
                "memory": "lifecycle hooks",
                "plugin_version": self.config["plugin_version"],
                "hook_ledger": str(config / LEDGER),
                "prompt_sha256": hashlib.sha256(self._prompt.read_bytes()).hexdigest(),
            },
        )

    def admission_signal(self) -> AdmissionSignal:
        """Ask for SessionStart only: a prompt about which memory has nothing is told nothing."""
        return AdmissionSignal(arm=self.name, required_hooks=tuple(self.config["required_hooks"]))

    def read_hook_ledger(
        self, session_id: str | None, config_dir: str | Path
    ) -> tuple[dict[str, Any], ...]:
        """Return what the hooks of a session logged, in order; of all sessions without an id."""
        path = Path(config_dir) / LEDGER
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        entries = (json.loads(line) for line in lines)
        return tuple(e for e in entries if session_id in (None, e["session_id"]))

    def snapshot(self, namespace: str) -> Path:
        """Copy what was ingested into a namespace; return the copy."""
        copy = self._staging_root / f"{namespace}.snapshot"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._fed(namespace), copy / namespace, symlinks=True)
        return copy

    def restore(self, snapshot: Path) -> None:
        """Put a copy back in place of what its namespace has now."""
        [copied] = snapshot.iterdir()
        shutil.rmtree(self._fed(copied.name), ignore_errors=True)
        shutil.copytree(copied, self._fed(copied.name), symlinks=True)

    def describe(self) -> dict[str, Any]:
        """Return the frozen configuration, with the digest of its file and of the hooks."""
        return {
            "arm": self.name,
            **self.config,
            "config_sha256": hashlib.sha256(FROZEN.read_bytes()).hexdigest(),
            "hooks_sha256": hashlib.sha256(json.dumps(self._hooks()).encode()).hexdigest(),
        }

    def _fed(self, namespace: str) -> Path:
        return self._staging_root / namespace

    def _hooks(self) -> dict[str, Any]:
        stated = json.loads((self._checkout / "hooks.json").read_text(encoding="utf-8"))
        hooks: dict[str, Any] = stated["hooks"]
        return hooks

    def _copy_plugin(self, target: Path) -> None:
        for name in COPIED:
            source = self._checkout / name
            if source.is_dir():
                shutil.copytree(source, target / name, ignore=NOT_COPIED)
            else:
                shutil.copy(source, target / name)


def logged(hooks: dict[str, Any]) -> dict[str, Any]:
    """Return the plugin's hooks as settings.json has them, each run by logged_hook.py."""

    def command(event: str, hook: dict[str, Any]) -> dict[str, Any]:
        line = " ".join(('python3 "$CLAUDE_CONFIG_DIR/logged_hook.py"', event, *hook["args"]))
        return {"type": "command", "command": line, "timeout": hook["timeout"]}

    return {
        event: [
            {**group, "hooks": [command(event, hook) for hook in group["hooks"]]}
            for group in groups
        ]
        for event, groups in hooks.items()
    }


def _checkout(stated: str | Path | None, version: str) -> Path:
    """Return the checkout: stated, named by MEMORY_FABRIC_CHECKOUT, or the one around this file."""
    around = Path(__file__).resolve().parents[2]
    checkout = Path(stated or os.environ.get("MEMORY_FABRIC_CHECKOUT") or around)
    manifest = checkout / ".claude-plugin/plugin.json"
    if not manifest.is_file() or not (checkout / ".venv/bin/python").exists():
        raise FileNotFoundError(
            f"{checkout} is no checkout of memory-fabric with its packages: set "
            "MEMORY_FABRIC_CHECKOUT to a clone in which `scripts/prepare venv` was run"
        )
    found = json.loads(manifest.read_text(encoding="utf-8"))["version"]
    if found != version:
        raise RuntimeError(f"{checkout} has version {found}, but {FROZEN.name} froze {version}")
    return checkout
