"""What closes what: a table of pairs in the words of real projects, as many that must not close."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.closing.answers import settles
from memory_fabric.capture.closing.supersede import closes, speaks
from memory_fabric.models import SCOPES, TRUST_ORDER, Record

CLOSES = (
    ("We moved from MongoDB to Postgres", "Use MongoDB"),
    ("We moved from MongoDB to Postgres", "Use MongoDB for the order archive"),
    ("We moved the order archive from MongoDB to Postgres",
     "We use MongoDB for the order archive"),
    ("We moved the archive from MongoDB to Postgres", "Use MongoDB for the order archive"),
    ("We moved the order archive from Mongo to managed Postgres",
     "Use MongoDB 6 for order archive"),
    ("We switched from npm to pnpm", "Use npm"),
    ("We switched from npm to pnpm in this repo", "Always use npm"),
    ("We've migrated off Heroku to Fly.io", "We deploy to Heroku"),
    ("We migrated the worker queue from Celery to RQ",
     "We decided to use Celery for the worker queue"),
    ("We replaced Elasticsearch with Typesense", "We chose Elasticsearch over Solr"),
    ("Typesense replaces Elasticsearch for product search", "Use Elasticsearch for product search"),
    ("Elasticsearch was replaced by Typesense", "Product search runs on Elasticsearch"),
    ("We no longer use Redis, we use Memcached", "Use Redis for caching"),
    ("We don't use Yarn any more", "We use Yarn"),
    ("We don't use Yarn anymore", "Use Yarn for the frontend"),
    ("We stopped using moment.js", "Use moment.js for dates"),
    ("We dropped Celery in favour of RQ", "We use Celery for background jobs"),
    ("Dropped Celery in favor of RQ", "Use Celery"),
    ("Instead of Jenkins we now use GitHub Actions", "We use Jenkins"),
    ("Use ruff instead of flake8", "Use flake8"),
    ("From now on we use ruff instead of flake8 for linting", "Use flake8 for linting"),
    ("We chose Vite over Webpack", "We use Webpack"),
    ("We chose Kafka over RabbitMQ for the event bus", "Use RabbitMQ for the event bus"),
    ("I prefer tabs over spaces", "I prefer spaces"),
    ("We use SQLite for the tests, not Postgres", "Use Postgres for the tests"),
    ("We reversed the decision to use Kafka", "We decided to use Kafka"),
    ("We went back to REST from GraphQL", "We chose GraphQL for the public API"),
    ("We moved back from Postgres to MySQL", "We moved from MySQL to Postgres"),
    ("We moved to cursor pagination from offset pagination", "Use offset-based pagination"),
    ("We ditched Bootstrap for Tailwind", "Use Bootstrap"),
    ("We retired Jenkins", "Builds run on Jenkins"),
    ("We moved from Python 3.11 to Python 3.12", "Use Python 3.11"),
    ("Never use print for logging", "Use print for logging"),
    ("Don't use default exports in components", "Use default exports in components"),
    ("Use Yarn", "Don't use Yarn"),
    ("The default port is 9090", "The default port is 8080"),
    ("Our default port is now 9090", "The default port is 8080"),
    ("Default port: 9090", "The default port is 8080"),
    ("We changed the default port from 8080 to 9090", "The default port is 8080"),
    ("The request timeout is 60 seconds", "The request timeout is 30 seconds"),
    ("We keep sessions for 90 days", "We keep sessions for 30 days"),
    ("The default branch is trunk", "The default branch is main"),
    ("Maximum line length is 120", "Maximum line length is 100"),
    ("The primary database is PostgreSQL", "The primary database is MySQL"),
)  # fmt: skip

STAYS = (
    ("We moved sessions from Redis to Postgres", "Use Redis for rate limiting"),
    ("We moved the unit tests from Jest to Vitest", "Use Jest for tests"),
    ("We moved the order archive from MongoDB to Postgres", "Use MongoDB"),
    ("We moved the order archive from MongoDB to Postgres", "Use MongoDB for the event log"),
    ("We moved sessions from Redis to Postgres", "Use Redis for sessions and rate limiting"),
    ("Use Postgres for sessions instead of Redis", "Use Redis for the job queue"),
    ("Use Postgres for the analytics DB", "Use Redis for sessions"),
    ("We chose Kafka over Redis for events", "Use Redis for sessions"),
    ("We chose Kafka over Redis", "Use Redis for sessions"),
    ("Also use Redis for sessions", "Use Postgres for sessions"),
    ("We also use Memcached instead of Redis for fragments", "Use Redis for fragments"),
    ("In addition to Jest we use Playwright", "Use Jest"),
    ("We use Redis as well as Postgres", "Use Postgres"),
    ("Use Memcached for sessions", "Use Redis for sessions"),
    ("We now use Grafana for monitoring", "We use Prometheus for monitoring"),
    ("We might move from MongoDB to Postgres", "Use MongoDB"),
    ("We plan to switch from npm to pnpm", "Use npm"),
    ("We will migrate from Heroku to Fly.io next quarter", "We deploy to Heroku"),
    ("Should we move from MongoDB to Postgres?", "Use MongoDB"),
    ("We decided not to move from MongoDB to Postgres", "Use MongoDB"),
    ("We did not replace Redis with Memcached", "Use Redis"),
    ("The customer moved from MongoDB to Postgres", "Use MongoDB"),
    ("We moved from MongoDB to Postgres but keep MongoDB for the archive",
     "Use MongoDB for the archive"),
    ("We moved most services from Jenkins to GitHub Actions", "We use Jenkins"),
    ("We moved from Postgres 14 to Postgres 16", "Use Postgres"),
    ("We dropped support for Python 3.8", "Use Python"),
    ("We stopped using MongoDB transactions", "Use MongoDB"),
    ("We moved from MongoDB to Postgres", "MongoDB needs a replica set for transactions"),
    ("We moved from Redis to Kafka", "Use Redis Streams for events"),
    ("We moved from React to Svelte", "Use React Query for fetching"),
    ("We moved the parser from utils to core", "Use utils for helpers"),
    ("We moved from MongoDB to Postgres", "Use Postgres and MongoDB for the archive"),
    ("We moved from Celery to RQ", "Use Redis with Celery for background jobs"),
    ("Never use Redis", "Use Redis for rate limiting"),
    ("Never use Redis for sessions", "Use Redis for rate limiting"),
    ("Don't use MongoDB transactions", "Use MongoDB"),
    ("Use Yarn for the docs site", "Don't use Yarn"),
    ("The API port is 9090", "The default port is 8080"),
    ("Retry 5 times on 503", "Retry 3 times on 500"),
    ("We support Python 3.12", "We support Python 3.11"),
    ("The API is public", "The API is slow"),
    ("The default branch is protected", "The default branch is main"),
    ("The upload timeout is 60 seconds", "The request timeout is 30 seconds"),
    ("Line 40 is too long", "Line 30 is too long"),
    ("We keep logs for 90 days", "We keep sessions for 30 days"),
    ("Use ruff instead of flake8 in the tools folder", "Use flake8"),
    ("We moved from MongoDB to Postgres",
     "We moved from MySQL to MongoDB for the event log and Kafka"),
    ("Use Vite", "Use Webpack"),
    ("Never use Memcached instead of Redis", "Use Redis"),
    ("We dropped the analytics tables", "Use Postgres for analytics"),
)  # fmt: skip


def a_record(what: str, **fields: object) -> Record:
    values = {"type": "decision", "confidence": 0.8, "trust": "user", "id": what}
    values["valid_from"] = "2026-01-01T00:00:00.000Z"
    return Record(what=what, **(values | fields))  # type: ignore[arg-type]


def ids(records: list[Record]) -> list[str]:
    return [record.what for record in records]


@pytest.mark.parametrize(("new", "old"), CLOSES)
def test_a_newer_record_closes_what_it_replaces(new: str, old: str) -> None:
    assert ids(closes(a_record(new), [a_record(old)])) == [old]


@pytest.mark.parametrize(("new", "old"), STAYS)
def test_nothing_is_closed_in_doubt(new: str, old: str) -> None:
    assert closes(a_record(new), [a_record(old)]) == []


@pytest.mark.parametrize("first", ["also", "additionally", "plus"])
def test_what_is_said_to_come_beside_closes_nothing(first: str) -> None:
    old, new = a_record("Use npm"), a_record("We switched from npm to pnpm")
    assert closes(new, [old], said=[first]) == []
    assert not speaks(new, [first])


def test_a_correction_needs_its_word_and_the_same_use() -> None:
    old = a_record("We use spaces in Makefiles")
    assert closes(a_record("We use tabs in Makefiles"), [old]) == []
    assert closes(a_record("We use tabs in Makefiles"), [old], said=["no"]) == [old]
    assert closes(a_record("No, we use tabs in Makefiles"), [old]) == [old]
    assert closes(a_record("We use tabs in templates"), [old], said=["no"]) == []


@pytest.mark.parametrize("old", ["Let's use npm for the web app", "Always use npm for installs"])
def test_a_correction_that_says_what_not_is_for_whatever_it_was_used(old: str) -> None:
    before = a_record(old)
    assert closes(a_record("No, we use pnpm here, not npm"), [before]) == [before]
    assert closes(a_record("We use pnpm, not npm"), [before], said=["no"]) == [before]
    assert closes(a_record("We use pnpm, not npm"), [before]) == []
    assert closes(a_record("No, we use pnpm for the docs, not npm"), [before]) == []


def test_a_correction_closes_none_of_several_uses() -> None:
    olds = [a_record("Use Redis for sessions"), a_record("Use Redis for rate limiting")]
    assert closes(a_record("No, we use Valkey here, not Redis"), olds) == []
    assert closes(a_record("No, we use Valkey here, not Redis"), olds[:1]) == olds[:1]


def test_a_move_that_does_not_say_of_what_closes_none_of_several_uses() -> None:
    olds = [a_record("Use Redis for sessions"), a_record("Use Redis for rate limiting")]
    assert closes(a_record("We moved from Redis to Postgres"), olds) == []
    assert closes(a_record("We no longer use Redis"), olds) == olds


def test_a_candidate_a_problem_and_what_was_said_earlier_close_nothing() -> None:
    old, what = a_record("Use npm"), "We switched from npm to pnpm"
    assert closes(a_record(what, confidence=0.4), [old]) == []
    assert closes(a_record(what, type="problem"), [old]) == []
    assert closes(a_record(what, valid_from="2025-01-01T00:00:00.000Z"), [old]) == []
    assert closes(a_record(what), [a_record("Use npm", type="problem")]) == []


@given(
    st.sampled_from(CLOSES),
    st.sampled_from(sorted(TRUST_ORDER)),
    st.sampled_from(sorted(TRUST_ORDER)),
    st.sampled_from(SCOPES),
    st.sampled_from(SCOPES),
    st.sampled_from(["general", "code_reviewer"]),
    st.sampled_from(["s1", "s2"]),
    st.booleans(),
)
def test_only_the_same_scope_domain_and_trust_may_close(
    pair: tuple[str, str],
    trust: str,
    old_trust: str,
    scope: str,
    old_scope: str,
    domain: str,
    session: str,
    pinned: bool,
) -> None:
    new = a_record(pair[0], trust=trust, scope=scope, domain=domain, session="s1")
    old = a_record(pair[1], trust=old_trust, scope=old_scope, session=session, pinned=pinned)
    counts = "user" if pinned else old_trust
    expected = TRUST_ORDER[trust] >= TRUST_ORDER[counts] and scope == old_scope
    expected &= domain == "general" and (scope != "local" or session == "s1")
    assert bool(closes(new, [old])) == expected


@given(st.text(max_size=500), st.text(max_size=500))
def test_any_text_can_be_judged(new: str, old: str) -> None:
    closes(a_record(new, id="n"), [a_record(old, id="o")])
    settles(a_record(new, id="n"), [a_record(old, id="o", type="question")])


# Repeated to 64 KB: what expressions of leaving, of values and of descriptions begin with.
HOSTILE = (
    "moved a |from x to |use not |instead of |we |. |is the |a.|'|from |moved |a,|is |1|. 1|"
    "from 1 to 2 |x is gone, |no longer on |replaced a with |for in |are made with |(|a: |"
    "we left a for |raised |and a "
).split("|")


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_sentences_are_read_in_linear_time(part: str) -> None:
    text = part * (65_536 // len(part))
    older = [a_record(text + "x", id="o"), a_record("Sessions are kept in a", id="p")]
    started = time.perf_counter()
    closes(a_record(text, id="n"), older)
    assert time.perf_counter() - started < 1


ANSWERS = (
    ("Which region hosts the order archive?", "The order archive is hosted in region Frankfurt",
     "question"),
    ("Redis or Memcached for sessions?", "Use Redis for sessions", "question"),
    ("CI is blocked by missing staging credentials",
     "CI is unblocked, the staging credentials were granted", "blocker"),
)  # fmt: skip
NO_ANSWERS = (
    ("Which region hosts the order archive?", "The order archive is purged yearly", "question"),
    ("Redis or Memcached for sessions?", "Use Postgres for sessions", "question"),
    ("Redis or Memcached for sessions?", "Use Redis for rate limits", "question"),
    ("Which region hosts the archive?", "We might host the archive in region Frankfurt",
     "question"),
    ("CI is blocked by missing staging credentials", "Staging credentials expire monthly",
     "blocker"),
    ("The pool is exhausted under load because workers leak connections",
     "The pool has 20 connections", "problem"),
)  # fmt: skip


@pytest.mark.parametrize(("point", "said", "kind"), ANSWERS)
def test_an_open_point_is_settled_by_what_speaks_of_all_of_it(
    point: str, said: str, kind: str
) -> None:
    old = a_record(point, type=kind)
    assert settles(a_record(said), [old]) == [old]
    assert settles(a_record(said, trust="tool"), [old]) == []


@pytest.mark.parametrize(("point", "said", "kind"), NO_ANSWERS)
def test_an_open_point_stays_open_in_doubt(point: str, said: str, kind: str) -> None:
    assert settles(a_record(said), [a_record(point, type=kind)]) == []


def test_a_problem_is_closed_by_the_solution_of_the_same_incident() -> None:
    problem = a_record(
        "The pool is exhausted under load because workers leak connections", type="problem"
    )
    failing = problem._replace(evidence={"command": "make test"})
    fix = a_record("It passed after changing pool.py", type="solution")

    assert settles(fix._replace(evidence={"command": "make test"}), [failing]) == [failing]
    assert settles(fix._replace(evidence={"command": "make lint"}), [failing]) == []
    whole = fix._replace(what="Workers leak connections under load: close them after each pool use")
    assert settles(whole._replace(what=whole.what + ", exhausted"), [problem]) == [problem]
    assert settles(whole._replace(type="decision"), [problem]) == []
