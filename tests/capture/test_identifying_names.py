"""Names in statements for everybody: no person, company, place or machine; the rest stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.capture.people import for_everybody, of_person, without_names
from memory_fabric.errors import BadInput
from memory_fabric.models import Entity, Provenance, Record, Relation
from memory_fabric.store.memory import Memory
from simulated_client import SimulatedClient

# Best practice in the words of the trade: nothing of it names anybody.
HARMLESS = """
Always validate input at API boundaries.
Use cursor-based pagination for all list endpoints.
Prefer PostgreSQL over MongoDB for relational data.
Never log passwords or tokens.
Run GitHub Actions on every pull request before merging.
Use React Query for server state and Zustand for client state.
Pin versions in Dockerfile and CI.
Bind development servers to 127.0.0.1, not 0.0.0.0.
Store timestamps in UTC and format them in the browser.
Use the Repository pattern to hide SQL from the domain.
Apply the Strangler Fig pattern when replacing a legacy system.
Conway's Law: teams ship their own structure.
Set `SET lock_timeout` before every migration on PostgreSQL.
Use Redis Cluster only when a single node is too small.
Prefer Server-Sent Events over WebSockets for one-way streams.
Send a Content-Security-Policy header with every page.
Feature flags keep unfinished work out of releases.
Write an ADR for each decision that is hard to undo.
TypeScript strict mode finds bugs before tests do.
Do not retry POST requests without an idempotency key.
Use exponential backoff with jitter for retries.
Validate JWTs with RS256 and short expiry times.
Rotate API keys every 90 days.
Load tests on Friday afternoon tell nothing about Monday morning.
Kubernetes liveness probes must not check dependencies.
Keep Terraform state in S3 with locking in DynamoDB.
Name tests after behaviour, not after methods.
Use pytest fixtures instead of setUp methods.
Cache HTML for seconds and assets for a year.
Use Google Cloud Storage or Amazon S3 for large files.
Mock time in tests, and never call time.sleep.
Python's asyncio needs a timeout around every await.
Prefer composition over inheritance.
Batch INSERT statements to at most 1000 rows.
Read the EXPLAIN plan before adding an index.
Avoid offset pagination: it times out at 1M rows.
Use Node.js 20 or later because toSorted needs it.
Use ASP.NET Core minimal APIs for small services.
Keep secrets in Vault or AWS Secrets Manager, not in .env files.
Dates go over the wire in ISO 8601.
Use Docker Compose for local development.
Apache Kafka keeps order within a partition only.
Write commit subjects in the imperative, at most 72 characters.
Structured logs beat printf debugging.
An index on (tenant_id, created_at) serves most queries.
Use semantic versioning for public libraries.
Deploy behind a canary before rolling out to everyone.
SQLite in WAL mode serves many readers and one writer.
Vue and Svelte components should not fetch data in render.
Use gRPC between services and REST for browsers.
Encrypt backups at rest, and test restores monthly.
Web workers keep the main thread free.
A transactional outbox avoids dual writes.
Use OpenTelemetry for traces and Prometheus for metrics.
Linters run in pre-commit, formatters on save.
GraphQL resolvers need a DataLoader to avoid N+1 queries.
Use UUIDv7 for keys that are sorted by time.
Accessibility: every input needs a label.
Never force-push to main.
Rust's borrow checker replaces most code review about aliasing.
Immer Eingaben an den API-Grenzen prüfen, weil der Rest der Anwendung sie für gültig hält.
Toujours valider les entrées aux frontières de l'API.
Use @dataclass(frozen=True) for values.
Run `npm ci` rather than `npm install` in CI.
Serve static files through CloudFront.
Handle SIGTERM so that Kubernetes can drain a pod.
Declare Python dependencies with hashes in a lock file.
Expose metrics on a port of their own.
Prefer immutable objects; mutation hides bugs.
Store money as integers of cents, never as floats.
Use TanStack Table when a grid needs sorting.
Run Playwright against a production build.
Write migrations that old code can live with (expand, then contract).
Elixir supervisors restart what crashes.
Put a deadline on every RPC.
Do not use MD5 for passwords; use Argon2id.
Set Cache-Control: no-store on personal pages.
Sort imports with Ruff.
Trunk-based development keeps branches short.
Dependabot groups patch updates weekly.
Name branches after tickets.
Never swallow exceptions.
Prefer HTTP/2 where clients keep many connections.
Use Postgres advisory locks for singleton jobs.
Test on Linux, macOS and Windows.
A good README answers why before how.
Don't mock what you don't own.
React components above 200 lines should be split.
Use Tailwind utilities instead of custom CSS.
Secrets belong in the keychain, not in git.
Spring Boot starts faster with lazy beans.
Hash tables beat trees for lookups.
Retry on 429 and honour Retry-After.
Log levels: ERROR wakes people, WARN does not.
Use Unicode normalization form NFC for names.
Pagination tokens must be opaque.
It took 12 minutes; parallel jobs made it 4.
Webpack builds need source maps in staging.
Check licenses before adding a package: MIT and Apache are fine.
pnpm workspaces save disk.
Helm charts get a values schema.
Amdahl's law limits what more workers bring.
Use Java records for values.
Prefer explicit timeouts: connect 2 s, read 10 s.
Because floating point is inexact, compare with a tolerance.
""".strip().split("\n")
# A sentence, and what must not be left of it.
TELLING = {
    "host build7.acme.internal user Bob Smith": "build7 acme Bob Smith",
    "Acme Corp wants cursor pagination everywhere.": "Acme",
    "Ask Bob Smith before changing the schema.": "Bob Smith",
    "Deploys go through build7 at night.": "build7",
    "Kunal Bhatt reviewed the retry logic.": "Kunal Bhatt",
    "Never deploy to prod-db-01 on Friday.": "prod-db",
    "The customer Globex needs invoices as PDF.": "Globex",
    "Contact alice@acme.example for access.": "alice acme",
    "Our Munich office closes at six.": "Munich",
    "Use the VPN to reach 10.1.2.3 first.": "10.1.2.3",
    "See https://wiki.acme.internal/runbook for details.": "acme",
    "The key lies in /home/bob/.ssh/id_rsa on the jump host.": "bob",
    "Müller & Söhne GmbH pays by invoice only.": "Müller Söhne",
    "Dr. Okafor approved the encryption scheme.": "Okafor",
    "According to Priya, retries must be bounded.": "Priya",
    "Initech LLC forbids public buckets.": "Initech",
    "Zephyrine wants everything in capitals.": "Zephyrine",
    "Never email the report to anyone at Hooli.": "Hooli",
    "Reviewed by Ingrid Johansson.": "Ingrid Johansson",
    "ssh deploy@bastion.corp.example before running migrations.": "bastion corp.example",
    "The Berlin data center has no GPU.": "Berlin",
    "@bsmith owns the pipeline.": "bsmith",
    "user: bsmith runs the cron job.": "bsmith",
    "Siemens AG requires TLS 1.3.": "Siemens",
    "The bank Wells Fargo refuses wildcard certificates.": "Fargo",
    "Jean-Luc Picard said that logs must be structured.": "Jean Picard",
    "Back up fe80:0:0:1:2:3:4:5 weekly.": "fe80",
    "Because Umbrella Corporation audits us, keep logs for ten years.": "Umbrella",
    "Mark Johnson prefers tabs.": "Johnson",
    "Use the printer in San Francisco.": "Francisco",
    "Thanks to Chen Wei the index is smaller.": "Chen Wei",
    "Charge clients in Switzerland in francs.": "Switzerland",
    "db.example-shop.de must not be queried directly.": "example-shop",
    "Ping Susanne when the build breaks.": "Susanne",
    "Deutsche Bank needs audit trails.": "Deutsche",
    "The Tyrell team owns the queue.": "Tyrell",
    "Manager Hiroshi Tanaka signs off on releases.": "Hiroshi Tanaka",
    "Store photos of Acme Retail Ltd for two years.": "Acme Retail",
    "von Herrn Schmidt geprüft, weil der Kunde das so will.": "Schmidt",
    "Nach dem Umzug nach Hamburg ist der Server langsamer.": "Hamburg",
    "We host at Hetzner Falkenstein for Globex.": "Globex",
    "Never page Raj after midnight.": "Raj",
    "Wayne Enterprises Inc. has a read-only API.": "Wayne Enterprises",
    "the laptop mac-bob-42 has the signing key": "bob",
    "Use host web-03 for smoke tests.": "web-03",
    "Ask someone at Stark Industries.": "Stark",
    "Use Ledgerly's staging data only.": "Ledgerly",
    "Elena found that timeouts hide errors.": "Elena",
    "Talk to Grace Hopper about compilers.": "Grace Hopper",
    "Bob's script deletes old rows.": "Bob",
    "The São Paulo region is slow.": "Paulo",
    "Nordlicht AB only accepts SFTP uploads.": "Nordlicht",
    "Ask Wojciech about the queue.": "Wojciech",
    "Miriam's dashboards are the reference.": "Miriam",
    "Deploy from ci-runner-12 only.": "ci-runner",
    "The Kowalski account is frozen.": "Kowalski",
    "In Nairobi the network drops every evening.": "Nairobi",
    "Our client Brightwater wants weekly exports.": "Brightwater",
    "j.doe@corp.example must approve.": "doe corp",
    "Use vault.prod.mycorp.net for secrets.": "mycorp",
    "User rkapoor owns the cron jobs.": "rkapoor",
    "According to Lindqvist the cache is too small.": "Lindqvist",
    "Thyssen hates YAML.": "Thyssen",
    "Build on 192.168.7.20 for speed.": "192.168",
    "Copy from \\\\fileserver07\\share first.": "fileserver07",
    "Never call Oleksandr on Sunday.": "Oleksandr",
    "Contoso Bank requires mTLS.": "Contoso",
    "Hans-Peter found the leak.": "Hans Peter",
    "Meet at the Gothenburg office.": "Gothenburg",
    "The Pemberton project uses Redis.": "Pemberton",
    "See C:\\Users\\maria\\notes.txt": "maria",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """The memory of somebody whose git knows a name."""
    client = SimulatedClient(tmp_path)
    (client.home / ".gitconfig").write_text(
        "[user]\n\tname = Quill Varga\n\temail = qv@x.example\n", "utf-8"
    )
    opened = client.memory()
    yield opened
    opened.close()


def told(memory: Memory, text: str) -> str:
    """The text as every project would be shown it."""
    return for_everybody(Record("note", text, scope="global"), memory).what


def test_a_sentence_of_general_advice_is_left_unchanged(memory: Memory) -> None:
    assert [text for text in HARMLESS if told(memory, text) != text] == []


def test_a_global_memory_never_contains_an_identifying_name(memory: Memory) -> None:
    left = {}
    for text, names in TELLING.items():
        try:
            found = told(memory, text)
        except BadInput as refusal:
            assert any(name in str(refusal) for name in names.split()), str(refusal)
            continue
        if any(name in found for name in names.split()):
            left[text] = found

    assert left == {}


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Ask Bob Smith first.", "Ask someone first."),
        ("Acme Corp wants this.", "a company wants this."),
        ("The Munich office is slow.", "The place office is slow."),
        ("Copy it to host build7.acme.internal nightly.", "Copy it to a host nightly."),
        ("Bob's script is slow.", "someone's script is slow."),
        (
            "As brightwater found, quill and qv retry.",
            "As a company found, someone and someone retry.",
        ),
    ],
)
def test_a_name_is_replaced_by_a_generic_word_for_its_kind(
    memory: Memory, text: str, cleaned: str
) -> None:
    payer = Entity("brightwater", "company")
    known = Record("note", "brightwater pays late", entities=(payer,), confidence=0.9)
    memory.remember(known, Provenance("cli", trust="user"))

    assert told(memory, text) == cleaned


def test_a_name_of_one_letter_is_left_unchanged(memory: Memory) -> None:
    known = Record("note", "C pays late", entities=(Entity("C", "company"),), confidence=0.9)
    memory.remember(known, Provenance("cli", trust="user"))

    assert told(memory, "Write the parser in C first.") == "Write the parser in C first."


def test_an_unknown_name_is_refused_in_a_global_memory_unless_in_backticks(memory: Memory) -> None:
    with pytest.raises(BadInput, match="this may name somebody: Zephyrine") as refused:
        told(memory, "Run the Zephyrine checks first.")

    assert "`Zephyrine`" in refused.value.remedy
    assert told(memory, "Run the `Zephyrine` checks.") == "Run the `Zephyrine` checks."
    assert "build7" not in told(memory, "Never use `build7.acme.internal`.")


def test_making_a_record_global_removes_identifying_entities_and_relations(memory: Memory) -> None:
    record = Record(
        "note",
        "Use Redis for sessions.",
        scope="global",
        entities=(
            Entity("Redis", "technology"),
            Entity("Bob Smith", "person"),
            Entity("Hooli", "unknown"),
        ),
        relations=(Relation("Bob Smith", "uses", "Redis"), Relation("Hooli", "uses", "Redis")),
    )

    found = for_everybody(record, memory)

    assert [entity.name for entity in found.entities] == ["Redis"]
    assert found.relations == ()


@pytest.mark.parametrize(
    ("text", "cleaned", "unsure"),
    [
        ("Ask Bob Smith and Ann Lee", "Ask someone and someone", []),
        ("Visit New York office", "Visit a place office", []),
        ("Go to Berlin and Paris", "Go to a place and a place", []),
        ("user bsmith runs it", "user someone runs it", []),
        ("user admin runs it", "user admin runs it", []),
        ("Redis Ltd pays", "Redis Ltd pays", []),
        ("Run Zephyr Quux now", "Run Zephyr Quux now", ["Zephyr Quux"]),
        ("Redis Zephyr is fine", "Redis Zephyr is fine", []),
        ("Bob's and Ann’s script", "someone's and someone’s script", []),
        ("Zorblax said so", "someone said so", []),
        ("Zorblax runs it", "Zorblax runs it", ["Zorblax"]),
        ("Mark it now", "Mark it now", []),
        ("Mark Zorblax pays", "someone pays", []),
        ("Use the Foo-Bar header", "Use the Foo-Bar header", []),
        ("Use Jean-Zorblax here", "Use someone here", []),
        ("Ask our client Zorblax", "Ask our client company", []),
        ("Jan van Zorblax pays", "someone pays", []),
        ("van Zorblax said so", "van someone said so", []),
        ("Zorblax & Quux pay", "Zorblax & Quux pay", ["Zorblax", "Quux"]),
        ("Our London office", "Our place office", []),
    ],
)
def test_each_name_in_a_text_is_replaced_or_listed_as_unsure(
    text: str, cleaned: str, unsure: list[str]
) -> None:
    assert without_names(text) == (cleaned, unsure)


@pytest.mark.parametrize(
    ("text", "guessed", "found"),
    [
        ("I work for Contoso in Berlin", (), [("Contoso", "organisation")]),
        ("I work for Paris", (), [("Paris", "place")]),
        ("My goal is to ship the beta in March", (), [("ship the beta", "goal")]),
        ("My goal is fame", (), []),
        ("My manager is Bob Smith", (), [("Bob Smith", "person")]),
        ("I work for Contoso", (("Contoso", "technology"),), [("Contoso", "organisation")]),
        ("I use Zed daily", (("Zed", "technology"),), [("Zed", "technology")]),
        ("I like Zed", (("Zed", "technology"), ("Zap", "component")), [("Zap", "component")]),
        ("I like Redis", (("Redis", "technology"),), [("Redis", "technology")]),
    ],
)
def test_people_and_employers_replace_wrong_guesses_of_the_extraction(
    text: str, guessed: tuple[tuple[str, str], ...], found: list[tuple[str, str]]
) -> None:
    entities = of_person(text, [Entity(*one) for one in guessed])

    assert [(entity.name, entity.type) for entity in entities] == found
