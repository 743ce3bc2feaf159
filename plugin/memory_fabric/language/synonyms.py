"""Words that people use for one another, and the names of kinds of things.

A question about the "database" matches a memory of PostgreSQL, one about "sign-in" one about
authentication. Synonyms count less than the words of the question (relevance.NEAR_SHARE), so that
an exact word always ranks higher. Only explicit queries use this table, not prompts.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from memory_fabric.text import stem

if TYPE_CHECKING:
    from memory_fabric.language.concepts import Concept

# Each line has words of nearly the same meaning in talk about work or everyday life.
_ALIKE = """
begin start launch
buy purchase order
remove delete drop erase
choose pick select decide choice
crash outage downtime incident failure
error exception failure
bug defect fault
fix repair patch hotfix
slow latency performance speed fast
memory heap ram
folder directory path
function method routine
class type struct
interface protocol trait
library package dependency module crate
email mail smtp mailer newsletter
login signin authentication auth oauth sso session
permission authorization access role
password credential secret
payment billing invoice checkout charge
customer client tenant user account
deploy deployment release rollout ship publish
build compile bundle
test testing spec suite coverage
flaky intermittent unstable random
log logging logger trace
monitor monitoring alert metric observability dashboard
cache caching memoize
queue broker worker job task background
schedule scheduler cron nightly
retry backoff attempt
timeout deadline
upload attachment file
image picture photo thumbnail
page screen view
style css theme styling
format formatter formatting lint linter
indent indentation whitespace tab
name naming convention
rename move migrate migration
upgrade update bump version
schema table column model
query sql select
lock mutex deadlock
race concurrent concurrency thread parallel
transaction commit rollback atomic
endpoint route api url
request call
response reply answer
paginate pagination page cursor
search lookup find index
money currency amount cents price cost
date time timezone timestamp clock
translation locale language i18n
document documentation docs readme
branch merge rebase
review reviewer approve approval
container docker image
cluster kubernetes
config configuration setting settings option
environment staging production
limit quota throttle cap
encrypt encryption tls certificate
backup snapshot restore
server host machine
device board firmware hardware
mobile phone app
child kid son daughter
movie film cinema
profession career occupation job
travel trip journey vacation visit
gift present
meal dish recipe food
shop store
doctor physician hospital
car vehicle
house home apartment
friend buddy mate
happy glad joy
scared afraid fear
study learn education school
workshop course lesson
join participate attend
recommend suggest recommendation suggestion advice
hobby interest pastime
married spouse husband wife wedding
parent mother father mom dad
game match tournament
book novel read
concert show gig
paint painting art drawing
exercise workout fitness
inspire inspiration idea
help support assist
trouble issue problem difficulty
plan intend goal
city town place
country nation
finance financial money
beach ocean sea
hike hiking trail mountain
cook cooking bake baking
pet animal dog cat
win won victory
speak talk speech
write writing wrote author
""".strip().splitlines()

# The name of a kind, and members of that kind; searched for in this direction only.
_KINDS = {
    "database db store storage": "postgresql postgres mysql mariadb sqlite mongodb cassandra "
    "dynamodb cockroachdb oracle clickhouse duckdb bigquery snowflake",
    "cache": "redis memcached varnish",
    "queue broker": "rabbitmq kafka celery sqs nats redis sidekiq",
    "framework": "django flask fastapi rails spring react vue angular svelte express",
    "orm": "sqlalchemy prisma hibernate typeorm",
    "ci pipeline": "jenkins github gitlab circleci buildkite",
    "runner": "pytest jest vitest nextest junit mocha",
    "linter": "ruff eslint clippy flake8 pylint",
    "formatter": "black prettier rustfmt ruff gofmt",
    "language": "python rust typescript javascript go java kotlin swift",
    "cloud": "aws gcp azure",
    "bundler": "webpack vite rollup esbuild parcel",
    "editor": "vim vscode emacs",
    "css": "tailwind sass",
    "pdf": "weasyprint wkhtmltopdf",
    "registry": "npm pypi",
}


def near_words(concept: Concept) -> tuple[str, ...]:
    """Return the synonyms of a concept, without those that count as the same; () for most."""
    near = _table().get(stem(concept.text), ())
    return tuple(word for word in near if stem(word) not in concept.stems)


@cache
def _table() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in _ALIKE:
        group = line.split()
        for word in group:
            found.setdefault(stem(word), {}).update(dict.fromkeys(group))
    for kinds, members in _KINDS.items():
        for word in kinds.split():
            found.setdefault(stem(word), {}).update(dict.fromkeys(members.split()))
    return {one: tuple(word for word in near if stem(word) != one) for one, near in found.items()}
