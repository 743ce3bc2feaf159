"""A terminal in which a person types to the client."""

from __future__ import annotations

import json
import signal

import pexpect

from e2e.harness.home import Home

KEY = "none-for-a-loopback-stub"


def accept(home: Home) -> None:
    """Answer what the client asks a new user in a terminal."""
    path = home.config / ".claude.json"
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    accepted = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(home.project): trusted},
    }
    path.write_text(json.dumps({**known, **accepted}), encoding="utf-8")


def type_in(terminal: pexpect.spawn[str], prompt: str, answer: str) -> None:
    """Type a prompt, send it once the screen shows its end, and wait for an answer's words."""
    terminal.send(prompt)
    terminal.expect_exact(prompt.split()[-1])
    terminal.send("\r")
    terminal.expect(answer)


def end(terminal: pexpect.spawn[str]) -> None:
    """End the client at once; on a busy machine that takes longer than pexpect waits for."""
    terminal.kill(signal.SIGKILL)
    terminal.wait()
    terminal.close()
