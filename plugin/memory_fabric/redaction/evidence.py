"""Evidence of the value and of the place: which word is random, and for whom it could be a key.

A random word alone is no secret. With a prefix as issuers give it, or behind the name of an issuer
or of a secret in its line or the one before, it is one.
"""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

import re
from binascii import a2b_base64
from functools import cache
from itertools import pairwise

from memory_fabric.patterns import exact, pattern
from memory_fabric.redaction.credentials import shapes_in
from memory_fabric.redaction.secret_names import (
    MIN_CHANGES,
    MIN_HEX_CHARS,
    is_hex,
    is_identifier,
    is_name,
    is_placeholder,
)
from memory_fabric.redaction.secret_signs import MIN_WORD_CHARS, is_doubtful, is_uuid
from memory_fabric.redaction.secret_values import is_known_form, stripped

MIN_RANDOM, MIN_TAIL = 20, 16
MAX_WORD = 600
BEFORE_CHARS = 90
# Prefixes of ids, sums, builds and places, none of which opens anything.
THINGS = frozenset(
    """acct asst batch call card ch chatcmpl cmpl cs cus dp ev evt file ft ftjob gen group ic id il in
    inv item job main modelperm msg msgbatch reference installation nonce obj object order org pi plan pm po price prod proj project
    pst py ref req request resp rs run session seti si span src step sub tax thread tool toolu trace
    txn txr user usr vs we upload chunk index vendor sha sha1 sha256 sha384 sha512 md5 integrity ord
    cart dpl team member acc node wf exec task doc page conv chat rec lead deal grp role inc addr rev
    mem ws vm img vol snap eni subnet vpc ami lock cache build deploy commit hash digest etag pub
    public pk pubkey cert certificate fingerprint uuid guid version rel release ver tag branch rc
    image layer container pod svc service deployment rs replica app application site zone region
    host server cluster instance vps db table column key_id keyid kid cid sid pid tid uid gid mid rid
    css sc jsx emotion data test tests spec mock fixture example sample demo font woff hashed min
    bundle chunk vendors runtime polyfills styles script assets static media i igw rtb sg eipalloc
    acl nat tgw lb elb tg arn urn oid did plc bafy ipfs qm lt nr x-request-id cf ray correlation
    transaction customer invoice payment charge refund product sku subscription account tenant client
    device visitor fbclid gclid msclkid utm ga gtm ua aw dc tmp temp var cls class ng vite webpack
    swc mui jss css-module v8 node_modules pnpm yarn npm store blob tree content contents manifest
    bld prj dpl env wrk lnk itm sess tm spc brd crd lst pg blk cmt thr chn rls tsk flw stp nod edg lin
    fn sha512 wf wfr exe evtx tkt iss pull mr cmp seg grp plt pkg mod lib obj key-id resp rsp cnv
    oci docker config boot kernel linux x86 amd64 arm64 cp py3 none manylinux any""".split()
)
_PARTED = "_-.:~+"


def decodes_to_text(value: str) -> bool:
    """True if a value is plain text in base64."""
    try:
        bare = value.rstrip("=")
        padded = f"{bare}{'=' * (-len(bare) % 4)}"
        plain = a2b_base64(padded, strict_mode=True).decode("utf-8")
    except ValueError:
        return False
    said = sum(c.isalpha() or c in ' \n\t,."{}[]<>/' for c in plain)
    return len(plain) > 8 and said >= 0.9 * len(plain) and " " in plain


def is_random(core: str, least: int = MIN_RANDOM) -> bool:
    """True if letters and digits follow one another as in no word and no identifier."""
    if not core.isascii() or is_name(core) or is_identifier(core) or is_placeholder(core):
        return False
    plain = "".join(c for c in core if c.isalnum())
    digits = sum(c.isdigit() for c in plain)
    if len(plain) < least or digits == len(plain) or (digits < 2 and not _is_case_mixed(plain)):
        return False
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in plain]
    digit_runs = len(exact(r"\d+").findall(plain))
    turns = sum(a != b for a, b in pairwise(kinds))
    in_words = sum(len(run) for run in exact(r"[A-Za-z][a-z]{3,}|[A-Z]{5,}").findall(plain))
    is_mixed = turns >= MIN_CHANGES * len(plain) or digit_runs * 8 >= len(plain)
    if in_words > 0.45 * len(plain) and not (is_mixed or is_hex(plain.rjust(32, "0"))):
        return False
    return turns * 6 >= len(plain) and len({*plain.lower()}) >= 7


def _is_case_mixed(plain: str) -> bool:
    turns = sum(a.isupper() != b.isupper() for a, b in pairwise(plain))
    return turns * 5 >= len(plain) * 2


def has_prefix(core: str) -> bool:
    """True if a random tail stands behind a prefix, as issuers give it, and no id has it."""
    if len(core) > 36 and is_uuid(core[-36:]):
        return core[-37] in "_-" and core[:-37].lower() in (
            "sk",
            "pat",
            "key",
            "api",
            "token",
            "secret",
            "sdk",
        )
    match = _prefixed().fullmatch(core)
    if match is None:
        return False
    prefix, tail = match.groups()
    if prefix.startswith(("pk_live", "pk_test", "pk_sandbox", "did:", "urn:", "arn:")):
        return False
    parts = exact(r"[_.:~+-]").split(prefix.lower().rstrip(_PARTED))
    if exact(r"v\d").match(prefix) or any(
        part.rstrip("0123456789") in THINGS or part in THINGS for part in parts
    ):
        return any(part in _TELLING for part in parts)
    if any(part in _TELLING or _of_issuer().fullmatch(part) for part in parts):
        longest = max(exact(r"[-_.]").split(tail), key=len)
        return is_random(tail, MIN_TAIL) and not longest.isdigit()
    if "/" in tail:
        return False
    cases = {"d" if c.isdigit() else "u" if c.isupper() else "l" for c in tail}
    if is_hex(tail.rjust(32, "0")):
        return (prefix[-1] == "_" and len(tail) >= 32) or (prefix[-1] == "." and len(tail) >= 40)
    return is_random(tail, MIN_RANDOM if len(cases) == 3 else 26)


_TELLING = frozenset(
    """sk ak rk key keys api apikey pat tok token tkn secret sec scrt priv private auth access live
    sandbox svc sa cred bot oauth pw pass prod sktsec prv signing whsec mkt admin master root jwt
    bearer refresh deploykey tk seckey restricted""".split()
)


def only_names(text: str) -> bool:
    """True if the long words of a text are names alone: nothing in them is what an issuer gives
    out, or random. A text with an assignment or a mark is not looked at.
    """
    if "=" in text or ":" in text or "[redacted" in text:
        return False
    doubtful = [w for w in text.split() if len(w) >= MIN_WORD_CHARS and is_doubtful(w)]
    together = " ".join(doubtful)
    return all(_joined().fullmatch(word) and _is_short_name(word) for word in doubtful) and not any(
        shape.search(together) for shape in shapes_in(together)
    )


def _is_short_name(word: str) -> bool:
    """True if a word joins words and numbers as no random value does, and none tells of a key."""
    if len(word) >= MIN_HEX_CHARS or not is_name(word):
        return False
    return _TELLING.isdisjoint(exact(r"[_.:~+-]").split(word.lower()))


def random_words(text: str) -> list[tuple[int, int]]:
    """Return spans of random words with a token's prefix or their issuer's name before them."""
    spans = []
    for word in _words().finditer(text):
        token = word.group()
        if len(token) < MIN_WORD_CHARS or len(token) > MAX_WORD or not is_doubtful(token):
            continue
        left, right = stripped(token)
        at = max(token.rfind("=", left, right - 8), token.rfind("'", left, right - 8), -1)
        left = max(left, at + 1)
        left += len(token[left:right]) - len(token[left:right].lstrip("\"'`("))
        core = token[left:right]
        if _is_short_name(core):
            continue
        is_path = "/" in core[:-1] and ("://" in token or core.count("/") > 1)
        if (
            is_path
            or is_placeholder(core)
            or is_identifier(core)
            or "@" in core
            or "\\" in core
            or "(" in core
            or is_known_form(core)
        ):
            continue
        found = has_prefix(core) if at < 0 else False
        if (
            "://" not in token
            and not found
            and len(core) >= MIN_RANDOM
            and (is_random(core) or is_uuid(core))
        ):
            start = max(text.rfind("\n", 0, word.start()) + 1, word.start() - BEFORE_CHARS)
            before = text[start : word.start() + left]
            found = bool(_issuer().search(before)) and not _of_thing().search(before)
        if found:
            spans.append((word.start() + left, word.start() + right))
    return spans


@cache
def _of_issuer() -> re.Pattern[str]:
    return exact(r"[b-su-z]{1,2}sk|[a-z]{1,4}(?:pat|tok|key|sec)")


@cache
def _joined() -> re.Pattern[str]:
    return exact(r"[A-Za-z0-9_.-]+[,;!?]?")


@cache
def _words() -> re.Pattern[str]:
    return exact(r"[^\s\"'`<>|,;{}\[\]()\U000f0000-\U000ffffd\u3000-\u30ff\u3400-\u9fff]+")


@cache
def _prefixed() -> re.Pattern[str]:
    return exact(
        r"((?:[A-Za-z][A-Za-z0-9]{0,15}[_.:~+-]{1,2}){1,4}(?:v?\d{1,2}[_.:-])?)"
        r"([A-Za-z0-9][A-Za-z0-9_+/=.:~-]{15,512})"
    )


@cache
def _issuer() -> re.Pattern[str]:
    """Names of services that give out keys, and what a key of theirs is called."""
    return pattern(
        r"(?<![a-z])(?:open\s?ai|anthropic|claude|mistral|cohere|groq|gemini|deep\s?seek|perplexity|"
        r"hugging\s?face|replicate|together(?:\s?ai)?|fireworks(?:\s?ai)?|open\s?router|eleven\s?labs|deepgram|"
        r"assembly\s?ai|stability(?:\s?ai)?|pinecone|weaviate|qdrant|tavily|serp\s?api|serper|"
        r"langsmith|langfuse|wandb|weights (?:&|and) biases|datadog|new\s?relic|sentry|grafana|"
        r"honeycomb|logtail|logdna|mezmo|better\s?stack|papertrail|loggly|sumo\s?logic|splunk|rollbar|bugsnag|"
        r"airbrake|pingdom|uptime\s?robot|pager\s?duty|opsgenie|statuspage|stripe|paypal|adyen|mollie|"
        r"razorpay|square|braintree|plaid|klarna|paddle|lemon\s?squeezy|chargebee|recurly|"
        r"flutterwave|paystack|wise|coinbase|binance|kraken|kucoin|alchemy|infura|etherscan|moralis|"
        r"twilio|vonage|nexmo|plivo|message\s?bird|telnyx|send\s?grid|mail\s?gun|mail\s?chimp|mailjet|"
        r"postmark|spark\s?post|resend|brevo|send\s?in\s?blue|mandrill|customer\.io|klaviyo|intercom|"
        r"zendesk|freshdesk|hub\s?spot|salesforce|pipedrive|zoho|segment|mixpanel|amplitude|heap|"
        r"posthog|algolia|meili\s?search|typesense|elastic(?:\s?cloud)?|mapbox|here maps|tomtom|"
        r"open\s?weather(?:\s?map)?|weatherapi|ipinfo|ipstack|abuse\s?ipdb|virus\s?total|shodan|censys|"
        r"cloudflare|fastly|akamai|digital\s?ocean|linode|vultr|hetzner|scaleway|ovh|heroku|render|"
        r"railway|fly\.io|vercel|netlify|supabase|planet\s?scale|neon|upstash|aiven|mongodb atlas|"
        r"cockroach|fauna|firebase|circle\s?ci|travis(?:\s?ci)?|buildkite|drone|semaphore|codecov|"
        r"coveralls|codacy|sonar(?:qube|cloud)?|snyk|jfrog|artifactory|nexus|nuget|rubygems|packagist|"
        r"terraform cloud|pulumi|doppler|vault|infisical|1password|bitwarden|okta|auth0|clerk|"
        r"stytch|work\s?os|launch\s?darkly|split\.io|flagsmith|unleash|optimizely|slack|discord|"
        r"telegram|mattermost|rocket\.chat|notion|airtable|asana|trello|jira|confluence|atlassian|"
        r"click\s?up|monday\.com|linear|shortcut|todoist|figma|miro|canva|contentful|sanity|strapi|"
        r"prismic|storyblok|ghost|shopify|woo\s?commerce|big\s?commerce|etsy|amazon|ebay|"
        r"dropbox|box\.com|google maps|youtube|twitch|spotify|twitter|linkedin|facebook|instagram|"
        r"tik\s?tok|reddit|strava|fitbit|tmdb|imdb|giphy|unsplash|pexels|imgur|cloudinary|"
        r"imgix|ngrok|tailscale|zerotier|twingate|browser\s?stack|sauce\s?labs|percy|lambda\s?test|"
        r"postman|rapid\s?api|zapier|make\.com|n8n|ifttt|calendly|typeform|docu\s?sign|hello\s?sign|"
        r"deepl|easypost|shippo|lob|plausible|fathom|matomo|sonarr|radarr|plex|home\s?assistant|"
        r"gitea|forgejo|azure(?: ?devops)?|google|apple|aws|gcp|jwt\.(?:sign|verify|encode|decode)|fernet|hmac|"
        r"bearer|secretbox|create(?:de)?cipher|do not share|copy it now|keep (?:it|this) secret|see it again|"
        r"riot(?: games)?|steam|finnhub|alpha\s?vantage|polygon\.io|news\s?api|scraping\s?bee|apify|"
        r"bright\s?data|maxmind|clearbit|hunter\.io)(?![a-z])",
        re.IGNORECASE,
    )


@cache
def _of_thing() -> re.Pattern[str]:
    """Between the name of an issuer and the word these say that it is an id or a sum."""
    return exact(
        r"(?i)(?<![a-z])(?:commit|sha\d*|md5|digest|checksum|hash|etag|integrity|revision|rev|release|version|"
        r"image|build|branch|deploy(?:ment)?|request|req|trace|span|run|job|public|publishable|url|tag|ref|id|ids|uuid|"
        r"account|project|dashboard|page|database|board|issue|ticket|order|customer|event|invoice|"
        r"payment|channel|message|file|video|track|playlist|workspace|organi[sz]ation|team|user|"
        r"pinned|checkout|cherry-pick|merge|dsn|cache|chunk|bundle|container|pod|session)(?![a-z])"
    )
