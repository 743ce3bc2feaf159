"""Places in commands, code and settings where only a secret stands, however weak it looks.

The place tells, so that any value counts which is no placeholder, no reference and no prose.
"""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

import re
from functools import cache

from memory_fabric.patterns import exact, pattern
from memory_fabric.redaction.secret_names import is_passphrase, is_placeholder, says_prose

MIN_CHARS, MAX_WORDS = 4, 8
# The name of a password or secret at the end of a variable's name.
_NAME = r"(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret(?:[_-]?key)?|api[_-]?key|token|auth[_-]?key)\d{0,2}"
_SAID = r"(?:pass(?:word|phrase|wort)|(?:mot|phrase) de passe|contraseña|senha|wachtwoord|пароль|парольная фраза|şifre|parola|hasło)"
_QUOTED = r"(?:\"([^\"\n]{3,200})\"|'([^'\n]{3,200})'|`([^`\n]{3,200})`)"
_WORD = r"([^\s\"'`;,|<>&(){}\[\]]{4,200})"
_NOT_OF_SECRET = (
    r"(?!(?:user|username|login|email|host|port|url|name|role|ttl|type|path|id|policies|policy)=)"
)

# (pieces in small letters of which one is in every match, the expression); the value is in the
# last group that is there.
PLACES: tuple[tuple[str, str], ...] = (
    # Functions that are given a password alone, or behind an account.
    ("(", rf"(\b(?:set|with|use|and)?_?(?:change|user)*(?:password|passwd|passphrase|pwd|secret|secret_?key)\(\s?(?:[\"'][\w.@-]{{1,60}}[\"'],\s?)?b?){_QUOTED}(?=\s?\))"),
    ("hash,hmac", rf"(\b(?:generate_password_hash|make_password|hash_?password|hashpw|bcrypt\.hash(?:sync|pw)?|hmac\.new)\(\s?b?){_QUOTED}"),
    ("hmac", rf"(\bcreatehmac\([\"'][\w-]{{3,12}}[\"'],\s?){_QUOTED}"),
    ("login(,connect,getconnection,mysqli,pdo(,credential,wifi.begin,basicauth,.auth(",
     r"((?:\blogin|connect|getconnection|\bmysqli|\bpdo|networkcredential|usernamepasswordcredentials|wifi\.begin|"
     rf"httpbasicauth|db\.auth)\((?:[^()\"'\n]{{1,40}},\s?)?(?:[\"'][^\"'\n]{{1,80}}[\"'],\s?){{1,2}}){_QUOTED}(?=\s?[,)])"),
    ("getconnection,connect", rf"(\b(?:getconnection|connect)\([\w.$]{{1,30}},\s?[\"'][\w.@-]{{1,60}}[\"'],\s?){_QUOTED}(?=\s?\))"),
    (".begin(,auth(,basic(,sequelize(,set_password(,authenticat", rf"(\b(?:wifi\.begin\(\w{{1,30}},\s?|[\w.]{{0,30}}(?:auth|basic|sequelize|\bset_password|authenticat\w{{1,5}})\((?:\s?[\"'][\w.@ -]{{1,60}}[\"'],\s?){{1,2}})){_QUOTED}"),
    ("keyspec,keystore,aes.new(,encoder.encode(,pbkdf2", rf"(\b(?:\w{{0,30}}keyspec\(|key_?store\.\w{{2,12}}\([\w, ]{{1,40}},\s?|aes\.new\(\s?|password_?encoder\.encode\(|pbkdf2\w{{0,12}}\(\s?(?:[\"']\w{{3,12}}[\"'],\s?)?)b?){_QUOTED}"),
    ("auth", rf"(\b(?:http_?)?auth\s?[=:]\s?[(\[]\s?[\"'][\w.@-]{{1,60}}[\"'],\s?){_QUOTED}(?=\s?[)\]])"),
    ("jwt.", rf"(\bjwt\.(?:sign|encode|verify|decode)\(\s?[\w.{{}}:, ]{{1,60}},\s?b?){_QUOTED}"),
    # A field of a form by its selector or label, and what is typed into it.
    ("pass,pwd", rf"(\b(?:fill|type|fill_in|send_keys)\(?\s?[\"'][^\"'\n]{{0,40}}(?:password|passwd|pwd)[^\"'\n]{{0,6}}[\"'],\s?(?:with: ?)?){_QUOTED}"),
    ("pass,pwd", rf"((?:password|passwd|pwd)\]?[\"']\)\.(?:type|fill|send_keys|sendkeys|setvalue|clear\(\)\.type)\(\s?){_QUOTED}"),
    # Defaults of variables, and constants of the preprocessor.
    ("env,fetch,get(", rf"(\b(?:getenv|environ\.get|env|fetch|get|config|getproperty)\(\s?[\"'][\w.-]{{0,40}}{_NAME}[\"'],\s?(?:default=)?){_QUOTED}"),
    ("env", rf"(\benv\.[\w.]{{0,40}}{_NAME}\s?(?:\|\||\?\?)\s?){_QUOTED}"),
    ("${", rf"(\$\{{[\w.]{{0,40}}{_NAME}:[-=]?){_WORD}(?=\}})"),
    ("define", rf"(#\s?define\s{{1,4}}\w{{0,40}}{_NAME}\s{{1,8}}){_QUOTED}"),
    ("define(", rf"(\bdefine\(\s?[\"']\w{{0,40}}(?:{_NAME}|_key|_salt)[\"'],\s?){_QUOTED}"),
    # A field of a connection string goes to the next one, blanks and all.
    (";", r"((?:;|^|[\"'])\s?(?:password|pwd)\s?=\s?)([^;\"'\n]{4,128})(?=;|[\"']|\s*$)"),
    # Files of VPNs, of networks without wires, of mail and of network devices.
    ("psk,eap,xauth,ntlm", rf"(:\s(?:psk|eap|xauth|ntlm)\s{{1,4}}){_QUOTED}"),
    ("wifi:", r"(\bwifi:(?:[a-oq-z]:[^;\n]{0,60};){0,3}p:)([^;\n]{4,64})(?=;)"),
    ("option key", rf"(\boption key ){_QUOTED}"),
    ("keymaterial", r"(<keymaterial>\s?)([^<>\n]{4,64})(?=\s?</)"),
    (" * ", r"(^\"?[\w.@\\-]{1,60}\"?\s{1,8}(?:\*|[\w.-]{2,40})\s{1,8}\"?)([^\s\"]{4,64})(?=\"?\s{1,8}\*\s*$)"),
    ("]:,:587,:465", rf"(^\W{{0,4}}(?:\w{{2,20}}:? )?\[?[\w-]{{1,40}}\.[\w.-]{{2,60}}(?:\]:\d{{2,5}}|\]|:\d{{2,5}})\s{{1,8}}[\w.@+-]{{1,60}}:){_WORD}(?=\s*$)"),
    ("pre,isakmp,md5,authtok,community,neighbor,tacacs,radius,ascii-text,rootpw,password ",
     r"(\b(?:pre-?shared-(?:key|secret)|isakmp key|(?:key|secret|server) ascii-text|message-digest-key \d{1,3} md5|default_authtok(?: =)?|snmp community|"
     rf"neighbor \S{{1,40}} password|(?:tacacs|radius)[\w-]{{0,8}} (?:host \S{{1,40}} )?(?:key|secret)|olcrootpw:|password [057])\s{{1,4}}(?:[057] )?)(?:{_QUOTED}|{_WORD})"),
    ("wpa,luks", rf"(\b(?:wpa\d?(?:-psk)?|luks)\s?[:=]\s){_WORD}(?=\s*$)"),
    # Names that end with the password's, and its value in quotes or at the end of a line or command.
    ("pass", rf"((?-i:\b[A-Z]\w{{0,30}}_PASS(?:WORD|WD)?|\b[a-z]\w{{0,30}}Pass(?:word|wd|phrase))\s{{1,8}}){_QUOTED}"),
    ("pass", rf"((?:\b(?:set|env add)|reset-\w{{2,12}}-password|^\s{{0,8}}(?-i:[A-Z_]{{0,20}}PASS|[a-z]{{2,20}}Password))(?: \w{{0,30}}password)? (?![\w.-]+=)){_WORD}(?=[;\"']?\s*$|;)"),
    ("login ,auth ,pass ", rf"(^\W{{0,4}}(?-i:[CS]: )?(?-i:(?:\w{{1,6}} LOGIN|AUTH LOGIN) \S{{1,60}}|AUTH|PASS)\s){_WORD}(?=\s*$)"),
    ("~*", rf"(^\s{{0,8}}user \S{{1,40}} (?:on|off|reset|resetpass| ){{1,20}}>){_WORD}"),
    ("http_auth,auth:,auth =,credentials", rf"(\b(?:http_auth|auth|credentials)\s?[:= ]\s?[\"']?[\w.@-]{{1,40}}:){_WORD}(?=[\"']?\s*$)"),
    # What sets passwords in one word or line.
    ("requirepass,masterauth,bindpw,rootpw", rf"(^\s{{0,8}}(?:requirepass|masterauth|bindpw|rootpw(?: --plaintext)?)\s{{1,4}}){_WORD}(?=\s*$)"),
    ("<", r"(<(?:[\w.-]{1,30}:)?[\w.-]{0,30}(?:password|passwd|passphrase|secret)>\s?(?:<!\[cdata\[)?)([^<>\n\]]{4,200})(?=\]\]>|</)"),
    ("<", r"(<\w[^<>\n]{0,60}\b(?:key|name|id)=\"[\w.-]{0,40}(?:password|passwd|secret)\"(?: value=\"|>\s?))([^<>\"\n]{4,200})(?=\"|</)"),
    ("<", r"(<\w[^<>\n]{0,200}\s(?:password|passwd)=)(?:\"([^\"\n<>]{4,200})\"|'([^'\n<>]{4,200})')"),
    # Stores of secrets: what is put under any name.
    ("from-literal", rf"(--from-literal[= ][\"']?{_NOT_OF_SECRET}[\w.-]{{1,60}}=)(?:{_QUOTED}|([^\s\"'`;|&]{{4,200}}))"),
    ("from-literal", rf"(--from-literal[= ]'{_NOT_OF_SECRET}[\w.-]{{1,60}}=)([^'\n]{{4,200}})(?=')"),
    ("secret,variable", rf"(\b(?:secrets?|secretsmanager|keyvault|securestring|variable|secret:create)\b[^\n|;&]{{0,200}}?\s(?:--(?:value|body|secret-string|plaintext|data)[ =]|-b ?|-v ?))(?:{_QUOTED}|([^\s\"'`;|&<>-][^\s\"'`;|&<>]{{3,200}}))"),
    ("secret,variable", rf"(\b(?:secrets?|variable) set [A-Z][A-Z0-9_]{{2,60}} (?=[^\s=-]))(?:{_QUOTED}|([^\s\"'`;|&<>-][^\s\"'`;|&<>]{{3,200}}))"),
    ("http-basic", rf"(\bhttp-basic\.\S{{1,80}} \S{{1,60}} ){_WORD}"),
    ("creds", rf"(--(?:src-|dest-)?creds[= ][\w.@-]{{1,60}}:){_WORD}"),
    # SQL, files of passwords, variables and fields of frameworks.
    ("identified,password", r"(\b(?:identified (?:with \w{1,40} )?by|password)(?: {1,2}|(?: for \S{1,80})? ?= ?|\()\\?)(?:'([^'\n]{4,128})(?=\\?')|\"([^\"\n]{4,128})(?=\\?\"))"),
    ("identified by", rf"(\b(?:user|role|connect to) \S{{1,60}} identified by ){_WORD}"),
    ("login", r"(\blogin\s{1,4}\S{1,100}\s{1,8}password\s{1,4})(\S{4,255})"),
    ("pass:", r"(\bpass:)([^\s\"'`:]{4,255})"),
    (":", r"(^[ \t]{0,8}[\w.*-]{1,100}:(?:54\d\d|64\d\d|26257|\*):[\w*-]{1,63}:[\w*.-]{1,63}:)(\S{4,255})(?=[ \t]*$)"),
    ("variable", rf"(\bvariable\s{{1,2}}\"?[\w-]{{0,40}}{_NAME}\"?\s{{0,4}}\{{[^{{}}]{{0,300}}?\bdefault\s{{0,12}}=\s{{0,4}}\")([^\"\n]{{4,512}})"),
    ("@value(", rf"(@value\(\")([^\"\n]{{4,512}})(?=\"\)[^;\n]{{0,60}}{_NAME}\s?[;=])"),
    ("value", rf"(\b(?:name|key|variable)[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?[\w.-]{{0,40}}{_NAME}[\"']?(?:\s?[,;]\s?[\"']?\w{{1,20}}[\"']?\s?[:=]\s?[\"']?[\w./-]{{0,30}}[\"']?){{0,2}}(?:\s{{0,4}}[,;]\s{{0,12}}|\s{{1,12}})-?\s{{0,4}}[\"']?(?:default_?)?value[\"']?\s{{0,4}}[:=]\s{{0,4}})(?:{_QUOTED}|([^\s\"',;{{}}]{{4,512}}))"),
    ("fernet,session(", rf"(\b(?:fernet|session|\w{{0,20}}client)\((?:[^()\"'\n]{{0,60}}[\"'][^\"'\n]{{0,80}}[\"'],\s?){{0,3}}b?){_QUOTED}(?=\s?[,)])"),
    # Values in quotes go to their end, blanks and all.
    (" -", r"(\s(?:-[a-zA-Z]{0,6}[uU]|-a|-E|--user|--proxy-user|--auth|--cert)[ =]?)(?:\"[\w.@\\/-]{1,60}[:%]([^\"\n]{4,200})(?=\")|'[\w.@\\/-]{1,60}[:%]([^'\n]{4,200})(?='))"),
    ("--", rf"((?<![\w/])--?[\w-]{{0,30}}?(?:pass(?:word|wd|phrase)?|pwd|secret)[\w-]{{0,12}}[ =]){_QUOTED}"),
    ("pass:", r"()(?:\"pass:([^\"\n]{4,200})(?=\")|'pass:([^'\n]{4,200})(?='))"),
    ("pass,pwd", rf"((?<!\w)\$?\w{{0,40}}(?:pass|pwd|passwd|secret)\d?[\"']?\s?(?:=>|:=|[=:])\s?)(?=.[^\"'\n]{{1,80}}\s){_QUOTED}"),
    ("pas,contr,senha,wacht,парол,şifre,parola,hasł", rf"(^\W{{0,6}}(?:[\w-]{{1,16}} ){{0,2}}{_SAID}\W{{0,4}}[:=]\s{{1,4}})((?:[^\s\"'`,]{{1,24}} ){{1,4}}[^\s\"'`,]{{1,24}})(?=\s*$)"),
    ("x-", r"((?<![\w-])x-[\w-]{0,40}(?:token|secret|api-?key|auth-?key)[\"']?: ?[\"']?)([^\s\"'`,;<>]{6,512})"),
    ("setenvironmentvariable,setx", rf"(\bset(?:x |environmentvariable\()[\"']?\w{{0,40}}{_NAME}[\"']?,?\s?)(?:{_QUOTED}|{_WORD}(?=\s*$| /m))"),
    ("auth ,requirepass,setuser", rf"(^\s{{0,8}}(?:[\w.:-]{{3,30}}> ?)?(?:auth(?: default)?|config set requirepass|acl setuser \S{{1,40}} [^\n>]{{0,40}}>)\s?)(?:{_QUOTED}|{_WORD})(?=\s)?"),
    (":pserver:", r"(:pserver:[\w.-]{1,40}:)([^\s@]{3,80})(?=@)"),
    # Sentences that give it away.
    (" as ", r"(\buse[sd]? )[\"'`]?([^\s\"'`]{5,60})[\"'`]?(?= as (?:(?:the|my|our|a) )?(?:\w{2,12} )?(?:password|passphrase|pin)\b(?! \w{0,12}(?:hash|manager|field|polic|reset)))"),
    (" to ", r"(\b(?:set|changed|reset|updated) (?:(?:the|my|our|his|her) )?(?:[\w-]{2,12} ){0,2}password to )[\"'`]?([^\s\"'`]{5,60}?)[\"'`]?(?=[.!]?\s*$| (?:today|yesterday|now|this|last|on|for|and)\b)"),
    ("password", rf"(\b(?:default|initial|temporary|root|admin|new|with|with the) password )(?:{_QUOTED}|([a-z]{{7,20}})(?=[.!)]?\s*$))"),
    (" is ", rf"(^\s{{0,8}}[-*>]?\s?)(?:{_QUOTED}|([^\s\"'`]{{7,40}}))(?= is (?:the|my|our) (?:[\w-]{{2,12}} )?password\b(?! \w{{0,12}}(?:hash|manager|field|polic|reset)))"),
    ("pas,contr,senha,wacht,парол,şifre,parola,hasł", rf"(\b{_SAID} (?:is|ist|est|es|è|é|это) )((?:[^\s\"'`,]{{2,24}} ){{1,4}}[^\s\"'`,]{{2,24}}?)(?=[.!]?\s*$)"),
    ("pass,pw", r"(\b(?:user(?:name)?|login|account)[: ]\s?[\w.@-]{2,40},\s(?:password|pass|pw)\s)([^\s\"'`,;]{5,60}?)(?=[.,;)!]?(?:\s|$))"),
    ("->,=>,→,:=", rf"(\bpass(?:word|wort|wd)\s?(?:->|→|=>|:=)\s?){_WORD}"),
    ("creds,credentials,login,user", r"(\b(?:creds?|credentials?|user[/:]pass(?:word)?)(?: are| is)?\s?[:=]?\s[\w.@-]{2,40}[:/])([^\s\"'`,;/:()]{6,60}?)(?=[.,;)]?\s*$)"),
    ("login", r"(\blogin:\s[\w.@-]{2,40} / )([^\s\"'`,;/:()]{6,60}?)(?=[.,;)]?\s*$)"),
)  # fmt: skip
_FORMS = tuple((tuple(pieces.split(",")), form) for pieces, form in PLACES)
_DONE = [""]
_SUFFIXES = ("tion", "sion", "ment", "ness", "able", "ible")
# Behind "password to" these say what one does with it, or what it is not.
_DOING = frozenset(
    "continue proceed login expire unlock access connect authenticate enable begin start sign avoid "
    "authentication authorization login protection encryption manager based grant policy hashing "
    "something anything whatever email username it this that them one yours".split()
)


def without_placed(text: str) -> str:
    """The text without the values of these places."""
    if text is _DONE[0]:
        return text  # another step looked at it
    folded = text.casefold()
    for pieces, form in _FORMS:
        if any(piece in folded for piece in pieces):
            compiled = _compiled(form)
            for _ in range(MAX_WORDS):  # several values of one command share its beginning
                text, before = compiled.sub(_hide, text), text
                if text == before:
                    break
    _DONE[0] = text
    return text


def may_be_secret(value: str) -> bool:
    """Return True unless the value is a placeholder, a reference, code, or prose."""
    bare = value.strip()
    if len(bare) < MIN_CHARS or "[redacted" in bare or is_placeholder(bare):
        return False
    if bare.startswith(("./", "~/", "../", "@", "$", "{{", "/", "process.", "os.", "var.", "env")):
        return False
    if exact(r"[Tt]est(?:_|[A-Z])\w+|[\w-]+(?:/[\w.-]+)+").fullmatch(bare):
        return False
    if len(bare.split()) > 1:
        return is_passphrase("password", bare)
    return (
        not (bare.islower() and bare.endswith(_SUFFIXES))
        and bare.casefold() not in _DOING
        and not says_prose((bare.casefold(),))
    )


def _hide(match: re.Match[str]) -> str:
    place = max(i for i in range(2, match.re.groups + 1) if match.group(i) is not None)
    value = match.group(place)
    if not may_be_secret(value):
        return match.group()
    at = match.start(place) - match.start()
    return f"{match.group()[:at]}[redacted: secret]{match.group()[at + len(value) :]}"


@cache
def _compiled(form: str) -> re.Pattern[str]:
    return pattern(form, re.IGNORECASE | re.MULTILINE)
