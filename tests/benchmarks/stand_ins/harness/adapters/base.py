"""The corpus, the report of an ingestion, an arm, and what each adapter implements."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.gate import AdmissionSignal


@dataclass(frozen=True)
class CorpusManifest:
    """Transcripts below a root, with the SHA-256 of each."""

    root: Path
    sessions: Mapping[str, str]

    def verify(self) -> None:
        """Raise ValueError for a file with other bytes than its manifest says."""
        for path, stated in self.sessions.items():
            if hashlib.sha256((self.root / path).read_bytes()).hexdigest() != stated:
                raise ValueError(f"{path} is not what the manifest says")


@dataclass(frozen=True)
class IngestReport:
    """The result of an adapter for a corpus."""

    arm: str
    namespace: str
    sessions_offered: int
    items_stored: int | None = None
    wall_time_ms: float | None = None
    llm_input_tokens: int | None = None
    llm_output_tokens: int | None = None
    local_model: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArmSpec:
    """How a session of an arm is started."""

    arm: str
    mcp_config: str | None = None
    append_system_prompt_file: str | Path | None = None
    memory_tool_prefix: str | None = None
    extra_allowed_tools: tuple[str, ...] = ()
    config_dir: Path | None = None
    config_dir_digest: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    bare: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)


def digest_tree(root: Path) -> str:
    """Return the SHA-256 of a folder's paths and contents."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


class MemoryAdapter(ABC):
    """One arm's entry."""

    name = ""

    @abstractmethod
    def ingest(self, corpus: CorpusManifest, namespace: str) -> IngestReport:
        """Feed the corpus into a namespace."""

    @abstractmethod
    def build(self, session_dir: Path, namespace: str) -> ArmSpec:
        """Make what a session of the arm needs."""

    @abstractmethod
    def admission_signal(self) -> AdmissionSignal:
        """Say what proves that a session had the arm's memory."""
