"""The commit that is checked out in a folder."""

from __future__ import annotations

import os

from memory_fabric.store.projects import identity

# Limit for the file of packed references.
MAX_REFS_BYTES = 16 << 20


def commit_at(folder: str) -> str:
    """Return the commit that is checked out in a folder, read from files alone; '' without one."""
    dot_git = os.path.join(identity.worktree_of(folder), ".git")
    own = dot_git if os.path.isdir(dot_git) else identity.git_directory(dot_git) or dot_git
    head = identity.git_text(os.path.join(own, "HEAD")).strip()
    if not head.startswith("ref:"):
        return head if _is_commit(head) else ""
    ref, common = head.removeprefix("ref:").strip(), identity.common_directory(dot_git)
    if ".." in ref or not ref.startswith("refs/"):
        return ""
    stated = (identity.git_text(os.path.join(at, ref)).strip() for at in (own, common))
    found = next(filter(None, stated), "")
    if not found:
        packed = identity.git_text(os.path.join(common, "packed-refs"), MAX_REFS_BYTES).splitlines()
        found = next((line.split()[0] for line in packed if line.endswith(f" {ref}")), "")
    return found if _is_commit(found) else ""


def _is_commit(text: str) -> bool:
    return len(text) in (40, 64) and all(c in "0123456789abcdef" for c in text)
