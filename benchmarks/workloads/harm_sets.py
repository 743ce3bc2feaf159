"""Rules and facts of an invented shop, and prompts about the same thing, a neighbour or another.

Each line is: a thing; how it is done; how it was done before, or what is rejected; a thing of
nearly the same name, and another thing, of which memory knows nothing.
"""

from __future__ import annotations

from typing import NamedTuple

_LINES = """
invoice PDFs; WeasyPrint; wkhtmltopdf; invoice reminders; the seating plan
order emails; Postmark; SendGrid; order exports; the parking gate
session tokens; Redis; Memcached; session recordings; the coffee menu
product photos; imgproxy; Thumbor; product reviews; the payroll sheet
search queries; Meilisearch; Elasticsearch; search history; the alarm panel
database migrations; Alembic; Flyway; database backups; the floor heating
unit tests; pytest; nose; unit prices; the visitor badges
browser tests; Playwright; Cypress; browser extensions; the meeting rooms
background jobs; Dramatiq; Celery; background images; the printer toner
feature flags; Unleash; LaunchDarkly; feature requests; the holiday calendar
payment webhooks; Svix; ngrok; payment terms; the bicycle racks
customer addresses; libpostal; Smarty; customer surveys; the fire drill
stock levels; Kafka; RabbitMQ; stock photos; the greeting cards
shipping labels; EasyPost; Shippo; shipping insurance; the phone book
tax rates; Avalara; TaxJar; tax forms; the lunch vouchers
error reports; GlitchTip; Rollbar; error pages; the ticket machine
access logs; Loki; Splunk; access cards; the garden lights
metrics dashboards; Grafana; Kibana; metrics retention; the travel desk
container images; Buildah; Kaniko; container terminals; the shoe sizes
secret values; Vault; Doppler; secret santa; the water cooler
type checks; mypy; pyright; type foundries; the cleaning rota
code formatting; ruff; black; code reviews; the guest parking
dependency updates; Renovate; Dependabot; dependency graphs; the desk lamps
load tests; k6; Locust; load balancers; the vending machine
api documentation; Redoc; Swagger; api quotas; the birthday list
mobile builds; Fastlane; Bitrise; mobile menus; the elevator keys
push messages; Gotify; Pushover; push scooters; the window blinds
chart rendering; uPlot; Highcharts; chart colours; the first aid kit
date pickers; Flatpickr; Pikaday; date formats; the lost property
rich editors; Tiptap; Quill; rich snippets; the mail room
form validation; zod; yup; form letters; the office plants
state management; Zustand; Redux; state subsidies; the carpool
style sheets; Tailwind; Bootstrap; style guides; the smoke detectors
icon sets; Lucide; FontAwesome; icon painters; the postcode lottery
map tiles; MapLibre; Leaflet; map legends; the snow clearing
video streams; Mux; Wowza; video contracts; the wine cellar
file uploads; tusd; Uppy; file names; the museum pass
user avatars; DiceBear; Gravatar; user manuals; the chess club
rate limits; Envoy; Kong; rate cards; the piano tuner
cache headers; Varnish; Squid; cache cows; the language course
"""

# What is said of a thing, and what a prompt asks for: every fifth case has the same words.
_STATEMENTS = (
    ("decision", "The shop makes {thing} with {means}"),
    ("rule", "All {thing} go through {means}"),
    ("fact", "{means} is what runs {thing} in production"),
    ("decision", "For {thing} the team relies on {means}"),
    ("rule", "Anything that touches {thing} uses {means}"),
)
_PROMPTS = (
    "Please change how {thing} work, they are slow since Monday.",
    "Write a small script that checks {thing} once a day.",
    "What should I know before I touch {thing}?",
    "Add a second kind of {thing} to the admin area.",
    "Customers complain about {thing}; have a look.",
)
_AGAINST = (
    "Use {other} for {thing} from here on.",
    "Let's switch {thing} to {other}.",
    "Please install {other} and let it do {thing}.",
    "Move {thing} over to {other} today.",
    "Add {other} to the project and use it for {thing}.",
)


class Case(NamedTuple):
    """A thing with what is on record about it."""

    number: int
    thing: str
    new: str
    old: str
    adjacent: str
    absent: str

    def statement(self, means: str) -> str:
        """Return the sentence that says how the thing is done."""
        return self._said[1].format(thing=self.thing, means=means)

    @property
    def older(self) -> str:
        """The note of how it was done before."""
        return f"Noted {self._said[0]}: {self.statement(self.old)}."

    def note(self, name: str) -> str:
        """Return the note that a set is about."""
        line = f"Noted {self._said[0]}: {self.statement(self.new)}."
        if name == "superseded":
            return f"{line} Instead of: {self.statement(self.old)}."
        return f"{line} Instead of: {self.old}." if name == "contradictory" else line

    def prompt(self, name: str) -> str:
        """Return the prompt of a set."""
        if name == "contradictory":
            return _AGAINST[self.number % len(_AGAINST)].format(thing=self.thing, other=self.old)
        about = {"absent": self.absent, "adjacent": self.adjacent}.get(name, self.thing)
        return _PROMPTS[self.number % len(_PROMPTS)].format(thing=about)

    @property
    def _said(self) -> tuple[str, str]:
        return _STATEMENTS[self.number % len(_STATEMENTS)]


CASES = tuple(
    Case(number, *(part.strip() for part in line.split(";")))
    for number, line in enumerate(filter(None, _LINES.split("\n")))
)
