"""Other names that a text gives: only what it really says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture import remember
from memory_fabric.capture.mentions import aliases_in
from memory_fabric.store.queries.entity_search import find
from memory_fabric.store.queries.graph import entities_by_key
from store.support import USER, World, create, database


@pytest.mark.parametrize(
    ("text", "name", "aliases"),
    [
        ("We run it on Kubernetes (k8s) from now on.", "Kubernetes", ("k8s",)),
        ("We deploy to k8s because it scales.", "Kubernetes", ("k8s",)),
        ("The billing-service (bs) owns invoices.", "billing-service", ("bs",)),
        ("The bs (billing-service) owns invoices.", "billing-service", ("bs",)),
        ("We use PostgreSQL (12) there.", "PostgreSQL", ()),
        ("We use PostgreSQL (our database) there.", "PostgreSQL", ()),
        ("The order-service (the new one) is slow.", "order-service", ()),
        ("We chose Redis (not Memcached).", "Redis", ()),
        ("Kubernetes is Kubernetes.", "Kubernetes", ()),
        ("We use kubernetes.", "Kubernetes", ()),
        ("The api (application-programming) stays.", "api", ()),
    ],
)
def test_abbreviations_of_an_entity_name_are_aliases_but_remarks_are_not(
    text: str, name: str, aliases: tuple[str, ...]
) -> None:
    assert aliases_in(text, [name]) == ({name: aliases} if aliases else {})


@given(st.text(), st.text(min_size=1))
def test_any_text_is_read(text: str, name: str) -> None:
    for aliases in aliases_in(f"{text} {name} ({text}) ({name})", [name]).values():
        assert all(alias and " " not in alias for alias in aliases)


def test_a_short_form_in_a_remembered_text_becomes_an_alias_of_its_entity(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()

    text = "We decided to run everything on Kubernetes (k8s) because it scales."
    remember.state(memory, remember.stated(memory, text), USER)

    [entity] = entities_by_key(database(memory), ["k8s"]).values()
    assert entity.name == "Kubernetes"
    assert "Kubernetes" in [name for _, name in find(database(memory), "k8s").best]


def test_a_short_form_that_already_names_an_entity_is_not_reassigned(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, {"name": "bs", "entityType": "component", "observations": ["a basket"]})

    text = "We decided that the billing-service (bs) owns the invoices."
    remember.state(memory, remember.stated(memory, text), USER)

    assert entities_by_key(database(memory), ["bs"])["bs"].name == "bs"
