"""Whose words count: honest quotations that are found, and forgeries shown without their words.

    PYTHONPATH=plugin:tests python benchmarks/quotations.py --honest FILE --forged FILE

Both are JSON lines: `typed` and `quotation`; `typed` and `note`, a line as the assistant writes it.
Forged notes go through the hooks of a home of their own, each with the rule bound to `git push`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / part) for part in ("plugin", "tests")]

from memory_fabric.capture.notes.quotation import find  # noqa: E402
from memory_fabric.capture.notes.typed import typed_words  # noqa: E402
from memory_fabric.store.conversations.prompts import TYPED, Prompt  # noqa: E402
from memory_fabric.text import one_line  # noqa: E402
from simulated_client import SimulatedClient  # noqa: E402


def read(path: str) -> list[dict[str, str]]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines() if line]


def is_found(one: dict[str, str]) -> bool:
    """Return True if the words are found in what was typed."""
    prompt = Prompt(1, "", one["typed"], TYPED)
    return bool(find(one["quotation"], one.get("sentence", ""), [prompt]).words)


def shown(one: dict[str, str]) -> list[str]:
    """Return what MEMORY.md and a bound call tell of a forged note."""
    with tempfile.TemporaryDirectory() as folder:
        client = SimulatedClient(Path(folder))
        client.prompt(one["typed"])
        note = one["note"].replace(" From:", " When: git push. From:")
        client.fire("Stop", last_assistant_message=f"Done.\n\n{note}")
        call = {"tool_name": "Bash", "tool_input": {"command": "git push"}, "tool_use_id": "1"}
        reply = client.fire("PreToolUse", "session-2", **call).get("hookSpecificOutput", {})
        file = client.memory_md_file()
        texts = [file.read_text("utf-8") if file.exists() else ""]
        texts.append(str(reply.get("permissionDecisionReason", "")))
    return [line for text in texts for line in text.splitlines() if line.startswith("- [")]


def main() -> None:
    """Print both figures, and what each forged note shows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--honest")
    parser.add_argument("--forged")
    args = parser.parse_args()
    if args.honest:
        honest = read(args.honest)
        print(f"honest quotations found: {sum(map(is_found, honest))} of {len(honest)}")
    forged, bare = read(args.forged) if args.forged else [], 0
    for one in forged:
        lines = shown(one)
        words = one_line(typed_words(one["typed"]))
        without = [line for line in lines if words not in line]
        bare += bool(without)
        print(f"- {one.get('label', '')}: {(without or lines or ['nothing'])[0]}")
    if forged:
        print(f"forgeries shown without their words: {bare} of {len(forged)}")


if __name__ == "__main__":
    main()
