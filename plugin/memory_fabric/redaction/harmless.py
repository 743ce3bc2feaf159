"""Evidence against a secret: what looks random and is known to be public, encrypted or a reference.

Such a part of a text is set aside before the rules look at it, and put back behind them. Each form
has pieces (in small letters) without which it cannot match, and is compiled when one was seen.
"""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

import re
from functools import cache

from memory_fabric.patterns import exact

_B64 = r"A-Za-z0-9+/_\-"
# What follows the head of a block, also quoted, indented, numbered or with `\n` for its line ends.
_LINES = r"(?:[^\-]|-(?!-{4}END)){0,20000}?"
_KINDS = r"(?![A-Z0-9 ]{0,40}PRIVATE KEY|OpenVPN Static)[A-Z][A-Za-z0-9 ]{2,60}"
# How files begin in base64: images, fonts, archives, programs, documents, sounds.
_HEADS = (
    "iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi|PHN2Zy|UEsDB|H4sI|d09GR|AAEAAAA|T1RUTw|AABAAA|AAABAA|SUkq|"
    "TU0AK|Qk0|AGFzbQ|PD94bWw|PCFET0NU|PGh0bWw|TVqQ|f0VMR|yv66vg|KLUv/|N3q8r|/Td6WFo|QlpoO|UmFyIR|"
    "GkXfo|T2dnUw|SUQz|//uQ|AAAA[A-Z]G[Z0-9]0eX|ZkxhQ|MThcb|e1xydGY|QVJST1|UEFSMQ|U1FMaXRl|Q0lJ"
)
ALWAYS: tuple[tuple[str, str], ...] = (
    # Encrypted: of no use without a key that is elsewhere.
    ("enc[ enc(", r"\bENC(?:\[[^\]\n]{1,4000}\]|\([A-Za-z0-9+/=]{8,4000}\))"),
    ("$ansible_vault", r"\$ANSIBLE_VAULT;[^\s\\]{1,80}(?:(?:\s|\\n|[\"'+,]){1,20}[0-9a-f]{6,200}){0,2000}"),
    ("vault:v", r"\bvault:v\d{1,4}:[A-Za-z0-9+/=]{8,4000}"),
    ("{cipher", r"\{cipher(?:text)?\}[A-Za-z0-9+/=]{8,4000}"),
    ("gaaaaa", rf"\bgAAAAA[{_B64}]{{40,8000}}={{0,2}}"),
    ("u2fsdgvkx1", rf"\bU2FsdGVkX1[{_B64}]{{10,8000}}={{0,2}}"),
    ("aqicah aqeca", rf"(?<![\w-])AQ(?:ICAH|ECAH|ECA)[{_B64}]{{40,8000}}={{0,2}}"),
    ("ciq cik", rf"(?<![\w-])Ci[QkA-Z][{_B64}]{{60,8000}}={{0,2}}"),
    ("ag", r"(?<![\w-])Ag[A-H][A-Za-z0-9+/]{60,8000}={0,2}"),
    ("hq", r"(?<![\w-])hQ[EIGM][A-Za-z0-9+/]{60,8000}={0,2}"),
    ("ywdllw", r"\bYWdlL[A-Za-z0-9+/]{40,8000}={0,2}"),
    ("age1", r"\bage1[a-z0-9]{50,70}\b"),
    ("secure", r"\bsecure[\"']?\s?:\s?[\"']?(?:v1:)?[A-Za-z0-9+/]{12,4000}[A-Za-z0-9+/=:]{0,4000}"),
    ("encrypted cipher sealed",
     r"(?i:\b[\w.-]{0,30}(?:encrypted|cipher_?text|sealed)[\w.-]{0,30})[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
     r"(?:(?:\s{1,12}[\w.-]{1,60}: ?)?[A-Za-z0-9+/=_.:$-]{16,4000}){1,20}"),
    ("encrypted", r"(?i)\bencrypted[_-]?(?:data|string|value)s?[\"']?\s{0,4}[:=]\s{0,12}\{?"
     r"(?:\s{0,12}[\"']?[\w.-]{1,60}[\"']?: ?[\"']?[A-Za-z0-9+/=_-]{16,4000}[\"']?,?){1,40}"),
    # Blocks that are no private key.
    ("-----begin", rf"-{{5}}BEGIN {_KINDS}-{{5}}{_LINES}-{{5}}END {_KINDS}-{{5}}"),
    ("-----begin", rf"-{{5}}BEGIN {_KINDS}-{{5}}(?:(?:\\[rn]|[\s>|+#\"'*])+[A-Za-z0-9+/=]{{16,200}})*"
     .replace("+[A", "{1,40}[A").replace("})*", "}){0,400}")),
    ("---- begin", r"-{4} BEGIN SSH2 PUBLIC KEY -{4}[^\x00]{0,8000}?-{4} END SSH2 PUBLIC KEY -{4}"),
    # Public keys and their sums.
    ("ssh- ecdsa- sk-ssh", r"\b(?:ssh-(?:rsa|dss|ed25519|ed448)|ecdsa-sha2-nistp\d{3}|sk-(?:ssh|ecdsa)-[\w.@-]{4,40})"
     r"(?:-cert-v\d\d@[\w.]+)?\s{1,4}AAAA[A-Za-z0-9+/]{16,4000}={0,3}"),
    ("aaaa", r"\bAAAA[BCE][23]N[A-Za-z0-9+/]{16,4000}={0,3}"),
    ("mi mc mf mh", r"(?<![A-Za-z0-9+/])(?:MI[GI][A-Za-z0-9+/]{1,3}(?:ANBgkq|MA0GCSq)|MCowBQYDK2Vw|"
     r"MFkwEwYHK|MHYwEAYHK|MFYwEAYHK|MIGbMBAGB|MII[A-Za-z0-9]{3,5}(?:CCA|MII|zCC|TCC))[A-Za-z0-9+/]{16,8000}"
     r"(?:(?:\\n|\s{1,12}|\"\s{0,12}\")[A-Za-z0-9+/]{40,200}){0,100}={0,2}"),
    ("ls0tls1crudjti", r"\bLS0tLS1CRUdJTi(?:BDRVJUSUZJQ0FURS|BQVUJMSUMg|BSU0EgUFVCTElD|BUUlVTVEVE|BYNTA5|BQR1Ag|BORVcg|BBR0Ug)"
     r"[A-Za-z0-9+/=]{20,20000}"),
    ("sha md5 h1: blake", r"(?i)\b(?:sha-?(?:1|224|256|384|512)|md5|blake[23][bs]?|h1|ripemd160)"
     r"[-:=_][\"']?(?:[A-Za-z0-9+/]{40,128}={0,2}(?![A-Za-z0-9+/=])|[0-9a-f]{7,128}\b|(?:[0-9a-f]{2}:){5,40}[0-9a-f]{2})"),
    (":", r"\b(?:[0-9A-Fa-f]{2}:){7,63}[0-9A-Fa-f]{2}\b"),
    ("jwk kty x5", r"\"(?:n|x|y|e|kid|x5t|x5t#S256|x5c)\"\s?:\s?\[?\s?\"[A-Za-z0-9+/=_-]{8,4000}\""),
    # Tokens of pages and of languages, ids and names in camel case.
    ("token", r"(?i)(?:next|change|request|input|output|page|unk|sep|pad|cls|mask|bos|eos|idempotency|marker|start|stop)[_-]?token"
     r"[\"']?\s?[:=]\s?[\"']?(\[?[A-Za-z0-9+/_.:~-]{3,600}={0,2})"),
    ('id" id: id=" id\': name" name="', r"(?:(?<=[a-z])(?<![Kk]ey)(?<!cret)(?<!oken)(?<!sion)(?:ID|Id|Name)|(?<=[\"'])id)[\"']?\s?[:=]\s?[\"']([A-Za-z0-9+/_.:~|-]{4,600})(?=[\"'])"),
    ("existing", r"(?i)existing[_-]?secret[\"']?\s?[:=]\s?[\"']?([\w.-]{3,80})"),
    ("code_ver code_cha", r"code_(?:verifier|challenge)[\"']?\s?[:=]\s?[\"']?([A-Za-z0-9_.~-]{40,130})"),
    # Files.
    ("data:", r"\bdata:[\w.+-]{1,40}/[\w.+-]{1,60}(?:;[\w=.-]{1,40}){0,4},[A-Za-z0-9+/=%_-]{4,100000}"),
    ("base64 begin ", r"(?m)^[A-Za-z0-9+/]{60,80}\r?\n(?:[A-Za-z0-9+/]{60,80}\r?\n){1,400}[A-Za-z0-9+/]{0,80}={0,2}$"),
    ("", rf"(?<![A-Za-z0-9+/])(?:{_HEADS})[A-Za-z0-9+/]{{24,100000}}={{0,2}}"),
    # References, and addresses in memory.
    ("{{", r"\$?\{\{[^{}\n\"']{1,120}\}\}"),
    ("arn:aws", r"\barn:aws[\w-]{0,12}:[^\s\"'\])]{5,300}"),
    ("(public public)", r"[A-Za-z0-9+/=_:-]{20,200}(?= \((?:near )?public)"),
    ("signature", r"(?i)(?:dkim-signature|stripe-signature|x-hub-signature(?:-256)?|signature)\"?:[^\n]{10,2000}"),
    ("guid(", r"\b[Gg]uid\([\"'][0-9A-Fa-f-]{36}[\"']\)"),
    ("key", r"\b(?:EDDSA|RSA|DSA|ECDSA|GPG|PGP) key,?(?: ID)? [0-9A-F]{16,40}\b"),
    (":'", r"(?<=[\s=]):'[a-z_]\w{0,60}'"),
    ("/", r"(?<![\w/:@.-])[a-z0-9-]{2,40}(?:\.[a-z0-9-]{1,40}){1,5}(?::\d{2,5})?/[\w./-]{1,120}:[A-Za-z0-9][\w.-]{0,127}(?![\w:@/])"),
    ("0x", r"\b0x[0-9a-f]{1,16}\b(?![-_])"),
    # Patterns: in what they match nothing is stated.
    ("\\ [^", r"\((?:[\w ?:|\\.=-]{0,60})\)\[\^?[^\]\n]{1,40}\][*+]|\[\^[^\]\n]{1,40}\][*+]"),
)  # fmt: skip
# So long is the longest word, at least, of a text that holds a form with these pieces.
_LEAST_CHARS = {"": 24, "ag": 60, "hq": 60, "ciq cik": 60, "mi mc mf mh": 24}
_FORMS = tuple(
    (tuple(pieces.split()) or ("",), _LEAST_CHARS.get(pieces, 0), form) for pieces, form in ALWAYS
)
_ID = (
    r"(?:request|req|trace|span|parent|correlation|transaction|txn|event|message|msg|change|build|job|"
    r"run|deploy(?:ment)?|invocation|operation|activity|revision|order|object|resource|batch|node|pod|"
    r"container|image|instance|cluster|workflow|task|step|process|thread|conversation|release|"
    r"artifact|file|document|record|item|page|block|row|entity|upload|snapshot|volume|layer|"
    r"cache|chunk|query|subscription|invoice|payment|charge|customer|product|price|"
    r"measurement|tracking|visitor|installation|log|ray|amz|cf|x-amz|flow|dag|schedule|lease)"
)
# A value under these names says which thing, or what is in it.
_NAMED = (
    rf"{_ID}[\s_.-]?(?:id|uuid|guid|sha|hash|ref|arn|digest)(?:s|-\d)?(?![a-z])|"
    r"(?-i:[a-z](?:Uuid|Guid|Sha|Hash|Digest|Checksum)\b)|"
    r"(?:etag|checksum|integrity|digest|fingerprint|thumbprint|traceparent|tracestate|shasum)|"
    r"(?<![a-z0-9])(?:x-amzn?-(?:trace-id|cf-id|id-2|requestid)|cf-ray|x-cache-key|kid|x5t|sha1|sha256|"
    r"sha512|md5|crc32|uuid|guid|if-none-match|if-match|revision|commit|accessor|(?:recaptcha )?site[ _-]?key|x-vercel-id|"
    r"node_id|cursor|next[_-]?page(?:[_-]token)?|page[_-]?token|continuation[_-]?token|sync[_-]?token|"
    r"resource[_-]?version|pagination[_-]?token|boundary|nonce|wt_session|enc|did:key|did|restored? (?:from )?key|cache key)|"
    r"(?:public|publishable|pub|verify|trusted|trusted-public)[_ -]?keys?"
)
_VALUE = (
    rf"(?i)(?:{_NAMED})\\?[\"'`*]{{0,3}}\s{{0,3}}(?:=>|:=|[:=]|\bis\b|(?<=id) |(?<=sha) |(?<=commit) |(?<=key) |(?<=accessor) )"
    r"\s{0,3}\\?[\"'`*(\[]{0,3}((?!(?:secret|private|password|token)\b)[A-Za-z0-9+/=_.:~|;-]{6,600})"
)
_FIRST, _LAST = 0xF0000, 0xFFFFD


class HarmlessParts:
    """A text without its harmless parts; one character of private use holds the place of each."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._waves: list[dict[int, str]] = []
        self._next = _FIRST
        # A text that has such characters of its own is left as it is.
        self._is_possible = text.isascii() or ord(max(text)) < _FIRST

    def hold_always(self) -> str:
        """The text without what is public or encrypted by its form."""
        folded = self.text.casefold()
        longest = max(map(len, folded.split()), default=0)
        for pieces, least_chars, form in _FORMS:
            if longest >= least_chars and any(piece in folded for piece in pieces):
                self._set(_compiled(form))
        return self.text

    def hold_named(self, text: str) -> str:
        """The text without ids and sums, as their names tell."""
        self.text = text
        self._set(_compiled(_VALUE))
        return self.text

    def _set(self, form: re.Pattern[str]) -> None:
        if not self._is_possible:
            return
        wave: dict[int, str] = {}

        def hold(match: re.Match[str]) -> str:
            whole, part = match.group(), match.group(form.groups)
            if self._next > _LAST or "[redacted" in part:
                return whole
            at = match.start(form.groups) - match.start()
            wave[self._next] = part
            self._next += 1
            return whole[:at] + chr(self._next - 1) + whole[at + len(part) :]

        self.text = form.sub(hold, self.text)
        if wave:
            self._waves.append(wave)

    def put_back(self, text: str) -> str:
        """The text with its harmless parts again."""
        for wave in reversed(self._waves):
            text = text.translate(wave)
        return text


@cache
def _compiled(shape: str) -> re.Pattern[str]:
    return exact(shape)
