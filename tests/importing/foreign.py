"""Memories of other programs, written in the forms that these document."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from memory_fabric.importing.items import Here, Reading
from memory_fabric.importing.sources import recognise

# Milliseconds since 1970: 2025-11-02T10:00:00Z.
EPOCH_MS = 1_762_077_600_000

# claude-mem of migration 4 (2025), and of migration 35 (2026).
OLD_SCHEMA = """
CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER, applied_at TEXT);
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, claude_session_id TEXT, sdk_session_id TEXT,
  project TEXT NOT NULL, user_prompt TEXT, started_at TEXT, started_at_epoch INTEGER);
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT NOT NULL,
  project TEXT NOT NULL, text TEXT NOT NULL, type TEXT NOT NULL, created_at TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL);
"""
NEW_SCHEMA = """
CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER, applied_at TEXT);
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT,
  project TEXT NOT NULL, platform_source TEXT NOT NULL DEFAULT 'claude', started_at_epoch INTEGER);
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
  project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT,
  narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER,
  content_hash TEXT, merged_into_project TEXT, created_at TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT,
  project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT,
  next_steps TEXT, merged_into_project TEXT, created_at TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER,
  prompt_text TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE directives (id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL DEFAULT 'global',
  project TEXT, content TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active',
  source TEXT NOT NULL DEFAULT 'manual', created_at TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL, updated_at_epoch INTEGER NOT NULL);
"""


class ClaudeMem:
    """A database of claude-mem; each row is newer than the one before by a minute."""

    def __init__(self, path: Path, schema: str = NEW_SCHEMA) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self._count = path, 0
        self._c = sqlite3.connect(path)
        self._c.executescript(schema)

    def add(self, table: str, **fields: Any) -> None:
        """Add a row; lists become JSON."""
        self._count += 1
        epoch = EPOCH_MS + self._count * 60_000
        row: dict[str, Any] = {"created_at": "2025-11-02", "created_at_epoch": epoch}
        if table == "observations":
            row |= {"type": "discovery"}
            row["memory_session_id"] = "s"
        if table == "directives":
            row["updated_at_epoch"] = epoch
        known = [r[1] for r in self._c.execute(f"PRAGMA table_info({table})")]
        if "sdk_session_id" in known:
            row["sdk_session_id"] = row.pop("memory_session_id")
        row |= {k: json.dumps(v) if isinstance(v, list) else v for k, v in fields.items()}
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        self._c.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
        self._c.commit()

    def close(self) -> Path:
        """Close it; return its path."""
        self._c.close()
        return self.path


NOTE = """---
title: Coffee Brewing
type: guide
tags: [coffee, brewing]
permalink: coffee/coffee-brewing
created: 2025-03-04T05:06:07+01:00
---
# Coffee Brewing

The kettle stands in the kitchen.

## Observations
- [method] Pour over gives more clarity than a French press
- [decision] Water is heated to 96 degrees #brewing (measured twice)
- [x] not an observation but a task

## Relations
- relates_to [[Coffee Beans]]
- requires [[Grinding]] (first)
"""

TOPIC = """---
name: no-mocks
description: integration tests hit a real database
metadata:
  type: feedback
---
Integration tests must hit a real database, not mocks.
**Why:** mocked tests passed while the migration failed.
**How to apply:** all tests that touch the database.
"""


def codex_main(folder: Path) -> str:
    """A MEMORY.md of Codex with a block about this folder, one about another, one about none."""
    return f"""---
rollout_summary_files:
  - a.md (success, cwd={folder}, updated_at=2026-02-12T10:30:00Z)
description: payments
keywords: stripe, retry
---

- Stripe answers 429 to bursts; retry with a delay
  - the delay stands in Retry-After

---
rollout_summary_files:
  - b.md (cwd=/elsewhere/x, updated_at=2026-02-12T10:30:00Z)
description: other
keywords: other
---

- The other project builds with Bazel

# Task Group: unknown
scope: anything

- A tip without a project
"""


def read(path: Path, here: Here) -> Reading:
    """Read a path with the reader that recognises it."""
    source, real = recognise(str(path))
    assert source is not None
    return source.read(real, here)


def left(reading: Reading) -> dict[str, int]:
    """The numbers of omitted statements by reason."""
    return {one.reason: one.number for one in reading.left}
