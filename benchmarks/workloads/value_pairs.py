"""Pairs of statements of an invented company: one value that changed, and two that both hold.

Each changed pair is: a frame; the older value; the newer one; a prompt that is about both. The two
of an additive pair differ in a path, command, tool, language, environment, person or case, and hold
side by side.
"""

from __future__ import annotations

from typing import NamedTuple

_ENGLISH = """
max_uploads is {}; 3; 6; Write the loop that respects max_uploads.
The courier API times out after {} seconds; 5; 12;
    Wrap the call to the courier API with its timeout.
End all fixture names with {}; '_fx'; '_sample'; Write fixture names for the basket tests.
Release the kiosk app on {}; Thursday; Monday; Plan the next release of the kiosk app.
The default branch of the docs repository is {}; trunk; main;
    Set up the clone of the docs repository.
The owner of the loyalty service is {}; Ines; Tomas; Whom do I ask about the loyalty service?
Use {} for widget tests; Karma; Vitest; Add widget tests for the seat picker.
The print queue listens on port {}; 9101; 9210; Connect the label printer to the print queue.
Session cookies expire after {}; 30 minutes; 8 hours;
    Write the middleware that sets session cookies.
Keep {} database snapshots; 4; 9; Clean up the database snapshots.
Invoice numbers start with {}; INV-; 2026-; Generate invoice numbers for the refund.
Barcodes are rendered with {}; zint; bwip-js; The barcodes are blurred, look how they are rendered.
The mail relay version is {}; 3.2; 4.0; Update the image of the mail relay.
Maintenance mode is {}; off; on; Check maintenance mode before the import.
The basket limit is {}; 40 items; now 60 items, since the new trolleys hold more;
    Validate the basket limit in the form.
Set the crawl interval to {} minutes; 15; 45; Schedule the crawl with its interval.
The theme colour of the intranet is {}; teal; amber;
    Style the header of the intranet with its theme colour.
Nightly exports go to the bucket {}; acme-raw; acme-cold; Where do nightly exports go?
The geocoder is hosted on {}; Hetzner; Scaleway; Restart the geocoder where it is hosted.
Thumbnails are {} pixels wide; 240; 320; Resize the thumbnails of the catalogue.
The root cause of the seat map crash is the {}; stale tile cache; missing projection;
    What crashes the seat map?
The admin email address is {}; ops@acme.test; desk@acme.test;
    Send the report to the admin email address.
Write changelog entries in {}; English; Dutch; Write the changelog entries of this week.
The returns window is {} days; 14; 30; Show the returns window in the checkout.
"""
_SPANISH = """
El límite de reservas es {}; 4; 7; Valida el límite de reservas en el formulario.
Desplegar la pasarela los {}; viernes; martes; ¿Cuándo toca desplegar la pasarela?
Los nombres de los informes terminan en {}; '_inf'; '_rep';
    Escribe los nombres de los informes nuevos.
El puerto del buzón es {}; 7001; 7443; Conecta el cliente al puerto del buzón.
Usamos {} para las pruebas del mapa; Jasmine; Vitest; Añade pruebas del mapa.
La copia de seguridad se guarda {} días; 10; 25; Borra la copia de seguridad vieja.
"""
_FRENCH = """
La limite de réservations est {}; 4; 7; Valide la limite de réservations dans le formulaire.
Déployer la passerelle le {}; vendredi; mardi; Quand faut-il déployer la passerelle ?
Les noms des rapports se terminent par {}; '_rap'; '_doc'; Écris les noms des rapports nouveaux.
Le port de la messagerie est {}; 7001; 7443; Connecte le client au port de la messagerie.
On utilise {} pour les tests de la carte; Jasmine; Vitest; Ajoute des tests de la carte.
Les sauvegardes sont gardées {} jours; 10; 25; Efface les vieilles sauvegardes.
"""
_GERMAN = """
Das Limit für Reservierungen ist {}; 4; 7; Prüfe im Formular das Limit für Reservierungen.
Die Schnittstelle am {} ausrollen; Freitag; Dienstag; Wann wird die Schnittstelle ausgerollt?
Namen von Berichten enden mit {}; '_ber'; '_bericht'; Schreibe die Namen von neuen Berichten.
Der Port des Postfachs ist {}; 7001; 7443; Verbinde den Client mit dem Port des Postfachs.
Wir nutzen {} für die Tests der Karte; Jasmine; Vitest; Ergänze Tests der Karte.
Sicherungen werden {} Tage aufbewahrt; 10; 25; Lösche die alten Sicherungen.
"""
# A frame, and what may stand in it side by side.
_ADDITIVE = """
Never edit {}; src/legacy, src/vendor, db/generated
Run {} before each commit; make lint, make types, npm test
Ask {} before a merge; Ana, Bruno, the platform team
Never commit {} to the repository; secrets, binaries, build output
Install {} on the build image; jq, yq, shellcheck
{} uses Postgres; Staging, Production, The sandbox
Use {} files; tabs in Go, spaces in Python, tabs in Make
Check {} after a deploy; the error rate, the queue length, the dashboards
{} is read-only; src/legacy, src/vendor, The archive
The API supports {}; JSON, CSV, Parquet
Add {} to each ticket; a due date, an owner, the severity
Never push {}; to main, to release, large files
The parser handles {}; comments, escapes, line breaks
Port {} is open on the gateway; 80, 443, 8443
Python {} is supported; 3.11, 3.12, 3.13
Translate the help pages into {}; German, French, Polish
Fix ticket {} first; 112, 140, 205
{} reviews changes of the checkout; Ana, Bruno, Chidi
Use ruff for {}; linting, formatting, import order
Do not log {}; request bodies, card numbers, tokens
The service is {}; written in Go, deployed on Fly, slow
Notify {} about outages; Ana, #ops, the hotline
The image contains {}; curl, git, tzdata
No deploys on {}; Friday, Saturday, holidays
Test on {}; Linux, macOS, Windows
The worker publishes to {}; orders.created, orders.paid, orders.closed
Nunca edites {}; src/antiguo, src/terceros
Ejecuta {} antes de cada commit; make lint, make test
Pregunta a {} antes de fusionar; Ana, Bruno
N'édite jamais {}; src/ancien, src/tiers
Exécute {} avant chaque commit; make lint, make test
Demande à {} avant de fusionner; Ana, Bruno
Bearbeite nie {}; src/alt, src/fremd
Führe {} vor jedem Commit aus; make lint, make test
Frag {} vor dem Zusammenführen; Ana, Bruno
"""
_ADDITIVE_PAIRS = """
Staging uses MinIO for uploads; Production uses S3 for uploads
The timeout of the importer is 30 seconds; The timeout of the exporter is 60 seconds
The timeout is 30 seconds; The timeout is 60 seconds in staging
Use Redis for sessions; Use Kafka for events
Python code is formatted with ruff; Go code is formatted with gofmt
Ana owns the checkout; Bruno owns the search
Deploy the shop on Monday; Deploy the kiosk on Wednesday
The port of the API is 8080; The port of the page is 3000
The API is slow; The API is documented in docs/api.md
Store invoices in S3; Store thumbnails in Redis
Keep invoices for 10 years; Keep logs for 30 days
End test names with '_test'; Start test names with 'test_'
Alerts of the shop go to #shop; Alerts of the kiosk go to #kiosk
Write commit messages in English; Write customer mails in German
The build takes 4 minutes; The build needs 8 GB of memory
The retry limit is 3; The retry delay is 5 seconds
Use 4 spaces in Python; Use 2 spaces in YAML
Shard 3 holds customers of Europe; Shard 4 holds customers of Asia
The first step is a backup; The second step is a migration
Error 404 pages are cached; Error 500 pages are logged
The entrance is open at 8; The canteen is open at 11
Node 18 is on the old runner; Node 22 is on the new runner
Ana is away in May; Ana is away in August with Bruno
Use pytest; Use hypothesis
The team uses Slack; The team uses Figma
En pruebas usamos SQLite; En producción usamos Postgres
El puerto de la API es 8080; El puerto de la página es 3000
En test on utilise SQLite; En production on utilise Postgres
Le port de l'API est 8080; Le port de la page est 3000
Im Test nutzen wir SQLite; In Produktion nutzen wir Postgres
Der Port der API ist 8080; Der Port der Seite ist 3000
"""


class Changed(NamedTuple):
    """Two statements of one subject, the older one first, with a prompt that is about it."""

    old: str
    new: str
    prompt: str
    language: str


def _changed(lines: str, language: str) -> list[Changed]:
    whole = lines.replace(";\n ", ";").strip().splitlines()
    parts = [[part.strip() for part in line.split(";")] for line in whole]
    return [
        Changed(frame.format(old), frame.format(new), prompt, language)
        for frame, old, new, prompt in parts
    ]


def _in_frames(lines: str) -> list[tuple[str, str]]:
    """Return each two statements that a frame makes of its contents."""
    pairs = []
    for line in lines.strip().splitlines():
        frame, _, contents = line.partition(";")
        said = [frame.format(content.strip()) for content in contents.split(",")]
        pairs += [(a, b) for place, a in enumerate(said) for b in said[place + 1 :]]
    return pairs


def _as_pair(line: str) -> tuple[str, str]:
    one, _, other = line.partition(";")
    return one.strip(), other.strip()


CHANGED = (
    *_changed(_ENGLISH, "English"),
    *_changed(_SPANISH, "Spanish"),
    *_changed(_FRENCH, "French"),
    *_changed(_GERMAN, "German"),
)
ADDITIVE = (*_in_frames(_ADDITIVE), *map(_as_pair, _ADDITIVE_PAIRS.strip().splitlines()))
