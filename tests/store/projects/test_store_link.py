"""Plans of links between a folder and another project, and what carrying them out copies."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.deadline import Deadline, running
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import link, registry_file
from store.queues.operations import locked
from store.support import USER, World, create, database, decision, entity, git_folder, relation

REMOTE = "git@example.com:acme/billing.git"


def filled(root: Path, name: str, remote: str = "") -> Memory:
    """Open the memory of a project with one record, two entities and one relation."""
    world = World(root, name)
    git_folder(world.project, remote)
    memory = world.memory()
    memory.remember(decision(f"Use Redis in {name}"), USER)
    create(memory, entity(f"{name} api", "x"), entity("shared", name))
    edges = [relation("shared", "is in", f"{name} api")]
    memory.write("create_relations", {"relations": edges}, USER)
    return memory


def registered(root: Path, name: str) -> Memory:
    """Open the empty memory of a project."""
    return World(root, name).memory()


def id_of(memory: Memory) -> str:
    assert memory.project is not None
    return memory.project.id


def whats(memory: Memory) -> set[str]:
    return {record.what for record in memory.find_records("1")}


def registry(memory: Memory) -> Any:
    return registry_file.read_registry(memory.settings.home)


def test_projects_are_listed_by_name_with_their_folders_and_contents(tmp_path: Path) -> None:
    one = filled(tmp_path, "web")
    other = filled(tmp_path, "shop")
    broken = filled(tmp_path, "broken")
    path = Path(broken.path_of("project"))
    broken.close()
    path.write_bytes(b"no database" * 1000)

    lost, shop, web = link.list_projects(one.settings.home)

    assert (lost.name, lost.records, lost.entities) == ("broken", None, None)
    assert (shop.id, shop.name, shop.records, shop.entities) == (id_of(other), "shop", 1, 2)
    assert (web.folders, web.asked) == ((str(tmp_path / "web"),), False)
    assert web.keys == (f"git:{tmp_path}/web/.git",)
    assert lost.size_bytes == 11_000 and web.size_bytes > 11_000


def test_a_link_copies_the_memory_of_a_project_without_other_folders_and_its_undo_takes_it_back(
    tmp_path: Path,
) -> None:
    other, here = filled(tmp_path, "shop"), filled(tmp_path, "web")
    other.close()
    told: list[tuple[int, int]] = []

    plan = link.plan(here, "link", "shop")
    assert (plan.action, plan.old.id, plan.new.id) == ("link", id_of(here), id_of(other))
    assert [project.id for project in plan.left] == [id_of(here)]
    assert plan.coming == 3
    assert plan.before == ((f"git:{tmp_path}/web/.git", id_of(here)),)

    count = link.carry_out(here, plan, USER, lambda done, of: told.append((done, of)))

    assert count == 3
    assert told == [(number, 4) for number in range(1, 5)]
    linked = World(tmp_path, "web").memory()
    assert id_of(linked) == id_of(other)
    assert whats(linked) == {"Use Redis in shop", "Use Redis in web"}
    assert registry(linked).settled == (f"git:{tmp_path}/web/.git",)
    with pytest.raises(BadInput, match=r"belongs to .* already"):
        link.plan(linked, "link", "shop")

    undone = link.plan(linked, "undo")
    assert (undone.new.id, undone.coming, undone.left) == (id_of(here), 0, ())
    assert link.carry_out(linked, undone, USER) == 0
    back = World(tmp_path, "web").memory()
    assert (id_of(back), whats(back)) == (id_of(here), {"Use Redis in web"})
    assert whats(World(tmp_path, "shop").memory()) == {"Use Redis in shop"}
    assert registry(back).settled == () and registry(back).undo == {}
    with pytest.raises(NotFound):
        link.plan(back, "undo")


def test_a_project_that_loses_its_last_folder_also_gives_up_the_remote_of_the_folder(
    tmp_path: Path,
) -> None:
    world, other = World(tmp_path, "web"), World(tmp_path, "clone")
    for one in (world, other):
        git_folder(one.project, REMOTE)
    here, clone = world.memory(), other.memory()
    registered(tmp_path, "shop")
    keys = (f"git:{tmp_path}/web/.git", "remote:example.com/acme/billing")

    moved = link.plan(here, "link", "shop").before
    of_clone = link.plan(clone, "link", "shop").before

    assert moved == tuple((key, id_of(here)) for key in keys)
    assert of_clone == ((f"git:{tmp_path}/clone/.git", id_of(clone)),)


def test_a_plan_that_another_process_overtook_is_refused(tmp_path: Path) -> None:
    registered(tmp_path, "shop").close()
    here = registered(tmp_path, "web")
    plan = link.plan(here, "link", "shop")
    changed = registry(here)
    keys = {**changed.keys, f"git:{tmp_path}/web/.git": "other-1"}
    registry_file.write_registry(here.settings.home, changed._replace(keys=keys), {})

    with pytest.raises(BadInput, match="Another process changed the links"):
        link.carry_out(here, plan, USER)


def test_a_folder_that_claims_another_project_is_asked_about_it_until_it_is_linked(
    tmp_path: Path,
) -> None:
    one = filled(tmp_path, "one", REMOTE)
    other = filled(tmp_path, "other", REMOTE)
    assert link.pending_question(one) == ""
    assert f"project link {id_of(one)} " in link.pending_question(other)
    asked = {project.id: project.asked for project in link.list_projects(one.settings.home)}
    assert asked == {id_of(one): False, id_of(other): True}

    split = link.plan(other, "split")
    assert split.new.id == id_of(other)
    plan = link.plan(other, "link")
    assert plan.new.id == id_of(one)
    link.carry_out(other, plan, USER)

    linked = World(tmp_path, "other").memory()
    assert id_of(linked) == id_of(one) and link.pending_question(linked) == ""
    assert registry(linked).asked == ()


def test_an_unknown_project_is_not_found(tmp_path: Path) -> None:
    here = registered(tmp_path, "web")

    for wanted in ("nobody", "/none/of/these", "git:/none/.git"):
        with pytest.raises(NotFound, match="No project is known by"):
            link.plan(here, "link", wanted)


def test_a_project_is_named_by_its_id_key_folder_or_unique_name(tmp_path: Path) -> None:
    shop = registered(tmp_path, "shop")
    for name in ("a", "b"):
        (tmp_path / name / "twice").mkdir(parents=True)
        registry_file.find_project(shop.settings.home, str(tmp_path / name / "twice"))
    here = registered(tmp_path, "web")
    folder = str(tmp_path / "shop")

    for wanted in (id_of(shop), "shop", folder, f"{folder}/.git/..", f"git:{folder}/.git"):
        assert link.plan(here, "link", wanted).new.id == id_of(shop)
    with pytest.raises(BadInput, match="is the name of several projects"):
        link.plan(here, "link", "twice")
    with pytest.raises(BadInput, match="This folder claims no other project"):
        link.plan(here, "link")
    (tmp_path / "shop").rename(tmp_path / "gone")
    assert link.plan(here, "link", folder).new.id == id_of(shop)


def test_copying_a_database_that_does_not_exist_copies_nothing(tmp_path: Path) -> None:
    here = World(tmp_path).memory()

    assert link.copy_into(here, str(tmp_path / "none.db"), "project x", USER) == 0
    assert database(here).rows("SELECT * FROM operations") == []


@pytest.mark.parametrize("former", ["worktree", "remote"])
def test_a_link_copies_the_memory_of_a_repository_that_had_a_worktree_or_another_remote(
    tmp_path: Path, former: str
) -> None:
    web = filled(tmp_path, "web", REMOTE)
    folder, git = tmp_path / "web-fix", tmp_path / "web" / ".git" / "worktrees" / "fix"
    if former == "worktree":
        git.mkdir(parents=True)
        folder.mkdir()
        (git / "gitdir").write_text(f"{folder}/.git\n")
        (folder / ".git").write_text(f"gitdir: {git}\n")
        assert id_of(World(tmp_path, "web").memory(CLAUDE_PROJECT_DIR=str(folder))) == id_of(web)
    else:
        git_folder(tmp_path / "web", "git@example.com:acme/web.git")
        web = Memory.open(web.settings)
    shop = filled(tmp_path, "shop")

    plan = link.plan(web, "link", id_of(shop))
    count = link.carry_out(web, plan, USER)

    assert ([project.id for project in plan.left], plan.coming, count) == ([id_of(web)], 3, 3)
    assert "Use Redis in web" in whats(Memory.open(web.settings))
    now = Memory.open(web.settings)
    link.carry_out(now, link.plan(now, "undo"), USER)
    assert whats(Memory.open(web.settings)) == {"Use Redis in web"}
    assert whats(shop) == {"Use Redis in shop"}


def test_a_link_copies_a_change_that_waits_in_the_home_folder_of_the_project_left(
    tmp_path: Path,
) -> None:
    web, shop = filled(tmp_path, "web"), filled(tmp_path, "shop")
    shutil.rmtree(tmp_path / "web" / ".claude", ignore_errors=True)
    (tmp_path / "web" / ".claude").write_text("no folder")
    web = Memory.open(web.settings)
    other = locked(web)
    with running(Deadline(3600, lock_s=0.15, hurried=True)):
        web.remember(decision("Use Nomad in web"), USER)
    other.execute("ROLLBACK")

    web = Memory.open(web.settings)
    link.carry_out(web, link.plan(web, "link", id_of(shop)), USER)

    assert "Use Nomad in web" in whats(Memory.open(web.settings))
