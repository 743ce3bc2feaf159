"""Entities and relations of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.extract import chosen, extract
from memory_fabric.capture.mentions import MAX_NAME_BYTES
from memory_fabric.models import ENTITY_TYPES


def named(text: str, known: dict[str, str] | None = None) -> dict[str, str]:
    entities, _ = extract(text, known=known or {})
    return {entity.name: entity.type for entity in entities}


def related(text: str) -> list[tuple[str, str, str]]:
    _, relations = extract(text)
    return [(r.source, r.type, r.target) for r in relations]


def test_br7_agents_technologies_patterns_and_their_relations_are_extracted() -> None:
    text = "database-engineer uses pgvector for RAG applications"
    assert named(text) == {
        "database-engineer": "agent",
        "pgvector": "technology",
        "RAG": "pattern",
    }
    assert related(text) == [
        ("database-engineer", "uses", "pgvector"),
        ("pgvector", "used_for", "RAG"),
    ]


def test_a_conjunction_before_a_name_is_not_part_of_the_name() -> None:
    assert named("Since Redis is fast, we use it for sessions") == {"Redis": "technology"}


def test_br11_a_pattern_and_the_component_that_it_applies_to_are_extracted() -> None:
    text = "Use cursor-based pagination for all list endpoints"
    assert named(text) == {"cursor-pagination": "pattern", "list-endpoints": "component"}


def test_br16_capitalised_known_terms_are_technologies() -> None:
    assert named("The PostgreSQL cluster feeds React pages") == {
        "PostgreSQL": "technology",
        "React": "technology",
    }


def test_br16_choosing_one_technology_over_another_creates_a_relation() -> None:
    assert related("we chose Redis over Memcached") == [("Redis", "chose_over", "Memcached")]


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("Celery requires Redis", ("Celery", "requires", "Redis")),
        ("Celery is blocked by Redis", ("Celery", "blocked_by", "Redis")),
        ("billing-service depends on RabbitMQ", ("billing-service", "depends_on", "RabbitMQ")),
        ("the invoice worker depends on Kafka", ("invoice-worker", "depends_on", "Kafka")),
        ("PgBouncer enables connection-pooling", ("PgBouncer", "enables", "connection-pooling")),
        (
            "api-designer recommends keyset pagination",
            ("api-designer", "recommends", "keyset-pagination"),
        ),
        ("api-designer prefers GraphQL", ("api-designer", "prefers", "GraphQL")),
        ("api-designer chose GraphQL", ("api-designer", "chose", "GraphQL")),
        ("moved from Jest to Vitest", ("Vitest", "replaces", "Jest")),
        ("we replaced Flask with FastAPI", ("FastAPI", "replaces", "Flask")),
        ("Redis is used by Celery", ("Celery", "uses", "Redis")),
        ("use pnpm instead of npm", ("pnpm", "chose_over", "npm")),
        ("use `pnpm` rather than `npm`", ("pnpm", "chose_over", "npm")),
        ("use Redis over Kafka", ("Redis", "chose_over", "Kafka")),
        ("We moved it from Redis to Kafka", ("Kafka", "replaces", "Redis")),
        ("swap Redis with Kafka", ("Kafka", "replaces", "Redis")),
        ("Redis for Kafka", ("Redis", "used_for", "Kafka")),
        ("Redis is used by Celery and Kafka", ("Celery", "uses", "Redis")),
        ("Celery uses Redis and Celery", ("Celery", "uses", "Redis")),
        ("If so, Celery uses Redis", ("Celery", "uses", "Redis")),
        ("Celery uses Redis" + " x" * 150 + "?", ("Celery", "uses", "Redis")),
        ("checkouts use the cart table", ("checkouts", "uses", "cart-table")),
        ("The importer uses hourly jobs", ("importer", "uses", "hourly-jobs")),
        ("the code uses an app", ("code", "uses", "app")),
        ("use spaces instead of tabs", ("spaces", "chose_over", "tabs")),
    ],
)
def test_relations_are_extracted_from_every_supported_wording(
    text: str, relation: tuple[str, str, str]
) -> None:
    assert related(text) == [relation]


@pytest.mark.parametrize(
    ("text", "relations"),
    [
        (
            "The checkout depends on the pricing table",
            [("checkout", "depends_on", "pricing-table")],
        ),
        (
            "Our importer uses Redis for session storage",
            [("importer", "uses", "Redis"), ("Redis", "used_for", "session-storage")],
        ),
        (
            "Use SQLite instead of DuckDB for image resizing",
            [
                ("SQLite", "chose_over", "DuckDB"),
                ("SQLite", "used_for", "image-resizing"),
                ("DuckDB", "rejected_for", "image-resizing"),
            ],
        ),
        (
            "Use pnpm, not npm, for the packages",
            [
                ("pnpm", "chose_over", "npm"),
                ("pnpm", "used_for", "packages"),
                ("npm", "rejected_for", "packages"),
            ],
        ),
        (
            "Documents are synced with automerge-repo instead of cr-sqlite",
            [("automerge-repo", "chose_over", "cr-sqlite")],
        ),
        (
            "We use Kafka for events and Redis for sessions",
            [("Kafka", "used_for", "events"), ("Redis", "used_for", "sessions")],
        ),
        ("Use Redis for now", []),
        ("It depends on the weather", []),
        ("Never use Redis for sessions", []),
        ("Whoever deploys uses the script", []),
        ("The checkout does not depend on the pricing table", []),
    ],
)
def test_relations_between_components_outside_the_vocabulary_are_extracted(
    text: str, relations: list[tuple[str, str, str]]
) -> None:
    assert related(text) == relations


def test_unknown_words_without_a_relation_are_not_entities() -> None:
    assert named("Never use Redis for sessions") == {"Redis": "technology"}


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("Call me Ana, I am a backend developer", {"Ana": "person"}),
        ("Ana prefers short answers", {"Ana": "person"}),
        ("Ask Bob about the deploy", {"Bob": "person"}),
        ("I work at Contoso in Berlin", {"Contoso": "organisation", "Berlin": "place"}),
        (
            "Alice Smith leads the team at Globex GmbH",
            {"Alice Smith": "person", "Globex GmbH": "organisation"},
        ),
        ("We deploy on Fridays", {}),
    ],
)
def test_people_companies_and_places_get_their_own_entity_types(
    text: str, entities: dict[str, str]
) -> None:
    assert named(text) == entities


def test_a_verb_before_a_list_relates_its_subject_to_every_item() -> None:
    assert related("api-designer uses FastAPI, Redis and Celery") == [
        ("api-designer", "uses", "FastAPI"),
        ("api-designer", "uses", "Redis"),
        ("api-designer", "uses", "Celery"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Does Celery use Redis?", "Celery does not use Redis", "Redis is fast. Celery is not",
        "Celery, and later Redis", "the bridge over Redis and under Celery",
        "Celery uses Redis" + " x" * 149 + "?", "If Celery uses Redis, stop",
        "Maybe Celery uses Redis", "from Redis to Kafka", "Redis with Kafka", "Redis, not Kafka",
        "Redis over Kafka", "Redis uses Redis", "api-designer for Redis",
        "please use the cart table", "Our importer recommends waiting",
        "The importer uses really", "use spaces over quickly",
    ],
)  # fmt: skip
def test_questions_conditions_negations_and_mere_mentions_create_no_relations(text: str) -> None:
    assert related(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "go ahead and rest a while, then react to the spring click",
        "Express yourself. Go on. Click the button; React to it.",
        "the next node in the chain is rich and black",
        "we list all the other services and the same endpoints",
        "please make it faster for the whole page",
    ],
)
def test_ordinary_words_are_not_extracted_as_entities(text: str) -> None:
    assert named(text) == {}


def test_an_ordinary_word_that_is_used_as_a_name_is_extracted_as_an_entity() -> None:
    assert named("the worker is written in Go and served by Express") == {
        "Go": "technology",
        "Express": "technology",
    }


def test_variants_of_a_name_become_one_entity() -> None:
    assert list(named("k8s runs it, Kubernetes restarts it, kube scales it")) == ["Kubernetes"]


def test_a_variant_of_a_known_entity_is_extracted_under_the_known_name() -> None:
    known = {"cursorpagination": "cursor_pagination", "kubernetes": "kubernetes"}
    found = named("cursor pagination on k8s", known)
    assert found == {"cursor_pagination": "pattern", "kubernetes": "technology"}


def test_a_known_name_of_several_words_is_found() -> None:
    assert list(named("the Order Ledger is slow", {"orderledger": "Order Ledger"})) == [
        "Order Ledger"
    ]


def test_names_of_functions_files_and_classes_are_extracted_as_components() -> None:
    assert named("`parse_rows` in src/reader.py builds a RowBatch") == {
        "parse_rows": "component",
        "src/reader.py": "component",
        "RowBatch": "component",
    }


def test_literals_in_backticks_are_not_entities() -> None:
    assert named("it returns `true` or `None`") == {}


def test_entity_names_never_exceed_the_maximum_number_of_bytes() -> None:
    long = "ä" * 400 + "-caching"
    entities, _ = extract(f"we like {long} much", known={long.casefold().replace("-", ""): long})
    assert entities
    assert all(len(entity.name.encode()) <= MAX_NAME_BYTES for entity in entities)


def test_names_beyond_the_first_64_kb_of_a_text_are_ignored() -> None:
    assert named("x " * 40_000 + "Redis") == {}


@given(st.text(max_size=400))
def test_any_text_gives_well_formed_entities_and_relations_among_them(text: str) -> None:
    entities, relations = extract(text)
    names = {entity.name for entity in entities}
    assert all(entity.name and entity.type in ENTITY_TYPES for entity in entities)
    assert len(names) == len(entities)
    assert all(r.source in names and r.target in names and r.type for r in relations)


WORDS = (
    "Redis Celery uses for over chose , . ? and with from to moved replaced `a_b` the all".split()
)


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_words_of_relations_in_any_order_relate_only_what_is_named(words: list[str]) -> None:
    entities, relations = extract(" ".join(words))
    names = {entity.name for entity in entities}
    assert all({r.source, r.target} <= names and r.source != r.target for r in relations)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Use Redis", "Redis"), ("Use Redis?", ""), ("Never use Redis", ""),
        ("Use the fast new Redis", "Redis"), ("Use the very fast new Redis", ""),
        ("Use Redis server", "Redis"), ("Use Redis server images", ""),
        ("Use Redis images", ""), ("Use Redis-based pages", ""), ("Redis is here", ""),
        ("Use Redis 7", "Redis"), ("Use `Redis` now", "Redis"), ("Switch to Redis", "Redis"),
        ("Drop Kafka and switch to Redis", "Redis"), ("Use Kafka, then Redis", "Kafka"),
    ],
)  # fmt: skip
def test_a_chosen_name_is_the_object_of_a_verb_with_few_words_in_between(
    text: str, name: str
) -> None:
    assert chosen(text, ["Redis", "Kafka"]) == name
