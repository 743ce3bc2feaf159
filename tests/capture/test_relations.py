"""Relations of written sentences with common subjects, and what a decision chooses."""

from __future__ import annotations

import pytest

from memory_fabric.capture.extract import chosen, extract

STATED = {
    "our API uses Redis": [("api", "uses", "Redis")],
    "The billing service uses Stripe": [("billing-service", "uses", "Stripe")],
    "The frontend uses React and TypeScript": [
        ("frontend", "uses", "React"),
        ("frontend", "uses", "TypeScript"),
    ],
    "Our deploy script uses rsync": [("deploy-script", "uses", "rsync")],
    "The mobile app uses SQLite for offline storage": [
        ("mobile-app", "uses", "SQLite"),
        ("SQLite", "used_for", "offline-storage"),
    ],
    "The search page uses Elasticsearch": [("search-page", "uses", "Elasticsearch")],
    "The backup job is using restic": [("backup-job", "uses", "restic")],
    "The worker is built on Celery": [("worker", "uses", "Celery")],
    "Redis is used by the session store": [("session-store", "uses", "Redis")],
    "Payments use Stripe": [("payments", "uses", "Stripe")],
    "All tests use pytest": [("tests", "uses", "pytest")],
    "The report generator uses a message queue": [("report-generator", "uses", "message-queue")],
    "Redis is used for rate limiting": [("Redis", "used_for", "rate-limiting")],
    "pgvector used for similarity search": [("pgvector", "used_for", "similarity-search")],
    "Celery is used for nightly reports": [("Celery", "used_for", "nightly-reports")],
    "The staging server is used for demos": [("staging-server", "used_for", "demos")],
    "Feature flags are used for gradual rollouts": [
        ("feature-flags", "used_for", "gradual-rollouts")
    ],
    "We use Kafka for audit events": [("Kafka", "used_for", "audit-events")],
    "Terraform is used for the cloud setup": [("Terraform", "used_for", "cloud-setup")],
    "The replica is used for reporting": [("replica", "used_for", "reporting")],
    "The mobile team prefers REST": [("mobile-team", "prefers", "REST")],
    "Our designer prefers Figma": [("designer", "prefers", "Figma")],
    "The ops team prefers Ansible over Puppet": [
        ("ops-team", "prefers", "Ansible"),
        ("Ansible", "chose_over", "Puppet"),
    ],
    "The customer prefers invoices by email": [("customer", "prefers", "invoices")],
    "The data team prefers notebooks": [("data-team", "prefers", "notebooks")],
    "The support team prefers short answers": [("support-team", "prefers", "short-answers")],
    "The build requires Node 20": [("build", "requires", "Node.js")],
    "The importer requires a database lock": [("importer", "requires", "database-lock")],
    "The release requires an approval": [("release", "requires", "approval")],
    "The login page requires JavaScript": [("login-page", "requires", "JavaScript")],
    "Our pipeline needs Docker": [("pipeline", "requires", "Docker")],
    "The migration requires downtime": [("migration", "requires", "downtime")],
    "The export needs the analytics API": [("export", "requires", "analytics-api")],
    "PostgreSQL is required by the ledger": [("ledger", "requires", "PostgreSQL")],
    "Integration tests require a test database": [
        ("integration-tests", "requires", "test-database")
    ],
    "The release is blocked by the security audit": [("release", "blocked_by", "security-audit")],
    "The checkout is blocked by the payment API": [("checkout", "blocked_by", "payment-api")],
    "The upgrade is blocked by the admin plugin": [("upgrade", "blocked_by", "admin-plugin")],
    "Our launch is blocked by the app review": [("launch", "blocked_by", "app-review")],
    "The mobile build was blocked by Gradle": [("mobile-build", "blocked_by", "Gradle")],
    "The import is blocked on the schema change": [("import", "blocked_by", "schema-change")],
    "Blocker: the launch is blocked by the app review": [("launch", "blocked_by", "app-review")],
    "Problem: the cache requires a restart": [("cache", "requires", "restart")],
    "There is an issue: the parser depends on the locale": [("parser", "depends_on", "locale")],
    "The service worker enables offline mode": [("service-worker", "enables", "offline-mode")],
    "Feature flags enable gradual rollouts": [("feature-flags", "enables", "gradual-rollouts")],
    "The event log enables replay": [("event-log", "enables", "replay")],
    "Logical replication enables rolling upgrades": [
        ("logical-replication", "enables", "rolling-upgrades")
    ],
    "gRPC enables streaming": [("gRPC", "enables", "streaming")],
    "The checkout depends on the inventory service": [
        ("checkout", "depends_on", "inventory-service")
    ],
    "Our dashboard depends on the metrics API": [("dashboard", "depends_on", "metrics-api")],
    "The invoice module relies on the tax table": [("invoice-module", "depends_on", "tax-table")],
    "The nightly export depends on the warehouse": [("nightly-export", "depends_on", "warehouse")],
    "Payroll depends on the holiday calendar": [("payroll", "depends_on", "holiday-calendar")],
    "The scheduler depends on system time": [("scheduler", "depends_on", "system-time")],
    "The security team recommends hardware keys": [
        ("security-team", "recommends", "hardware-keys")
    ],
    "The vendor recommends nightly backups": [("vendor", "recommends", "nightly-backups")],
    "Ansible replaces the shell scripts": [("Ansible", "replaces", "shell-scripts")],
    "The API gateway replaces nginx": [("API Gateway", "replaces", "NGINX")],
    "We chose Postgres over MySQL": [("PostgreSQL", "chose_over", "MySQL")],
    "Use structured logs instead of prints": [("structured-logs", "chose_over", "prints")],
    "The platform team chose Terraform": [("platform-team", "chose", "Terraform")],
    "The client picked Vue": [("client", "chose", "Vue")],
    "The shell scripts were replaced by Airflow": [("Airflow", "replaces", "shell-scripts")],
    "Sidekiq requires Redis and PostgreSQL": [
        ("Sidekiq", "requires", "Redis"),
        ("Sidekiq", "requires", "PostgreSQL"),
    ],
    "our scheduler uses cron-parser": [("scheduler", "uses", "cron-parser")],
    "The reporting module uses DuckDB": [("reporting-module", "uses", "DuckDB")],
    "Our tests use Playwright": [("tests", "uses", "Playwright")],
    "The chat widget uses WebSockets": [("chat-widget", "uses", "WebSocket")],
    "nginx is used for TLS termination": [("NGINX", "used_for", "tls-termination")],
    "The sandbox is used for integration tests": [("sandbox", "used_for", "integration-tests")],
    "S3 is used for invoices": [("S3", "used_for", "invoices")],
    "The legal team prefers plain text": [("legal-team", "prefers", "plain-text")],
    "The client prefers weekly releases": [("client", "prefers", "weekly-releases")],
    "Our editors prefer Markdown": [("editors", "prefers", "Markdown")],
    "The release branch requires two approvals": [("release-branch", "requires", "approvals")],
    "The installer requires Python 3.11": [("installer", "requires", "Python")],
    "The exporter needs a temporary folder": [("exporter", "requires", "temporary-folder")],
    "The rollout is blocked by the firewall change": [("rollout", "blocked_by", "firewall-change")],
    "Search is blocked by the index rebuild": [("search", "blocked_by", "index-rebuild")],
    "Blocker: the rollout requires a certificate": [("rollout", "requires", "certificate")],
    "Webhooks enable instant updates": [("webhooks", "enables", "instant-updates")],
    "The plugin system enables custom themes": [("plugin-system", "enables", "custom-themes")],
    "The receipt printer depends on the driver": [("receipt-printer", "depends_on", "driver")],
    "Deployments depend on the artifact registry": [
        ("deployments", "depends_on", "artifact-registry")
    ],
    "The feature team recommends trunk based development": [
        ("feature-team", "recommends", "trunk-based-development")
    ],
    "We chose Kafka over RabbitMQ": [("Kafka", "chose_over", "RabbitMQ")],
    "The crawler was replaced by the feed reader": [("feed-reader", "replaces", "crawler")],
    "The gateway requires Envoy": [("gateway", "requires", "Envoy")],
}
NOTHING = (
    "We wait with Kubernetes until traffic doubles",
    "It depends on the weather",
    "This requires more thought",
    "We need more time",
    "That depends on who asks",
    "The checkout does not use Redis",
    "Does the API use Redis?",
    "Nobody prefers the grey dashboard",
    "Whoever is on call uses the pager",
    "We talked about Redis for a while",
    "He used to work at Google",
    "I am used to Vim",
    "The tests pass for now",
    "Thanks for the review",
    "Let us look for a better name",
    "The issue is still open",
    "No problem with that",
    "There is a problem for which we have no fix",
    "What does the build require?",
    "If the API used Redis, it would be faster",
    "The API could use Redis",
    "We may need a bigger server",
    "Please use your judgement",
    "Use it for now",
    "The build no longer requires Node",
    "We stopped using Celery",
    "The parser never uses recursion",
    "Ask Bob for access",
    "Redis is fast, and Celery is popular",
    "Over time Redis grew",
    "The user prefers it that way",
    "That enables us to move faster",
    "They chose wisely",
    "She requires help with it",
    "Blocked by default",
    "This is blocked by nothing",
    "Postgres or MySQL for the ledger?",
    "We are waiting for the designer",
    "Recommended reading: the Redis book",
    "The word uses two letters",
    "Feel free to use the printer",
    "It uses less memory",
    "Which library do you prefer for charts?",
    "Nothing depends on the banner",
    "Maybe the importer needs a lock",
    "Unless the worker uses Redis, restart it",
    "The meeting is used up",
    "Prefer short names",
    "It requires a lot of care",
    "Who uses the sandbox?",
    "We rely on each other",
    "If the gateway requires a token, send one",
    "Their idea enables nothing",
    "The form needs work",
    "I use what I like",
    "He recommends against it",
    "The banner does not require JavaScript",
    "My computer is used",
    "We ran out of time for tests",
    "Cheers for that",
    "Please require nothing",
)
CHOSEN = {
    "Emails are sent through Postmark since Mailgun lost two batches": "Postmark",
    "Passwords are hashed with Argon2": "Argon2",
    "Both teams agreed to use conventional commits": "conventional-commits",
    "Orders are stored in PostgreSQL": "PostgreSQL",
    "The shop is deployed to Kubernetes": "Kubernetes",
    "PostgreSQL holds the analytics data": "PostgreSQL",
    "Celery handles the background jobs": "Celery",
    "We use Redis for sessions": "Redis",
    "We decided to use PostgreSQL for the ledger": "PostgreSQL",
    "Use cursor-based pagination for all list endpoints": "cursor-pagination",
    "We chose Terraform": "Terraform",
    "Switch to pnpm": "pnpm",
    "We moved to Kubernetes": "Kubernetes",
    "Go with FastAPI for the gateway": "FastAPI",
    "We stay with REST": "REST",
    "We stick with Jest": "Jest",
    "Keep Celery for background jobs": "Celery",
    "Adopt OpenTelemetry": "OpenTelemetry",
    "Redis instead of Memcached for the cache": "Redis",
    "We settled on GraphQL": "GraphQL",
    "We standardise on Ruff": "Ruff",
    "Replace Jest with Vitest": "Vitest",
    "We migrated from MySQL to PostgreSQL": "PostgreSQL",
    "The team picked Svelte": "Svelte",
    "Let's go with SQLite": "SQLite",
    "We will be using Docker Compose in CI": "Docker Compose",
    "Wir verwenden Redis für Sitzungen": "Redis",
    "Wir setzen auf Kafka": "Kafka",
    "Wir haben uns für Terraform entschieden": "Terraform",
    "Usamos Redis para las sesiones": "Redis",
    "Nous utilisons PostgreSQL": "PostgreSQL",
    "Usaremos Kafka": "Kafka",
    "Vamos usar Redis": "Redis",
    "我们使用 Redis": "Redis",
    "セッションにRedisを使う": "Redis",
    "Redis를 사용한다": "Redis",
    "We are going to use the FastAPI framework": "FastAPI",
    "PostgreSQL for everything that is a ledger": "PostgreSQL",
    "Мы используем Redis для сессий": "Redis",
    "Use Playwright for browser tests": "Playwright",
    "We adopted Kafka for events": "Kafka",
    "Migrate the jobs to Airflow": "Airflow",
    "The backend will be written in Go": "Go",
    "We keep using MySQL": "MySQL",
    "Elegimos Terraform": "Terraform",
    "Wir bleiben bei Jenkins": "Jenkins",
    "We are switching from npm to pnpm": "pnpm",
    "Swap Moment for Luxon": "Luxon",
    "Store sessions using Redis": "Redis",
    "We opted for gRPC": "gRPC",
    "Always use Black": "Black",
}
ONLY_NAMED = (
    "Kubernetes is postponed until the third region",
    "Tests against Stripe use recorded cassettes",
    "Prisma migrations are written by hand",
    "Feature flags live in a table, not in LaunchDarkly",
    "Redis keeps its password in the vault",
    "Terraform is reviewed by two people",
    "We wait with Kubernetes until traffic doubles",
    "REST is secured by OAuth tokens",
    "Access to Grafana is for admins only",
    "Migrations in PostgreSQL run at night",
    "With Docker, the build takes four minutes",
    "The Kubernetes migration starts in May",
    "We compare Redis with Memcached next week",
    "Kubernetes is too big for us",
    "We talked to the Stripe people",
    "Before we use Kafka, we need a schema registry",
    "If we use GraphQL, clients must cache",
    "We might use Redis later",
    "We could adopt Bazel",
    "Deploys to Kubernetes happen on Fridays",
    "Tests in Jest must not sleep",
    "Errors in Celery go to Sentry",
    "The limit for Redis is 2 GB",
    "The docs for Terraform live in the wiki",
    "We decided against Kubernetes",
    "We stopped using Jenkins",
    "We evaluate Bazel for two weeks",
    "The Docker images are signed",
    "Ask before using Terraform in production",
    "We do not use Redis",
    "Nobody uses Grafana",
    "Terraform plans are reviewed by two people",
    "Jobs on Jenkins may run for an hour",
    "We meet the Kafka people on Monday",
    "In Grafana, dashboards are named by team",
    "Kafka topics have three partitions",
    "Do we use Kafka?",
    "The Redis password rotates monthly",
    "We looked at Bazel and left it",
    "Pull requests to Terraform modules need a plan",
    "It would be nice to use Rust",
    "Docker is for CI only",
    "Secrets are never stored in Vault",
)


def relations_in(text: str) -> set[tuple[str, str, str]]:
    return {(r.source, r.type, r.target) for r in extract(text)[1]}


def chosen_in(text: str) -> str:
    return chosen(text, [entity.name for entity in extract(text)[0]])


def test_relations_are_extracted_with_high_precision_and_ninety_percent_recall() -> None:
    made = {(text, relation) for text in STATED for relation in relations_in(text)}
    stated = {(text, relation) for text, some in STATED.items() for relation in some}

    right = made & stated

    assert len(right) >= 0.95 * len(made), made - stated
    assert len(right) >= 0.9 * len(stated), stated - made


@pytest.mark.parametrize("text", NOTHING)
def test_questions_conditions_negations_and_remarks_yield_no_relation(text: str) -> None:
    assert relations_in(text) == set()


def test_at_least_ninety_percent_of_stated_choices_are_extracted() -> None:
    right = [text for text, name in CHOSEN.items() if chosen_in(text) == name]

    assert len(right) >= 0.9 * len(CHOSEN), CHOSEN.keys() - set(right)
    assert all(chosen_in(text) in ("", name) for text, name in CHOSEN.items())


@pytest.mark.parametrize("text", ONLY_NAMED)
def test_an_entity_that_is_only_mentioned_is_not_treated_as_chosen(text: str) -> None:
    assert chosen_in(text) == ""
