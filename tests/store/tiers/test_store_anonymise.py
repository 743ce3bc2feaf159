"""Texts for all projects: what could tell whose they are is replaced, and common words are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import Entity, Relation
from memory_fabric.store.tiers import anonymise
from store.support import World, create, decision, entity, git_folder

NAMES = {"api": "the project", "billing-core": "the project", "Acme Corp": "a company"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bind to 127.0.0.1, not to 10.1.2.3", "Bind to 127.0.0.1, not to an address"),
        ("Allow 10.0.0.0/8 but not 10.1.0.0/16", "Allow 10.0.0.0/8 but not an address"),
        (
            "At 12:30:45:10 ask fe80:1:2:3 or 2001:db8::1",
            "At 12:30:45:10 ask an address or an address",
        ),
        ("Push to github.com, not git.shop.internal:22", "Push to github.com, not a host"),
        ("See HTTPS://wiki.shop.example/x and b@shop.example", "See a link and someone"),
        ("Use socket.io and web3 on build7", "Use socket.io and web3 on a host"),
        ("Ask host build7 or server `web-03`", "Ask a host or a host"),
        ("Ask the host build7 or the server web-03", "Ask a host or a host"),
        (
            "Ask fe80::1, fd12:3:4::5:6 or 2001:db8::a:1.",
            "Ask an address, an address or an address.",
        ),
        (
            "Call std::abs, fs::add and fed::cab of C++",
            "Call std::abs, fs::add and fed::cab of C++",
        ),
        ("The keys in ~/.ssh/id and /srv/x, src/a/b.py", "The keys in a path and a path, a path"),
        (
            "Ask @ann_smith about @dataclass and @Override",
            "Ask someone about @dataclass and @Override",
        ),
        ("Log in as user: ann, not user=root", "Log in as user: someone, not user=root"),
        ("Run ssh root or ssh root@x1, ssh deploys", "Run ssh root or ssh someone, ssh deploys"),
        ("Use billing core and BillingCore", "Use the project and the project"),
        (
            "Keep billing-core-db and api, not rest-api",
            "Keep the project-db and the project, not rest-api",
        ),
        ("The API of Api and BILLING-CORE", "The API of the project and the project"),
        ("For acme_corp and ACME CORP", "For a company and a company"),
        ("Use Feed::Parser and 2024::Foo", "Use Feed::Parser and 2024::Foo"),
        ("Nothing here", "Nothing here"),
    ],
)
def test_what_identifies_somebody_is_replaced_by_a_general_word(text: str, expected: str) -> None:
    assert anonymise.cleaned(text, NAMES) == expected


def test_a_short_word_in_capitals_that_is_the_name_itself_is_replaced() -> None:
    names = {"ACME": "a company", "shops": "the project"}

    assert anonymise.cleaned("ACME has SHOPS", names) == "a company has the project"


def test_names_are_those_of_the_project_its_owners_the_user_and_the_entities_of_people(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, "shop")
    git_folder(world.project, "git@git.acme.example:Acme-Corp/web/billing.git")
    (tmp_path / ".gitconfig").write_text(
        '[user]\n\tname = "Ann de Lee"\n\temail = ann+x@y.example\n[core]\n\tname = no\n'
    )
    with (world.project / ".git" / "config").open("a") as config:
        config.write("[user]\n\temail = nobody\n\tname =\n")
    memory = world.memory(USER="annabel")
    create(memory, entity("Globex", kind="Company"), entity("Bob", kind="person"))
    create(memory, entity("Redis", kind="technology"), entity("x", kind="person"))

    names = anonymise.identifying_names(memory)

    lengths = [len(name) for name in names]
    assert lengths == sorted(lengths, reverse=True) and lengths[-1] > 1
    wanted = {
        "git.acme.example": "a host",
        "acme-corp": "the owner",
        "web": "the owner",
        "billing": "the project",
        "shop": "the project",
        "Globex": "a company",
        "Bob": "someone",
        "annabel": "someone",
        "Ann de Lee": "someone",
        "Ann": "someone",
        "Lee": "someone",
    }
    assert wanted.items() <= names.items()
    assert names[memory.settings.origin] == "a host"
    assert names.keys().isdisjoint({"Redis", "x", "de", "no", "nobody", "github.com", ""})


def test_the_host_of_a_public_repository_and_a_common_account_are_no_names(tmp_path: Path) -> None:
    world = World(tmp_path / "root", "shop")
    git_folder(world.project, "https://github.com/acme/shop")

    names = anonymise.identifying_names(world.memory(USER="root"))

    assert names["acme"] == "the owner"
    assert names.keys().isdisjoint({"github.com", "root"})


def test_a_record_for_all_projects_keeps_only_what_tells_nothing_of_its_origin(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, "billing")
    record = decision(
        "Use Redis in billing",
        why="billing is slow",
        category="billing",
        alternatives=("billing x", "Kafka"),
        constraints=("for billing",),
        tradeoffs=("no billing",),
        entities=(Entity("Redis", "technology"), Entity("Bob", "person"), Entity("billing", "x")),
        relations=(Relation("Redis", "serves", "billing"), Relation("Redis", "uses", "disks")),
        project="billing",
        author="ann",
        origin="build7",
        session="s1",
        agent="a1",
        evidence={"file": "x"},
        pinned=True,
    )

    found = anonymise.anonymised(record, world.memory())

    assert found == decision(
        "Use Redis in the project",
        why="the project is slow",
        category="the project",
        alternatives=("the project x", "Kafka"),
        constraints=("for the project",),
        tradeoffs=("no the project",),
        entities=(Entity("Redis", "technology"),),
        relations=(Relation("Redis", "uses", "disks"),),
        pinned=True,
    )
