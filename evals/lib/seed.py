"""Settle a case's points in past sessions of a run's workspace, through the plugin's own hooks.

    python3 -I seed.py < points.txt

A scaffold starts it in the workspace, with the run's HOME. Each line of its input is a session:
the user's words, then after " | " the line that the assistant notes. The memory goes where the
run's hooks look for it: below the run's configuration folder, which lies beside the home.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime

PLUGIN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(PLUGIN, "plugin"))

from memory_fabric.setup import packages  # noqa: E402

# Where the client has the data of a plugin that it loads from a folder.
DATA = os.path.join("plugins", "data", "memory-fabric-inline")
# What a run is told must not depend on the machine's load.
PATIENCE = {"MEMORY_FABRIC_PATIENCE": "20"}
GIVE_UP_S = 60


class Past:
    """The past sessions of a workspace, with a transcript each as the client writes it."""

    def __init__(self, home: str, workspace: str) -> None:
        self._workspace = workspace
        config = os.path.join(os.path.dirname(home), "config")
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in workspace)
        self._transcripts = os.path.join(config, "projects", slug)
        os.makedirs(self._transcripts)
        # A case cannot set variables for the hooks of its run. The runner adds its own to these.
        with open(os.path.join(config, "settings.json"), "w", encoding="utf-8") as file:
            json.dump({"env": PATIENCE}, file)
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "LANG": "C.UTF-8",
            "CLAUDE_CONFIG_DIR": config,
            "CLAUDE_PLUGIN_ROOT": PLUGIN,
            "CLAUDE_PLUGIN_DATA": look_installed(os.path.join(config, DATA)),
            "CLAUDE_PROJECT_DIR": workspace,
            "CLAUDE_CODE_SESSION_ATTENDED": "1",
            "CLAUDE_CODE_ENTRYPOINT": "cli",
            "MEMORY_FABRIC_NOTES": "on",
            **PATIENCE,
        }

    def session(self, said: str, noted: str) -> str:
        """Have the user say something and the assistant note it; return the notice about that."""
        self._id = str(uuid.uuid5(uuid.NAMESPACE_URL, said))
        self._transcript = os.path.join(self._transcripts, self._id + ".jsonl")
        self._fire("SessionStart", source="startup")
        self._write("user", said)
        self._fire("UserPromptSubmit", prompt=said)
        answer = f"Understood.\n\n{noted}"
        self._write("assistant", [{"type": "text", "text": answer}])
        notice = self._fire("Stop", stop_hook_active=False, last_assistant_message=answer)
        self._fire("SessionEnd", reason="prompt_input_exit")
        return notice

    def _fire(self, event: str, **fields: object) -> str:
        given = {
            "hook_event_name": event,
            "session_id": self._id,
            "transcript_path": self._transcript,
            "cwd": self._workspace,
            **fields,
        }
        done = subprocess.run(
            [os.path.join(PLUGIN, "hooks", "launch")],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            cwd=self._workspace,
            env=self._environ,
            timeout=GIVE_UP_S,
            check=True,
        )
        return str(json.loads(done.stdout or "{}").get("systemMessage", ""))

    def _write(self, role: str, content: object) -> None:
        entry = {
            "parentUuid": None,
            "isSidechain": False,
            "type": role,
            "message": {"role": role, "content": content},
            "uuid": str(uuid.uuid4()),
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self._workspace,
            "sessionId": self._id,
        }
        with open(self._transcript, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def look_installed(data: str) -> str:
    """Make the plugin's data folder look as if its packages were installed, and return it.

    Hooks need none of the packages, and each run would install them anew.
    """
    os.makedirs(data)
    python = packages.base_interpreter()
    with open(os.path.join(data, "interpreter"), "w", encoding="utf-8") as file:
        file.write(python + "\n")
    folder = packages.folder_of("env", data, PLUGIN)
    if not folder:
        sys.exit(f"{packages.lock_file('env', PLUGIN)} cannot be read: is {PLUGIN} a whole clone?")
    os.makedirs(os.path.join(folder, "bin"))
    os.symlink(python, packages.python_in(folder))
    with open(os.path.join(folder, packages.MARKER), "w", encoding="utf-8"):
        return data


def main() -> None:
    """Settle the points of standard input; end with an error at one that was not kept."""
    past = Past(os.environ["HOME"], os.path.realpath(os.getcwd()))
    for line in filter(None, map(str.strip, sys.stdin)):
        said, _, noted = line.partition(" | ")
        notice = past.session(said, noted)
        if "remembered" not in notice:
            sys.exit(f"memory did not keep this point: {line!r}; its notice was {notice!r}")


if __name__ == "__main__":
    main()
