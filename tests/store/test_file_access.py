"""Every file is opened by the readers of store.files, which bound kind and size, or is listed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from store.support import PLUGIN

PACKAGE = Path(PLUGIN, "memory_fabric")
# What opens a file by itself, as it is called.
OPENERS = frozenset(
    "open os.open os.fdopen io.open sqlite3.connect tomllib.load json.load shutil.copyfile "
    "shutil.copy shutil.copy2 shutil.move shutil.copyfileobj linecache.getlines".split()
)
# Methods of paths; those of `files` are ours.
METHODS = frozenset(("read_text", "read_bytes", "write_text", "write_bytes"))
OURS = frozenset(("files",))
LAST_NAMES = METHODS | {name.rpartition(".")[2] for name in OPENERS}
MADE_NEW = "made anew with O_EXCL, or in a folder of ours, and nothing is read"
OWN_DATABASE = "a database in home, looked at by `expect_file` before"
INSTALLER = "the installer's own files in the client's data folder and the plugin's folder"
DEMONSTRATION = "a folder that the command has just made for itself"
SYSTEM = "a file of the kernel"
ALLOWED = {
    "store/files.py": "the one place",
    "store/database.py": OWN_DATABASE,
    "store/upkeep/backup.py": OWN_DATABASE,
    "store/upkeep/repair.py": OWN_DATABASE,
    "store/home/log.py": MADE_NEW,
    "store/home/launch_marks.py": MADE_NEW,
    "store/upkeep/filesystem.py": SYSTEM,
    "sharing/git/claims_read.py": "looks at kind and size itself, and takes no link",
    "servers/live.py": "a transcript of its own, in a folder that it made",
    "servers/mcp/stdio_server.py": "/dev/null, in the place of stdout",
    "deadline.py": SYSTEM,
    "servers/http/routes.py": "a part of the package itself",
    "store/forget/purge_rows.py": OWN_DATABASE,
    "setup/packages.py": INSTALLER,
    "setup/install_packages.py": INSTALLER
    + "; settings of a project are looked at by kind and size",
    "setup/extras.py": INSTALLER,
    "semantic/model.py": INSTALLER,
    "sharing/server/spaces.py": "the schema, a part of the package itself",
    "language/word_lists.py": "a part of the package itself",
    "redaction/rules.py": "a part of the package itself",
    "rules/programs.py": "a part of the package itself",
    "store/schema.py": "a part of the package itself",
    "store/queries/quick_counts.py": "a regular file in home, opened for reading only",
    "viewer/page.py": "assets of the package itself",
    "health/sandbox.py": DEMONSTRATION,
    "cli/registry.py": "a part of the package itself",
    "cli/main.py": "/dev/null, in the place of a closed stream or of stderr",
    "cli/commands/import_export.py": "what the user pipes in, copied into a file of ours",
    "health/installation.py": "a database in memory",
    "processes.py": SYSTEM,
    "importing/sources.py": "a regular file that the user named, opened for reading only",
}


def test_only_modules_in_the_allow_list_open_files_directly() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): sorted(set(opening_calls(path)))
        for path in PACKAGE.rglob("*.py")
    }
    unlisted = {name: calls for name, calls in found.items() if calls and name not in ALLOWED}
    assert not unlisted
    assert not [name for name in ALLOWED if not found.get(name)], "listed without need"


def opening_calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or _last_name(node.func) not in LAST_NAMES:
            continue
        name = ast.unparse(node.func)
        owner, _, method = name.rpartition(".")
        if name in OPENERS or (owner and method in METHODS and owner not in OURS):
            yield f"{name} in line {node.lineno}"


def _last_name(called: ast.expr) -> str:
    return getattr(called, "attr", "") or getattr(called, "id", "")
