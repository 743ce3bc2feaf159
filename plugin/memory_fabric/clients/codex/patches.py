"""The files that a patch of Codex's `apply_patch` changes."""

from __future__ import annotations

NAME = "apply_patch"
_BEGIN = "*** Begin Patch"
_CHANGES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def changed_files(patch: str) -> list[str]:
    """Return the paths in a patch that it adds, updates, deletes or moves to, each once."""
    lines = (line.strip() for line in patch.splitlines())
    named = (line[len(c) :].strip() for line in lines for c in _CHANGES if line.startswith(c))
    return list(dict.fromkeys(path for path in named if path))


def patch_in(tool: str, command: str) -> str:
    """Return the patch that a call applies; '' for other calls.

    The model also gives it to the shell (`apply_patch <<'EOF'`), which the client intercepts.
    """
    if tool == NAME or (command.lstrip().startswith((NAME, "applypatch")) and _BEGIN in command):
        return command
    return ""
