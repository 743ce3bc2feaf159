"""Other projects of a home on one server: the list, and the memory of the one that is asked for."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cli.shell import Shell
from command_line import run_here
from memory_fabric.config import read_settings
from memory_fabric.servers.http import project_stores
from memory_fabric.store.memory import Memory
from servers.http.http_server import Serving, serving

OLDEST = Path(__file__).parents[2] / "store/databases/v8.db.gz"
ISOLATED = "[domains.legal]\nisolate = true\n"


class Home(Shell):
    """A shell with more projects beside the one that is served."""

    def project_at(self, name: str, *texts: str, domain: str = "general") -> str:
        """Make a project of this name with these memories; return its id."""
        folder = self.project.parent / name
        (folder / ".git").mkdir(parents=True)
        for text in texts:
            words = ("remember", text, "--domain", domain)
            assert run_here(words, self.environ, folder, "").status == 0
        (found,) = self.memory.glob(f"projects/{name}-*")
        return found.name


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a served project, two others, and one of the first release."""
    home = Home(tmp_path_factory.mktemp("projects"))
    home.remember("Use cursor-pagination for the orders-api")
    home.project_at("billing", "Use Stripe for the invoices", "Always round to cents")
    home.project_at("claims", "Never send a claim by fax", domain="legal")
    old = home.project_at("legacy", "Something else")
    (home.memory / "projects" / old / "graph.db").write_bytes(gzip.decompress(OLDEST.read_bytes()))
    home.project_at("nothing", "x")
    return home


@pytest.fixture(scope="module")
def server(home: Home) -> Iterator[Serving]:
    """A server of the first project."""
    with serving(home) as found:
        yield found


def id_of(home: Home, name: str) -> str:
    """The id of a project."""
    (found,) = home.memory.glob(f"projects/{name}-*")
    return found.name


def test_the_list_of_projects_contains_every_project_with_a_memory(
    home: Home, server: Serving
) -> None:
    answer = server.ask("/api/projects")

    rows = {one["name"]: one for one in answer["projects"]}
    assert set(rows) == {"shop", "billing", "claims", "legacy", "nothing"}
    assert answer["served"] == id_of(home, "shop")
    assert (rows["billing"]["records"], rows["billing"]["readable"]) == (2, True)
    assert rows["billing"]["folder"].endswith("/billing")
    moments = [one["changed_at"] for one in answer["projects"]]
    assert moments == sorted(moments, reverse=True) and all(moments)


def test_a_question_about_another_project_is_answered_from_the_memory_of_that_project(
    home: Home, server: Serving
) -> None:
    billing = id_of(home, "billing")

    picture = server.ask("/api/picture", project=billing)
    found = server.ask("/api/recall", project=billing, q="invoices")
    tiers = server.ask("/api/status", project=billing)["tiers"]
    changes = server.ask("/api/history", project=billing)

    assert picture["project"] == {"name": "billing", "id": billing}
    assert {one["what"] for one in picture["records"]} == {
        "Use Stripe for the invoices",
        "Always round to cents",
    }
    assert "Stripe" in found["results"][0]["text"]
    assert billing in next(tier["where"] for tier in tiers if tier["tier"] == "graph")
    assert len(changes) == 2
    assert server.ask("/api/picture")["project"]["name"] == "shop"
    assert server.ask("/api/picture", project=id_of(home, "shop"))["project"]["name"] == "shop"


def test_another_project_is_reported_as_healthy_without_a_write_warning(
    home: Home, server: Serving
) -> None:
    tiers = server.ask("/api/picture", project=id_of(home, "billing"))["tiers"]

    findings = [finding["reason"] for tier in tiers for finding in tier["findings"]]
    assert not [reason for reason in findings if "cannot be written" in reason]
    assert next(tier["state"] for tier in tiers if tier["tier"] == "graph") == "healthy"


def test_viewing_a_database_of_the_first_release_does_not_change_it(
    home: Home, server: Serving
) -> None:
    legacy = id_of(home, "legacy")
    folder = home.memory / "projects" / legacy
    before = (folder / "graph.db").read_bytes()

    picture = server.ask("/api/picture", project=legacy)
    found = server.ask("/api/recall", project=legacy, q="api")

    assert "api" in {one["name"] for one in picture["entities"]}
    assert found["total_results"] > 0
    assert (folder / "graph.db").read_bytes() == before
    assert not list(folder.glob("graph.db-wal")) and not (folder / "backups").exists()


@pytest.mark.parametrize("asked", ["shop-000000000000", "../user", "..", "%", "x" * 300])
def test_an_unknown_project_is_not_found(server: Serving, asked: str) -> None:
    reply = server.get(f"/api/picture?project={asked}")

    assert (reply.status, reply.code) == (404, "not_found")
    assert "project list" in reply.json["error"]["remedy"]


def test_listing_the_projects_requires_the_key(home: Home, server: Serving) -> None:
    for path in ("/api/projects", f"/api/picture?project={id_of(home, 'billing')}"):
        assert server.get(path, key="none").status == 401


def test_a_server_with_an_isolated_domain_shows_no_memories_of_other_domains(home: Home) -> None:
    (home.memory / "config.toml").write_text(ISOLATED)
    try:
        with serving(home, MEMORY_FABRIC_DOMAIN="legal") as confined:
            listed = confined.ask("/api/projects")["projects"]
            others = confined.ask("/api/picture", project=id_of(home, "billing"))
            own = confined.ask("/api/picture", project=id_of(home, "claims"))
            old = confined.get(f"/api/picture?project={id_of(home, 'legacy')}")
    finally:
        (home.memory / "config.toml").unlink()

    assert [(one["name"], one["records"]) for one in listed] == [("claims", 1)]
    assert (others["records"], others["entities"]) == ([], [])
    assert [one["what"] for one in own["records"]] == ["Never send a claim by fax"]
    assert (old.status, old.code) == (503, "unavailable")


def test_a_server_reachable_from_other_machines_shows_only_its_own_project(home: Home) -> None:
    key = home.run("serve", "--new-key").out.strip()
    with serving(home, "--host", "0.0.0.0") as server:
        port = f"localhost:{server.port}"
        listed = server.get("/api/projects", key=key, Host=port).json
        own = server.get(f"/api/picture?project={listed['served']}", key=key, Host=port)
        other = server.get(f"/api/picture?project={id_of(home, 'billing')}", key=key, Host=port)

    assert listed["projects"] == []
    assert own.json["project"]["name"] == "shop"
    assert (other.status, other.code) == (404, "not_found")


def test_memories_of_a_project_whose_folder_was_deleted_are_still_shown(tmp_path: Path) -> None:
    home = Home(tmp_path)
    gone = home.project_at("gone", "Use tabs in the Makefile")
    (home.project.parent / "gone" / ".git").rmdir()
    for left in sorted((home.project.parent / "gone").rglob("*"), reverse=True):
        left.rmdir() if left.is_dir() else left.unlink()
    (home.project.parent / "gone").rmdir()

    with serving(home) as server:
        picture = server.ask("/api/picture", project=gone)

    assert [one["what"] for one in picture["records"]] == ["Use tabs in the Makefile"]
    assert not (home.project.parent / "gone").exists()


def test_a_damaged_project_is_listed_and_hides_no_other_project(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.remember("Use cursor-pagination for the orders-api")
    folder = home.memory / "projects" / home.project_at("billing", "Use Stripe")
    path = folder / "graph.db"
    with closing(sqlite3.connect(path)) as c:
        c.execute("UPDATE records SET status = 'candidate'")
        c.commit()
        (root,) = c.execute("SELECT rootpage FROM sqlite_master WHERE name = 'records'").fetchone()
        (size,) = c.execute("PRAGMA page_size").fetchone()
        c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = path.read_bytes()
    at = (root - 1) * size
    path.write_bytes(content[:at] + b"\xff" * size + content[at + size :])

    with closing(Memory.open(read_settings({**home.environ}, {}))) as memory:
        listed = project_stores.projects(memory)["projects"]

    assert {one["name"]: one["readable"] for one in listed}["billing"] is False
    assert len(listed) == 2
