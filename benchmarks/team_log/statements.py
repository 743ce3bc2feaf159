"""Statements of a large team: decisions, facts and observations with a vocabulary of some size.

Words are drawn by Zipf's law, so that some are in a tenth of all texts and most in few: half of the
components have an invented name of their own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.sharing.replica import wire

AUTHORS = ("ann", "bob", "carl", "dora")
SUBJECTS = (
    "billing checkout search catalogue inventory shipping returns pricing ledger payroll identity "
    "session notification mailing reporting export import archive audit consent profile address "
    "payment refund voucher loyalty review rating image video upload download cache gateway proxy "
    "scheduler worker queue stream event metric trace alert dashboard feature experiment rollout "
    "tenant partner invoice tax currency exchange fraud risk document contract signature calendar"
).split()
PARTS = (
    "api service worker client job importer exporter store index cache schema migration pipeline "
    "page form widget consumer producer adapter gateway validator parser scheduler cleaner mirror"
).split()
TECHNOLOGIES = (
    "PostgreSQL Redis Kafka RabbitMQ SQLite Elasticsearch ClickHouse MongoDB S3 Nginx Envoy "
    "Kubernetes Terraform Ansible Docker Prometheus Grafana Loki Tempo Sentry Celery Airflow "
    "dbt Spark Flink gRPC GraphQL REST OpenAPI Protobuf Avro JWT OAuth SAML Vault FastAPI Django"
).split()
SYLLABLES = (
    "ba be bo ca co da de do fa fe ga go ka ki la le lo ma mi mo na ne no pa po ra re".split()
)
INVENTED = 20_000
THINGS = (
    "the list endpoints|the nightly run|retries|timeouts|pagination|idempotency keys|feature flags|"
    "the retention of logs|the order of events|background jobs|file uploads|rate limits|secrets|"
    "schema changes|the read replicas|webhooks|search suggestions|the audit trail|rounding|"
    "time zones|the session cookie|password resets|the import of spreadsheets|report generation|"
    "connection pools|cache invalidation|dead letters|health checks|canary releases|mail templates"
).split("|")
REASONS = (
    "offsets were too slow above a million rows|customers reported duplicates|the vendor allows "
    "50 calls a second|the on-call engineer could not see what failed|restarts lost the "
    "queue|the auditors asked for it|the old library has no maintainer|latency doubled after the "
    "last release|the mobile clients retry without backing off|it keeps transactions short|backups "
    "took longer than the window|the numbers have to add up to the cent|we ran out of connections|"
    "nobody could reproduce the failure|the contract with the partner requires it"
).split("|")
FORMS = (
    "Use {tech} for {thing} in the {name}",
    "The {name} keeps {thing} in {tech}",
    "{thing} of the {name} go through {tech}, not {other}",
    "The {name} must not call {tech} from a request",
    "Set the limit of {thing} in the {name} to {number}",
    "We moved {thing} from {other} to {tech} in the {name}",
)
QUESTIONS = (
    "What do we use for {thing} in the {name}?",
    "Why did we move {thing} of the {name} to {tech}?",
    "Which limit is set for {thing} in the {name}?",
    "How does the {name} handle {thing}, and where is {tech} used?",
    "Is the {name} allowed to call {tech} from a request?",
    "Who decided that {thing} go through {tech}?",
)


class Statement(NamedTuple):
    """An operation without its place in a log."""

    kind: str
    key: str
    author: str
    value: Mapping[str, Any]


class Words:
    """Random words and sentences."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        names = [f"{one}-{two} {part}" for one in SUBJECTS for two in SUBJECTS for part in PARTS]
        self._random.shuffle(names)
        self._names, self._of_names = names, _zipf(len(names))
        self._own_names = [self._invented(number) for number in range(INVENTED)]
        self._of_own_names = _zipf(INVENTED)
        self._of_technologies = _zipf(len(TECHNOLOGIES))

    def statements(self, count: int) -> Iterator[Statement]:
        """Yield statements: of ten, seven records, two observations and an entity."""
        for number in range(count):
            author = AUTHORS[number % len(AUTHORS)]
            place = number % 10
            if place == 0:
                yield self._entity(author, number)
            elif place in (4, 8):
                yield self._observation(author, number)
            else:
                yield self._record(author, number)

    def question(self, *, of_own_name: bool) -> str:
        """Return a question as people ask it.

        With `of_own_name` about a component with an invented name, else in words that thousands of
        statements hold.
        """
        name = self._own_name() if of_own_name else self._composed_name()
        return self._random.choice(QUESTIONS).format(**self._fields(0) | {"name": name})

    def name(self) -> str:
        """Return the name of a component."""
        return self._own_name() if self._random.random() < 0.5 else self._composed_name()

    def _own_name(self) -> str:
        [name] = self._random.choices(self._own_names, cum_weights=self._of_own_names)
        return f"{name} {self._random.choice(PARTS)}"

    def _composed_name(self) -> str:
        return str(self._random.choices(self._names, cum_weights=self._of_names)[0])

    def _invented(self, number: int) -> str:
        parts: list[str] = []
        while number or len(parts) < 3:
            number, place = divmod(number, len(SYLLABLES))
            parts.append(SYLLABLES[place])
        return "".join(parts).capitalize()

    def _fields(self, number: int) -> dict[str, Any]:
        tech, other = self._random.choices(TECHNOLOGIES, cum_weights=self._of_technologies, k=2)
        thing = self._random.choice(THINGS)
        return {"tech": tech, "other": other, "thing": thing, "name": self.name(), "number": number}

    def _record(self, author: str, number: int) -> Statement:
        fields = self._fields(number)
        id_, at = ids.new_id(), ids.timestamp()
        text = self._random.choice(FORMS).format(**fields)
        value = {
            "id": id_,
            "type": self._random.choice(("decision", "decision", "note", "constraint")),
            "what": f"{text[0].upper()}{text[1:]} (ticket {number})",
            "why": self._random.choice(REASONS),
            "alternatives": [],
            "constraints": [],
            "tradeoffs": "",
            "entities": [[fields["name"], "component"], [fields["tech"], "technology"]],
            "outcome": "",
            "category": "",
            "domain": "general",
            "confidence": 0.9,
            "created_at": at,
            "valid_from": at,
            "valid_to": "",
            "superseded_by": "",
            "status": "active",
            "scope": "team",
        }
        return Statement(wire.RECORD, wire.key_of(wire.RECORD, id_), author, value)

    def _entity(self, author: str, number: int) -> Statement:
        name = f"{self.name()} {number}"
        value = {
            "name": name,
            "type": "component",
            "created_at": ids.timestamp(),
            "domain": "general",
            "aliases": [],
        }
        return Statement(wire.ENTITY, wire.key_of(wire.ENTITY, name), author, value)

    def _observation(self, author: str, number: int) -> Statement:
        fields = self._fields(number)
        name, text = fields["name"], f"{self._random.choice(REASONS)} (seen in run {number})"
        value = {"entity": name, "text": text, "created_at": ids.timestamp(), "domain": "general"}
        return Statement(wire.OBSERVATION, wire.key_of(wire.OBSERVATION, name, text), author, value)


def _zipf(count: int) -> Sequence[float]:
    return list(accumulate(1 / (rank + 2) for rank in range(count)))
