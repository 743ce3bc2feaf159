"""Tests of a value after a secret's name: secret, prose, code or placeholder.

`password=hunter42` is one; `password = get_password()` and `token: string` are not.
"""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache

from memory_fabric.patterns import exact, pattern
from memory_fabric.redaction.secret_signs import NAME_PARTS, PROSE
from memory_fabric.redaction.secret_words import FILLERS, MODAL, PREDICATES
from memory_fabric.redaction.secret_words import NAMES as EVERY_NAME

NAMES = (
    r"pass(?:word|wd|phrase|code)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|"
    r"client[_-]?secret|auth[_-]?key|credentials?|encryption[_-]?key|signing[_-]?key|"
    r"(?:account|shared|storage|master|license|service|deploy|webhook)[_-]?key|pwd|"
    r"(?<=[_,])pass(?![a-z])|(?<=db)pass(?![a-z])|(?<![a-z])_auth(?![a-z])"
)
# What may follow in a name: `tokens`, `token_2`, `secretKey`; not `tokenizer`, `secretary`.
ENDINGS = r"(?:[_-][\w-]{0,20}|(?-i:(?<=[a-z])[A-Z])\w{0,20}|s?\d{0,3})"
# A name that ends so tells about a secret; only what looks random is one then.
_ABOUT = frozenset(
    "id ids name names type types url uri path file files count limit length size policy field "
    "label hint reset expired expiry expires expiration ttl rotation ref refs class kind manager "
    "provider store service format column min max regex pattern header prefix budget usage index "
    "env var param required enabled strength rules algorithm version age date at in endpoint "
    "timeout interval seconds minutes hours days message error status title text placeholder help description prompt scope scopes "
    "issuer".split()
)
# One of these is in every definition without a column's type, an equals sign or a digest in front.
_OF_DEFINITIONS = (
    "comment on", "create ", "alter table", "drop ", "select", "insert into", "delete from",
    "update ", "references ", "primary key", "foreign key", "add column", "constraint ", "char",
    "binary", "integrity", "resolved", "checksum", "shasum", "sha256", "sha512", "md5", "h1:",
    "--hash", "commit ", "index ", "tree ", "parent ", "merge: ",
)  # fmt: skip
_COLUMN_TYPES = tuple(
    "text uuid bytea blob json timestamp int bigint serial boolean numeric character".split()
)
# Words that stand where a secret would, and are none: values of settings, and names of types.
_PLACEHOLDERS = frozenset(
    "true false none null undefined required optional changeme example secret password "
    "token your_token your_password redacted hidden placeholder environment string integer number "
    "boolean bytes object secretstr include inherit same-origin".split()
)
# What people write instead of a secret is made of these, and of nothing else.
_SUBSTITUTES = frozenset(
    "a abc arg args basic digest repo proxy development postgres admin root database access account api auth bar bearer baz change changeme ci client db default demo dev "
    "dummy example expired fake foo foobar goes here id insert invalid it jwt key local me mock my "
    "new not of old pass password placeholder private public real refresh replace sample secret "
    "service signing some string super test testing the this todo token user valid value wrong "
    "your webhook xxx xyz pw pwd pa55word with random string generate long chars characters bit "
    "byte bytes min least at put fill enter provide strong dein deine passwort hier geheim tu "
    "votre mot passe ici sua senha aqui mysecret supersecret mypassword yourpassword please set "
    "unset tbd tba fixme env environment production prod staging later soon rotate very long "
    "insecure unsafe no yes none empty blank missing via vault see ask do use is are be with "
    "local only default masqué oculto verborgen github actions ditt din twoje twoj seu sua votre vuestra tuo mitt kode pusto vide leer vacío vuoto vazio leeg пусто 空 なし 없음".split()
)
# With these a sentence about passwords goes on.
_PROSE = frozenset(
    "always between cannot change changed enter expired expires forgot forgotten hashed encrypted "
    "invalid length login maximum minimum missing mismatch needed please policy protected reset "
    "should stored incorrect rotated rejected accepted wrong characters authentication "
    "validation".split()
)
# In what vendors publish as examples: of Amazon, Microsoft, Stripe, and of standards.
PUBLISHED = tuple(
    "EXAMPLE eyJzdWIiOiIxMjM0NTY3ODkw eyJzb21lIjoicGF5bG9hZCJ9 eyJpc3MiOiJqb2Ui QWxhZGRpbjp "
    "dXNlcjpwYXNz dXNlcm5hbWU6cGFzc czZCaGRSa3F0 tGzv3JOkF0XG SplxlOBeZQQY 2YotnFZFEjr1 "
    "dGhlIHNhbXBsZSBub25j s3pPLMBiTxaQ Eby8vdM02xNO C2y6yDjf5/R 4eC39HqLyjWD BQokikJOvBiI "
    "16C7e42F292c ngeVfQFYQlKU 6LeIxAcTAAAA mF_9.B5f T00000000/B0000".split()
)
# Rows of letters and digits, which make a value an example unless an issuer's prefix is before them.
_ROWS = "0123456789 123456789 1234567890 abcdef012345 deadbeef abcdefghij ABCDEFGHIJ".split()
_PLACES = ("http://", "https://", "./", "../", "~/")
_OBJECTS = frozenset(
    "process env os config settings self this cfg ctx req request args options opts props state "
    "app secrets vars var data params module input inputs body user event credentials steps "
    "github import local conf context response res".split()
)
_OF_PROGRAMS = _ABOUT | _PLACEHOLDERS | _SUBSTITUTES | _OBJECTS
_SYMBOLS = frozenset("!#$%^&*?~@+")
MIN_SECRET_CHARS = 6
# A password may be shorter where a digit or a symbol tells it from a word.
MIN_PASSWORD_CHARS = 4
# Prose and tables name no secret so short.
MIN_STRONG_CHARS = 8
# A random base64 string of 24 characters has about 4.2 bits a character; English words about 3.
MIN_ENTROPY_BITS = 3.7
MIN_ENTROPY_CHARS = 24
MIN_HEX_CHARS = 32
# Letters of either case and digits follow one another at random in a key, in runs in a name:
# 62 of 100 neighbours differ in kind there, fewer than 30 in CamelCase.
MIN_CHANGES = 0.35
# Of a key a tenth stands in runs of four small letters or more, of names in CamelCase most.
WORD_CHARS = 4
MAX_IN_WORDS = 0.45


_NAMES = frozenset(EVERY_NAME)
_SPELLED = tuple(name for name in EVERY_NAME if not name.isascii())


def is_plain(lead: str, value: str, follower: str, *, quoted: bool) -> bool:
    """Return whether the value after `lead` (name and sign) is prose, code or a placeholder.

    `follower` is what comes next in the text, a few dozen characters of it.
    """
    plain = value.rstrip(".!?:,;").lower()
    if is_placeholder(value) or value.startswith(_PLACES) or _is_reference(lead, value, quoted):
        return True
    if len(plain) < MIN_SECRET_CHARS and not _is_short_password(lead, value):
        return True
    if value[0] == "/" and not looks_random(value):
        return True  # where a secret lies
    name, sign = parted(lead)
    if plain.isdigit() and name.startswith("token"):
        return True  # how many tokens
    if _is_about(name) and not (looks_random(value) or is_hex(value)):
        return True
    if sign in ("to", "|"):
        return not is_strong(value)
    if sign == "is":
        return not any(c.isdigit() or c in _SYMBOLS for c in plain)
    if any(c.isspace() for c in value):
        return not is_passphrase(name, value)
    if not name.lower().startswith(("pass", "pwd")) and is_identifier(value):
        return True
    if not _names_password(name) and _is_identifier(plain, quoted=quoted):
        return True
    if quoted:
        return False
    if lead.rstrip().endswith("=="):
        return True  # a comparison
    return _is_code(value, follower) or _is_prose(name, sign, plain, follower)


def _is_reference(lead: str, value: str, quoted: bool) -> bool:
    """True for a variable of psql, a cmdlet, or the name of an object that holds the secret."""
    if quoted and lead.endswith((" :'", " :")) and value.isidentifier():
        return True
    if _cmdlet().fullmatch(value) or _mail_address().fullmatch(value):
        return True
    *rest, last = exact(r"[-/]").split(value)
    is_joined = len(rest) > 0 and all(part.isalpha() and part.islower() for part in rest)
    return is_joined and last in ("credentials", "creds", "secret", "secrets", "tls", "tokens")


def _is_example(value: str) -> bool:
    return any(part in value for part in (*PUBLISHED, *_ROWS))


def is_placeholder(value: str) -> bool:
    """Return whether the value is a placeholder: `your-token-here`, `xxxx`, `$TOKEN`."""
    plain = value.strip(".!?:,;`*\"'[]()/").lower()
    if _is_example(value) or value[:1] >= "\U000f0000" or "..." in value:
        return True
    if _constant().fullmatch(value):
        return True
    if any("\u3040" <= c <= "\u9fff" or "\uac00" <= c <= "\ud7af" for c in value):
        return True  # a label
    if plain.startswith(("changeme", "change-me", "change_me", "placeholder")):
        return True
    if (
        _type().fullmatch(value)
        or plain in _NAMES
        or (not value.isascii() and plain.startswith(_SPELLED))
    ):
        return True  # a label
    if _refers_elsewhere().match(value) or _is_masked().search(value.lower()):
        return True
    if plain in _PLACEHOLDERS or len(set(plain)) <= 2 or "[redacted" in plain:
        return True
    if value[0] in "$%<{" and not _is_spelled_with_dollar().fullmatch(value):
        inner = value.strip("$%<>{}()")
        return value[:2] in ("$(", "${", "{{", "$[", "<%") or inner.replace("_", "").isalnum()
    parts = exact(r"[-_.:|\s]+").split(plain)
    if any(plain[:at] in _SUBSTITUTES and plain[at:] in _NAMES for at in range(2, len(plain) - 1)):
        return True  # `proxypass`
    if parts[0] in ("your", "my", "insert", "enter", "dein") and _NAMES.intersection(parts[1:]):
        return True
    return all(_is_substitute(part) for part in parts if not part.isdigit())


def _is_substitute(part: str) -> bool:
    """True for `password`, `token2` and `secret123`; not for `password4535`, as people choose."""
    bare = part.strip("0123456789")
    return (bare in _NAMES or bare in _SUBSTITUTES) and len(part) - len(bare) < 3


def is_name(value: str) -> bool:
    """True if a value is words, numbers and their like, joined: `users_v2`, `eu-west-1`."""
    parts = exact(r"[-_./:,]").split(value.strip(".,;"))
    return all(part.isalpha() or part.isdigit() or len(part) < 4 for part in parts)


def is_style(line: str) -> bool:
    """True if a line is a rule of CSS: a selector before a brace, a colour, a length."""
    return bool(_rule_of_style().search(line))


def is_markup(line: str) -> bool:
    """True if a line is an element of HTML with attributes, or a rule of CSS."""
    return bool(_element().search(line)) or is_style(line)


def is_definition(line: str) -> bool:
    """True if a line is a statement of SQL that holds no value, or one of a lock file."""
    return _may_define(line) and bool(_definition().search(line))


def _may_define(line: str) -> bool:
    """False only for a line that cannot match: most prose has none of its pieces."""
    if not line.isascii():
        return True  # expressions ignore the case of more letters than str.lower does
    folded = line.lower()
    words = folded.split()
    return (
        "=" in folded
        or any(piece in folded for piece in _OF_DEFINITIONS)
        or any(word.startswith(_COLUMN_TYPES) for word in words[1:2])
        or any(7 <= len(word.strip("*|\\/")) <= 12 and _is_hex(word) for word in words)
    )


def _is_hex(word: str) -> bool:
    return not word.strip("*|\\/0123456789abcdef")


def is_identifier(value: str) -> bool:
    """True if a value is words in CamelCase or joined by signs, and at most numbers: no key."""
    if _camel().fullmatch(value) or _constant().fullmatch(value):
        return True
    parts = exact(r"[-_./:]").split(value)
    return len(parts) > 3 and value == value.lower() and is_name(value)


def is_words(text: str) -> bool:
    """Return whether these are plain words, joined at most by hyphens, apostrophes or slashes."""
    return all(part.isalpha() for part in exact(r"[-'/]").split(text.strip("*_`")) if part)


def is_strong(value: str) -> bool:
    """Return whether letters mix with digits or symbols, as in passwords and hardly in prose."""
    plain = value.strip(".,;:!?*`\"'()")
    if len(plain) < MIN_STRONG_CHARS or not any(c.isalpha() for c in plain):
        return False
    digits = sum(c.isdigit() for c in plain)
    if digits > 1 or (any(c in _SYMBOLS for c in plain) and "://" not in plain):
        return True
    # A key of one digit; names in camel case change more seldom.
    kinds = _kinds(plain)
    return len(set(kinds)) == 3 and _changes(kinds) > 0.4 * len(kinds)


def is_hex(value: str) -> bool:
    """Return whether these are 32 or more hexadecimal digits, as in a hash or a key."""
    return len(value) >= MIN_HEX_CHARS and all(c in "0123456789abcdefABCDEF" for c in value)


def looks_random(value: str) -> bool:
    """Return whether character classes and entropy suggest a key; not for hashes, UUIDs, names, paths."""
    plain = "".join(c for c in value if c.isalnum())
    if len(plain) < MIN_ENTROPY_CHARS or _is_example(value):
        return False
    kinds = _kinds(plain)
    if len(set(kinds)) < 3:
        return False
    in_words = sum(len(run) for run in exact(rf"[a-z]{{{WORD_CHARS},}}").findall(plain))
    if in_words > MAX_IN_WORDS * len(plain):
        return False
    often = _changes(kinds) >= MIN_CHANGES * (len(kinds) - 1)
    return often and _entropy_bits(value) >= MIN_ENTROPY_BITS


def _kinds(text: str) -> list[str]:
    """The class of each character: digit, capital, or something else."""
    return ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in text]


def _changes(kinds: list[str]) -> int:
    """Count changes from one character class to another."""
    return sum(kinds[i] != kinds[i + 1] for i in range(len(kinds) - 1))


def parted(lead: str) -> tuple[str, str]:
    """The name of the secret, in its own case, and the sign behind it."""
    bare = lead.rstrip("\"'` \t\\*")
    for sign in ("is", "to"):
        if bare.endswith((" " + sign, "\t" + sign)):
            return bare[:-2].rstrip("\"'` \t\\*"), sign
    sign = bare[-1:]
    return bare.rstrip("=:>|").rstrip("\"'` \t\\*"), sign


def _is_about(name: str) -> bool:
    """Return whether the name's last part says it only describes a secret: `token_type`."""
    words = exact(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall(name)
    return len(words) > 1 and words[-1].lower() in _ABOUT


def is_passphrase(name: str, value: str) -> bool:
    """Return whether several words are a passphrase: only under that name, and unlike a sentence."""
    words = value.split()
    if not _names_password(name) or len(words) > 12 or says_prose(words):
        return False
    letters = exact(r"[^\W\d_]{2,}").findall(value.lower())
    if letters and not says_prose(letters) and any(c.isdigit() or c in _SYMBOLS for c in value):
        return True
    return len(words) >= 4 and value == value.lower() and value[-1].isalpha()


def is_joined_words(value: str) -> bool:
    """True for three words or more, or two and a number, with one sign between them, of which
    programs use none.
    """
    sign = next((c for c in value if c in "._-"), " ")
    words = value.rstrip("!?").split(sign)
    if len(words) < 3 or len(set(words)) < len(words):
        return False
    words = [word for word in words if not (word.isdigit() and len(word) < 7)]
    if not all(2 < len(w) < 13 and w.isalpha() and w[1:].islower() for w in words):
        return False
    folded = [word.casefold() for word in words]
    is_case = len({word[0].isupper() for word in words}) == 1
    return (
        len(words) > 1 and is_case and not (says_prose(folded) or _OF_PROGRAMS.intersection(folded))
    )


def says_prose(words: Sequence[str]) -> bool:
    """Return whether one of the words, in small letters, is one that prose needs."""
    sets = (MODAL, PROSE, PREDICATES, FILLERS, _PROSE, _NAMES)
    return any(word in known for word in words for known in sets)


def _is_short_password(lead: str, value: str) -> bool:
    name, sign = parted(lead)
    return (
        len(value) >= MIN_PASSWORD_CHARS
        and sign in ("=", ":")
        and name.lower().endswith(("password", "passwd", "pwd", "pass", "passphrase", "passcode"))
        and any(c.isdigit() or c in _SYMBOLS for c in value)
        and not value.startswith(("$", "%"))
    )


def _is_code(value: str, follower: str) -> bool:
    """Return whether the value is an expression of a programming language."""
    value = exact(r"\|\||&&|\?\?").split(value, maxsplit=1)[0]
    if not value:
        return True
    if follower.startswith(("(", "[", "<")) or _path_of_names().fullmatch(value):
        return follower.startswith(("(", "[", "<")) or not is_joined_words(value)
    bare = value.lstrip("&*!@")
    if exact(r"\.|\?\.|::|->").split(bare, maxsplit=1)[0] in _OBJECTS and bare.isascii():
        return len(exact(r"\.|\?\.|::|->").split(bare)) > 1
    if bare != value and bare.isalpha() and follower[:1] in ("", " ", ",", ")", ";", "\n", "="):
        return True  # a reference, a type, a tag of YAML
    is_name = bare.replace("_", "").replace("?", "").isalpha()
    is_path = "." in bare and all(part.isidentifier() for part in bare.split("."))
    return (is_name or is_path) and any(part in bare.lower() for part in NAME_PARTS)


def _is_prose(name: str, sign: str, plain: str, follower: str) -> bool:
    """ "Token: expires after 15 minutes", but not "password: opensesame"."""
    if sign != ":" or not (follower[:1] == " " and follower[1:2].isalpha()):
        return False
    return is_words(plain) and (not _names_password(name) or plain in _PROSE)


def _names_password(name: str) -> bool:
    folded = name.lower().rstrip("0123456789")
    return folded.startswith(("pass", "pwd", "secret")) or folded.endswith(
        ("secret", "secret_key", "secret-key", "secretkey")
    )


def _is_identifier(plain: str, *, quoted: bool) -> bool:
    """Return whether the value is itself a name: `token = Whitespace`, `token: "x-token"`."""
    if not plain.replace("_", "").replace("-", "").isalpha() or len(plain) >= MIN_ENTROPY_CHARS:
        return False
    return not quoted or any(part in plain for part in NAME_PARTS)


@cache
def _rule_of_style() -> re.Pattern[str]:
    return pattern(
        r"^\s*(?:[.#&@:*][\w-][^{};=\n]{0,120}(?:\{\s*(?:$|[a-z-]{2,30}\s?:|\})|,\s*$)|"
        r"(?:--|\$)[a-z][\w-]{0,60}\s?:\s?(?:#[0-9a-f]{3,8}\b|rgba?\(|hsla?\(|-?[\d.]+(?:px|r?em|%|"
        r"vh|vw|s|ms|deg)?\s*;))|^\s*[a-z][\w-]*(?:\[[^\]\n]{1,60}\]|"
        r"[.#:][\w-]+)[^{};=(\n]{0,80}(?:\([^()\n]{0,40}\)[^{};=(\n]{0,40})?\{\s*"
        r"(?:$|[a-z-]{2,30}\s?:)",
        re.IGNORECASE,
    )


@cache
def _definition() -> re.Pattern[str]:
    rest = r"(?:[^'\n]|'\w{0,3}')*$"
    return pattern(
        r"\bcomment on (?:column|table)\b|\b(?:create (?:unique )?(?:table|index|view|type)|alter table|"
        r"drop (?:table|index|column)|select\b[^'\n]{1,200}\sfrom|insert into|"
        r"delete from|update [\w.\"`]{1,60} set|"
        r"references [\w.\"`]{1,60} ?\(|primary key|foreign key|add column|"
        rf"constraint \w{{1,60}} (?:unique|primary|foreign|check))\b{rest}|"
        r"^\s*[\"`\[]?\w+[\"`\]]?\s+(?:n?var)?(?:char|binary)2?\s?\(\d|"
        r"^\s*[\"`\[]?\w+[\"`\]]?\s+(?:text|uuid|bytea|blob|jsonb?|timestamptz?|int\d?|bigint|"
        r"serial|integer|boolean|numeric|character varying)\b[^'\n=:]*,?$|"
        r"\bintegrity\\?[\"']?[:= ]{1,3}[\"']?sha\d|\bresolved\\?[\"']?[:= ]{1,3}[\"']?https?:|"
        r"\b(?:checksum|shasum|sha256|sha512|"
        r"md5)\\?[\"']?[:= ]{1,3}[\"']?(?:sha\d{3}:)?[0-9a-f]{32}|"
        r"\bh1:[A-Za-z0-9+/]{40}|--hash=|^\s*-?\s*[\w.-]+==?\d+\.\d[\w.]*(?:=\w+)?$|"
        r"^(?:commit|index|tree|parent|merge:) [0-9a-f]{7,40}|"
        r"^\s*[*|\\/ ]{0,12}[0-9a-f]{7,12} (?![=:])",
        re.IGNORECASE,
    )


@cache
def _element() -> re.Pattern[str]:
    return pattern(
        r"<(?:input|label|div|span|form|button|a|p|td|th|tr|ul|li|svg|path|meta|img|i|"
        r"section|select|"
        r"option|textarea|h\d|nav|link|script|fieldset|use|small|code|"
        r"[a-z]+-[a-z-]+)\s[^<>\n]{0,60}=",
        re.IGNORECASE,
    )


@cache
def _constant() -> re.Pattern[str]:
    """A constant of three or more parts: `TLS_CIPHER_CHACHA20_SIZE`."""
    return exact(
        r"@?_{0,2}[A-Z]{1,20}(?:[0-9]{1,5}[A-Z]{0,3}){0,2}(?:_[A-Z]{1,24}(?:[0-9]{1,5}[A-Z]{0,3}){0,2}){2,12}[;,)]?"
    )


@cache
def _camel() -> re.Pattern[str]:
    return exact(
        r"(?:[A-Z]{1,2}\d)?(?:[a-z]{3,}|[A-Z][a-z]{2,})(?:[A-Z][a-z]{2,}|V?\d{1,4}(?=[A-Z]|$)|(?<=\d)[a-z]{2,3}$|"
        r"(?:API|URL|JWT|ID|UI|DB|SQL|HTTP|JSON|XML|AES|RSA|RS|HS|TLS|To|By|Of|In|On|At|"
        r"Is|Or|Id|Db)"
        r"(?=[A-Z\d]|$)){1,10}"
    )


@cache
def _refers_elsewhere() -> re.Pattern[str]:
    """Versions, and references to the place where a secret is stored."""
    return exact(
        r"[\^~<>=v ]{0,3}\d{1,6}(?:\.\d{1,6}){1,4}(?:[-+.](?:alpha|beta|rc|dev|pre|next|canary|"
        r"snapshot|final|ga|post|g|build|el|fc|deb|ubuntu|alpine|ent|m)?[-.]?\w{0,10}){0,3}$|"
        r"@?(?:env|secret|secrets|keyring|ssm|vault|kms|aws-sm|gcp-sm|azure-kv|keychain|"
        r"doppler|bws)"
        r":{1,2}[\w/.-]{2,}$|@\w+/|projects/|[!@]?(?:vault|ref\+\w{1,20}:|op:/|arn:aws|file:/|microsoft\.keyvault)|"
        r"#\{\w+\}#$|ssm:/|scram-sha|ECDHE-|@@\w+@@$|[‹<\[].{0,40}[›>\]]$|%env\(|@Microsoft|ENC\[|(?:env|process\.env|os\.environ|os\.getenv|getenv|secrets|config|settings|var|"
        r"local|data|params?|Rails|ENV|System\.getenv|import\.meta\.env)(?:[.\[(]|::)|"
        r"%\(\w+\)s$|!(?:Ref|Sub|ENV|env|env_var|GetAtt|secret|ImportValue|Join|include)\b|@/|"
        r"\$(?:env|Env|ENV):\w+$|\$[A-Z][A-Z_]{2,}[A-Z0-9]*(?:[/:]\S*)?$|[\[{(].{0,40}[\])][*+]|(?:(?:u?int|float|[iuf]|utf|bytes|varchar|char)(?:8|16|"
        r"32|64|128|256)"
        r"(?:_t|mb4\w*)?|(?:Big)?(?:Ui|I)nt(?:8|16|32|64)(?:Clamped)?Array|Float(?:32|64)Array)$|"
        r"(?:Promise|Observable|Option(?:al)?|Vec|List|Result|Array|Map|Set|Arc|Box|Rc|"
        r"Record|Dict)[<\[]|#[0-9a-fA-F]{3,8}$"
    )


@cache
def _type() -> re.Pattern[str]:
    return exact(
        r"(?:[A-Z][a-z]+)*(?:Array|String|Bytes|Buffer|View|Type|Slice|Sequence|List|Map|Value|Provider|"
        r"Service|Config|Options|Input|Credentials?|Token|Password|Secret)[?!]?"
    )


@cache
def _mail_address() -> re.Pattern[str]:
    return exact(
        r"[\w.+-]{1,64}@[\w-]{2,40}(?:\.[\w-]{2,40})*\.(?:com|org|net|de|io|fr|es|it|nl|pl|ru|uk|eu|"
        r"cn|jp|kr|br|ch|at|dev|app|local|example|test|invalid)"
    )


@cache
def _cmdlet() -> re.Pattern[str]:
    return exact(r"(?:Get|Read|New|ConvertTo|ConvertFrom|Import|Invoke|Set)-[A-Z][A-Za-z]+")


@cache
def _is_masked() -> re.Pattern[str]:
    return exact(r"\*{3}|•{3}|x{5}|(?:x{4}-){2}|█{2}|…$|\bn/a\b")


@cache
def _is_spelled_with_dollar() -> re.Pattern[str]:
    """A word behind a dollar, with a number: no variable is written so."""
    return exact(r"\$[A-Z][a-z]{2,12}\d{2,6}")


@cache
def _path_of_names() -> re.Pattern[str]:
    return exact(r"[A-Za-z_]+(?:(?:\.|\?\.|::|->)[A-Za-z_]+)+")


def _entropy_bits(value: str) -> float:
    size = len(value)
    counts = (value.count(c) / size for c in set(value))
    return -sum(share * math.log2(share) for share in counts)
