"""What closes what: a table of pairs in the words of real projects, as many that must not close."""

from __future__ import annotations

import pytest

from memory_fabric.fabric.supersede import closes
from memory_fabric.models import Record

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
