"""The identity of a project: by its files, never by its name, and the same after any loss."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import DAMAGED, LOST, SOUND, Project, Registry, Trust
from memory_fabric.store.home import log
from memory_fabric.store.projects import identity, registry_file
from memory_fabric.store.projects.identity import normalised_remote
from memory_fabric.store.projects.registry_file import find_project
from store.support import World, git_folder

REMOTE = "git@github.com:Acme/Billing.git"


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


def project(home: str, folder: Path, user_home: str = "") -> Project:
    found = find_project(home, str(folder), user_home)
    assert found is not None
    return found


def worktree(main: Path, folder: Path, name: str = "wt") -> Path:
    """A linked worktree, as `git worktree add` leaves it."""
    own = main / ".git" / "worktrees" / name
    own.mkdir(parents=True, exist_ok=True)
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{folder}/.git\n")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".git").write_text(f"gitdir: {own}\n")
    return folder


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("git@github.com:Acme/Billing.git", "github.com/acme/billing"),
        ("https://github.com/acme/billing", "github.com/acme/billing"),
        ("https://github.com/acme/billing.git/", "github.com/acme/billing"),
        ("HTTPS://GitHub.com/Acme/Billing.git", "github.com/acme/billing"),
        ("https://ann@github.com/acme/billing.git", "github.com/acme/billing"),
        ("https://ann:p4ss@github.com/acme/billing.git", "github.com/acme/billing"),
        ("https://ann:p4@ss@github.com/acme/billing.git", "github.com/acme/billing"),
        ("ssh://git@github.com/acme/billing.git", "github.com/acme/billing"),
        ("ssh://git@github.com:22/acme/billing.git", "github.com/acme/billing"),
        ("git://github.com/acme/billing.git", "github.com/acme/billing"),
        ("github.com:acme/billing", "github.com/acme/billing"),
        ("git@gitlab.com:group/sub/billing.git", "gitlab.com/group/sub/billing"),
        ("git@host:/srv/git/billing.git", "host/srv/git/billing"),
        ("/srv/git/billing.git", "path:/srv/git/billing"),
        ("file:///srv/git/billing.git", "path:/srv/git/billing"),
        ("../billing.git", "path:/work/billing"),
        ("C:/git/billing.git", "path:/work/here/C:/git/billing"),
        ("  git@github.com:acme/billing.git  ", "github.com/acme/billing"),
    ],
)
def test_different_spellings_of_a_remote_give_the_same_key(url: str, normal: str) -> None:
    assert normalised_remote(url, "/work/here") == normal


def test_no_project_is_found_without_a_folder(home: str) -> None:
    assert find_project(home, "") is None
    assert not os.path.exists(home)


def test_a_project_is_identified_by_its_remote_and_its_git_folder(
    home: str, tmp_path: Path
) -> None:
    folder = git_folder(tmp_path / "here", REMOTE)
    found = project(home, folder)
    assert found.name == "billing" and found.id.startswith("billing-")
    assert found.keys == ("remote:github.com/acme/billing", f"git:{folder}/.git")
    assert found.root == str(folder) and found.local == f"{folder}/.claude/memory"
    assert found.others == ()
    assert project(home, folder) == found


def test_a_second_clone_is_a_new_project_that_names_the_project_of_the_first(
    home: str, tmp_path: Path
) -> None:
    one = project(home, git_folder(tmp_path / "a", REMOTE))
    other = project(home, git_folder(tmp_path / "b", "https://github.com/acme/billing"))
    assert other.id != one.id and other.others == (one.id,)
    assert project(home, tmp_path / "b") == other
    assert project(home, tmp_path / "a") == one


@pytest.mark.parametrize("trust", [Trust(everywhere=True), Trust(roots=("{}/src",))])
def test_a_second_clone_in_a_trusted_folder_joins_the_project_at_once(
    home: str, tmp_path: Path, trust: Trust
) -> None:
    trust = trust._replace(roots=tuple(root.format(tmp_path) for root in trust.roots))
    one = project(home, git_folder(tmp_path / "a", REMOTE))
    inside = find_project(home, str(git_folder(tmp_path / "src" / "b", REMOTE)), "", trust)
    beside = find_project(home, str(git_folder(tmp_path / "src2", REMOTE)), "", trust)
    assert inside is not None and beside is not None
    assert inside.id == one.id
    assert (beside.id == one.id) == trust.everywhere


def test_running_git_init_in_a_known_folder_or_removing_git_keeps_the_project(
    home: str, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    found = project(home, tmp_path / "plain")
    git_folder(tmp_path / "plain")
    assert project(home, tmp_path / "plain").id == found.id
    repository = project(home, git_folder(tmp_path / "other"))
    shutil.rmtree(tmp_path / "other" / ".git")
    assert project(home, tmp_path / "other").id == repository.id


def test_worktrees_belong_to_the_project_of_their_repository(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main")
    linked = worktree(main, tmp_path / "elsewhere")
    inside = worktree(main, main / ".worktrees" / "x", "x")
    found = project(home, main)
    for folder in (linked, inside, linked / "sub"):
        folder.mkdir(exist_ok=True)
        assert project(home, folder)._replace(keys=found.keys) == found


def test_a_removed_worktree_still_belongs_to_its_project(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main")
    linked = worktree(main, tmp_path / "elsewhere")
    found = project(home, linked)
    shutil.rmtree(linked)
    assert project(home, linked).id == found.id == project(home, main).id
    linked.mkdir()
    assert project(home, linked).id != found.id


def test_a_worktree_that_was_pruned_from_the_repository_keeps_its_project(
    home: str, tmp_path: Path
) -> None:
    main = git_folder(tmp_path / "main")
    linked = worktree(main, tmp_path / "elsewhere")
    project(home, linked)
    shutil.rmtree(main / ".git" / "worktrees")
    assert project(home, linked).id == project(home, main).id


def test_another_repository_at_the_path_of_a_worktree_is_another_project(
    home: str, tmp_path: Path
) -> None:
    place = tmp_path / "elsewhere"
    worktree(git_folder(tmp_path / "one"), place)
    one = project(home, place)
    shutil.rmtree(place)
    worktree(git_folder(tmp_path / "two"), place)
    other = project(home, place)
    assert other.id != one.id and other.others == ()
    shutil.rmtree(place)
    assert project(home, place).id == other.id


def test_folders_with_the_same_name_are_different_projects(home: str, tmp_path: Path) -> None:
    folders = [tmp_path / "a" / "app", tmp_path / "b" / "app"]
    plain = [tmp_path / "c" / "app", tmp_path / "d" / "app"]
    for folder in plain:
        folder.mkdir(parents=True)
    found = [project(home, git_folder(f)) for f in folders] + [project(home, f) for f in plain]
    assert len({p.id for p in found}) == 4
    assert {p.name for p in found} == {"app"}


def test_a_nested_repository_is_a_separate_project(home: str, tmp_path: Path) -> None:
    outer = git_folder(tmp_path / "outer", REMOTE)
    inner = git_folder(outer / "vendor" / "inner", "git@github.com:acme/inner.git")
    assert project(home, inner).id != project(home, outer).id


def test_a_submodule_is_a_separate_project(home: str, tmp_path: Path) -> None:
    outer = git_folder(tmp_path / "outer", REMOTE)
    module = outer / ".git" / "modules" / "lib"
    module.mkdir(parents=True)
    (module / "config").write_text("[core]\n\tworktree = ../../../lib\n")
    (outer / "lib").mkdir()
    (outer / "lib" / ".git").write_text("gitdir: ../.git/modules/lib\n")
    found = project(home, outer / "lib")
    assert found.id != project(home, outer).id
    assert found.name == "lib" and found.root == str(outer / "lib")


def test_a_folder_within_a_repository_belongs_to_the_repository(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "mono", REMOTE)
    deep = main / "packages" / "api" / "src"
    deep.mkdir(parents=True)
    assert project(home, deep) == project(home, main)


def test_a_folder_without_git_is_a_separate_project(home: str, tmp_path: Path) -> None:
    (tmp_path / "plain" / "sub").mkdir(parents=True)
    assert project(home, tmp_path / "plain").id != project(home, tmp_path / "plain" / "sub").id
    assert project(home, tmp_path / "plain").keys == (f"folder:{tmp_path}/plain",)


def test_a_symbolic_link_resolves_to_the_project(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main")
    (tmp_path / "link").symlink_to(main)
    assert project(home, tmp_path / "link") == project(home, main)


def test_a_changed_remote_keeps_the_project_and_adds_the_new_key(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main", REMOTE)
    found = project(home, main)
    git_folder(main, "git@gitlab.com:acme/billing.git")
    assert project(home, main).id == found.id
    clone = git_folder(tmp_path / "clone", "https://gitlab.com/acme/billing")
    assert project(home, clone).others == (found.id,)


def test_adding_a_remote_to_a_repository_keeps_its_project(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main")
    found = project(home, main)
    git_folder(main, REMOTE)
    assert project(home, main).id == found.id


def test_a_project_that_gets_the_remote_of_another_stays_separate_and_names_the_other(
    home: str, tmp_path: Path
) -> None:
    one = project(home, git_folder(tmp_path / "one"))
    other = project(home, git_folder(tmp_path / "other", REMOTE))
    git_folder(tmp_path / "one", REMOTE)
    found = project(home, tmp_path / "one")
    assert (found.id, found.others) == (one.id, (other.id,))


def test_the_origin_remote_is_used_or_else_the_first_remote(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main")
    (main / ".git" / "config").write_text(
        '[remote "fork"]\n\tfetch = x\n\turl = git@x.org:me/fork.git\n'
        '[Remote "upstream"]\n\turl = "git@x.org:them/up.git"\n[branch "main"]\n\turl = no\n'
    )
    assert project(home, main).keys[0] == "remote:x.org/me/fork"
    with open(main / ".git" / "config", "a") as config:
        config.write('[remote "origin"]\n\turl = git@x.org:me/origin.git\n')
    assert project(home, main).keys[0] == "remote:x.org/me/origin"


def test_worktrees_of_a_bare_repository_are_one_project(home: str, tmp_path: Path) -> None:
    bare = tmp_path / "billing.git"
    for name in ("one", "two"):
        own = bare / "worktrees" / name
        own.mkdir(parents=True)
        (own / "commondir").write_text("../..\n")
        (own / "gitdir").write_text(f"{tmp_path / name}/.git\n")
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_text(f"gitdir: {own}\n")
    one, two = project(home, tmp_path / "one"), project(home, tmp_path / "two")
    assert one.id == two.id and one.name == "billing"


@pytest.mark.parametrize("where", ["home", "root", "bare", "missing", "temporary"])
def test_the_local_memory_of_a_project_is_in_home_if_its_folder_is_unsuitable(
    home: str, tmp_path: Path, where: str
) -> None:
    bare = tmp_path / "x.git"
    bare.mkdir()
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    folder = {
        "home": tmp_path,
        "root": Path("/"),
        "bare": bare,
        "missing": tmp_path / "gone",
        "temporary": Path("/tmp"),
    }[where]
    found = project(home, folder, str(tmp_path))
    assert found.local == os.path.join(home, "projects", found.id, "local")


READ_ONLY = """
import sys
from memory_fabric.store.projects.registry_file import find_project
print(find_project(sys.argv[1], sys.argv[2]).local)
"""


def test_the_local_memory_of_a_read_only_project_is_in_home(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main")
    main.chmod(0o500)
    said = World(tmp_path / "w").run(READ_ONLY, home, str(main), strict=True)
    main.chmod(0o700)
    assert said.startswith(home)


def test_unreadable_git_files_cause_no_error(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main", REMOTE)
    (main / ".git" / "config").chmod(0)
    said = World(tmp_path / "w").run(READ_ONLY, home, str(main), strict=True)
    assert said == f"{main}/.claude/memory\n"


@pytest.mark.parametrize("registry", [None, b"", b"{", b'{"keys": []}', b"\xff\xfe"])
def test_a_lost_or_damaged_project_registry_is_rebuilt_from_the_project_json_files(
    home: str, tmp_path: Path, registry: bytes | None
) -> None:
    main = git_folder(tmp_path / "main")
    found = project(home, main)
    git_folder(main, REMOTE)
    project(home, main)
    other = project(home, git_folder(tmp_path / "other"))
    path = Path(home) / registry_file.REGISTRY
    whole = path.read_text()
    path.unlink()
    if registry is not None:
        path.write_bytes(registry)
    assert project(home, main).id == found.id
    clone = git_folder(tmp_path / "clone", REMOTE)
    assert project(home, clone).others == (found.id,)
    assert project(home, tmp_path / "other").id == other.id
    assert json.loads(whole)["keys"].items() <= json.loads(path.read_text())["keys"].items()


def test_any_flipped_bit_in_the_registry_is_detected_and_all_projects_are_still_found(
    home: str, tmp_path: Path
) -> None:
    """Each is noticed, and what the cards say counts."""
    folders = [git_folder(tmp_path / "a", REMOTE), git_folder(tmp_path / "b")]
    known = [project(home, folder).id for folder in folders]
    path = Path(home) / registry_file.REGISTRY
    whole = path.read_bytes()
    for bit in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        found = registry_file.read_registry(home)
        identities = [identity.identify(str(folder)) for folder in folders]
        assert [registry_file.place_owner(found, one) for one in identities] == known, bit
        assert found.state == DAMAGED, bit


def test_a_damaged_registry_is_set_aside_and_reported_once(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main")
    found = project(home, main)
    path = Path(home) / registry_file.REGISTRY
    damaged = path.read_text().replace("main", "mail")
    path.write_text(damaged)

    assert project(home, main).id == found.id and project(home, main).id == found.id

    [aside] = Path(home).glob("registry.json.damaged-*")
    assert aside.read_text() == damaged
    [told] = log.take(home)
    assert str(aside) in told and "cards" in told
    assert registry_file.read_registry(home).state == SOUND


def test_a_lost_registry_is_reported_once(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main")
    for folder in (main, git_folder(tmp_path / "other")):
        project(home, folder)
    assert log.take(home) == []
    path = Path(home) / registry_file.REGISTRY
    path.unlink()

    for _ in range(2):
        project(home, main)

    assert log.take(home) == [f"{path} was lost; it was rebuilt from the cards of 2 projects."]


def test_a_rebuilt_registry_keeps_what_the_user_settled_and_was_asked_about(
    home: str, tmp_path: Path
) -> None:
    project(home, git_folder(tmp_path / "one", REMOTE))
    other = project(home, git_folder(tmp_path / "other", REMOTE))
    before = registry_file.read_registry(home)
    assert before.asked and before.settled
    path = Path(home) / registry_file.REGISTRY
    path.unlink()

    found = registry_file.read_registry(home)
    assert (found.state, found.keys, found.settled) == (LOST, before.keys, before.settled)
    assert found.asked == before.asked
    assert project(home, tmp_path / "other").id == other.id


def test_keys_and_cards_that_only_the_other_side_has_are_found(home: str, tmp_path: Path) -> None:
    one, other = (project(home, git_folder(tmp_path / name)) for name in ("one", "other"))
    registry, cards = registry_file.read_registry(home), registry_file.read_cards(home)
    lacking = registry._replace(keys={k: v for k, v in registry.keys.items() if v != one.id})

    assert registry_file.missing_keys(cards, registry) == []
    assert {*registry_file.missing_keys(cards, lacking)} == {*one.keys}
    assert not registry_file.has_lost_card(home, other.id)
    (Path(identity.folder_of(home, other.id)) / registry_file.CARD).unlink()
    assert registry_file.has_lost_card(home, other.id)
    (Path(home) / registry_file.REGISTRY).unlink()
    assert not registry_file.has_lost_card(home, other.id)


def test_a_key_that_two_cards_have_belongs_to_the_project_that_settled_it(home: str) -> None:
    def rebuilt(settled: list[str]) -> Registry:
        cards: dict[str, list[str]] = {"a-1": [], "b-2": settled}
        for id_, own in cards.items():
            card = Path(identity.folder_of(home, id_)) / registry_file.CARD
            card.parent.mkdir(parents=True, exist_ok=True)
            card.write_text(json.dumps({"id": id_, "keys": ["folder:/x"], "settled": own}))
        return registry_file.read_registry(home)

    assert rebuilt([]).keys == {"folder:/x": "a-1"}
    assert rebuilt(["folder:/x"]).keys == {"folder:/x": "b-2"}


def test_the_user_is_told_why_a_folder_may_be_another_project(home: str, tmp_path: Path) -> None:
    one = project(home, git_folder(tmp_path / "one", REMOTE))
    other = project(home, git_folder(tmp_path / "other", REMOTE))

    (told,) = log.take(home, other.id)

    assert told.startswith(
        f"{tmp_path}/other states the remote github.com/acme/billing of the project billing, "
        "which proves nothing"
    )
    assert f"project link {one.id} " in told
    assert log.take(home, one.id) == []


def test_settled_keys_of_a_folder_decide_before_its_other_keys() -> None:
    registry = Registry({"a": "a-1", "b": "b-2", "c": "c-3"}, settled=("c",))

    assert registry_file.owner_of(registry, ["x", "b", "a"]) == "b-2"
    assert registry_file.owner_of(registry, ["b", "c"]) == "c-3"
    assert registry_file.owner_of(registry, ["x"]) == registry_file.owner_of(registry, []) == ""


@pytest.mark.parametrize(
    ("key", "folder"),
    [
        ("git:/a/b/.git", "/a/b"),
        ("git:/a/b.git", "/a/b.git"),
        ("folder:/a/.git", "/a/.git"),
        ("worktree:/a/b", "/a/b"),
    ],
)
def test_a_key_refers_to_a_folder(key: str, folder: str) -> None:
    assert registry_file.folder_in(key) == folder
    assert registry_file.folders_in(["remote:h/a/b", key, key, "git:x"]) == [folder]


def test_an_invalid_project_id_in_the_registry_is_ignored(home: str, tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main")
    key = f"git:{main}/.git"
    keys: Any
    for keys in ({key: bad} for bad in ("../../etc", "", 3, None, "a/b")):
        registry_file.write_registry(home, Registry(keys), {})
        assert project(home, main).id.startswith("main-")


@pytest.mark.parametrize("card", ["{", "[]", '{"keys": 3}', '{"keys": "git:x"}', ""])
def test_an_invalid_project_json_file_is_ignored(home: str, tmp_path: Path, card: str) -> None:
    found = project(home, git_folder(tmp_path / "main"))
    (Path(home) / registry_file.REGISTRY).unlink()
    (Path(identity.folder_of(home, found.id)) / "project.json").write_text(card)
    assert project(home, tmp_path / "main").id == found.id


def test_a_project_has_the_same_id_if_home_is_unwritable(tmp_path: Path) -> None:
    main = git_folder(tmp_path / "main", REMOTE)
    (tmp_path / "file").write_text("")
    one = project(str(tmp_path / "file" / "home"), main)
    assert one.id == project(str(tmp_path / "home"), main).id


def test_project_ids_are_readable_and_unique(home: str) -> None:
    one = registry_file.new_id("git:/a", "Ünï Cödé!", ())
    assert one.startswith("n-c-d-")
    assert registry_file.new_id("git:/a", "Ünï Cödé!", {one}) != one
    assert registry_file.new_id("k", "", ()).startswith("project-")
    long = registry_file.new_id("k", "x" * 50, ())
    assert long.rpartition("-")[0] == "x" * 40 and len(long) == 49


REGISTER = """
import sys
from memory_fabric.store.projects.registry_file import find_project
sys.stdin.readline()
for folder in sys.argv[2:]:
    print(find_project(sys.argv[1], folder).id)
"""


def test_processes_that_register_projects_concurrently_agree_on_their_ids(
    home: str, tmp_path: Path
) -> None:
    folders = [str(git_folder(tmp_path / f"p{i}")) for i in range(6)]
    world = World(tmp_path / "w")
    processes = [world.start(REGISTER, home, *order) for order in (folders, folders[::-1], folders)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = []
    for process in processes:
        output, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
        said.append(sorted(output.split()))
    assert said[0] == said[1] == said[2] and len(set(said[0])) == 6
    assert len(json.loads((Path(home) / registry_file.REGISTRY).read_text())["keys"]) == 6
