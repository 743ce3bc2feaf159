"""A server whose project's folder was moved away says so, and fills no other project."""

from __future__ import annotations

import json
from pathlib import Path

from cli.shell import Shell
from servers.http.http_server import INGEST, Serving, serving
from waiting import until

MISSING = "The folder of the served project is missing."


def is_ready(server: Serving) -> bool:
    """Return the answer of `/readyz`."""
    return server.get("/readyz", key="none").status == 200


def until_done(server: Serving, id_: str) -> None:
    """Return once the text was worked off."""
    until(lambda: server.get(f"{INGEST}/{id_}").json["state"] == "done")


def projects(shell: Shell) -> list[str]:
    """The ids of all that are known."""
    return sorted(
        set(json.loads((shell.memory / "registry.json").read_text("utf-8"))["keys"].values())
    )


def test_requests_are_refused_while_the_folder_of_the_served_project_is_missing(
    tmp_path: Path,
) -> None:
    shell = Shell(tmp_path)
    elsewhere = shell.project.with_name("moved")
    with serving(shell) as server:
        before = server.send("Before")
        until_done(server, before.json["id"])
        known = projects(shell)
        shell.project.rename(elsewhere)
        away = [server.send(f"Away {number}") for number in range(3)]
        read = [
            server.get(path)
            for path in (f"{INGEST}/{before.json['id']}", "/v1/memory/recall?q=x", "/api/status")
        ]
        until(lambda: not is_ready(server))
        reasons = server.get("/readyz", key="none").json["reasons"]
        meanwhile = projects(shell)
        elsewhere.rename(shell.project)
        after = server.send("After")
        until_done(server, after.json["id"])
        until(lambda: is_ready(server))

    assert (before.status, after.status) == (202, 202)
    assert [one.status for one in (*away, *read)] == [503] * 6
    assert all(one.json["error"]["message"] == MISSING for one in (*away, *read))
    assert all(str(tmp_path) not in one.body.decode() for one in (*away, *read))
    assert reasons == [MISSING]
    assert known == meanwhile
