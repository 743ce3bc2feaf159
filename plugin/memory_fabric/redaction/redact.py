"""Remove secrets from a text before any byte of it reaches a disk. Tokens, keys, passwords and
`<private>` blocks are replaced with a visible `[redacted: kind]`. Each expression takes time linear
in the length of the text. Most texts have no keyword of any rule, so no expression is compiled for
them. Stored texts are redacted again before they are shown: older rules may have missed a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from memory_fabric.redaction import rules
from memory_fabric.redaction.rules import exact, form, is_command_line, opened_steps, words
from memory_fabric.text import each_text, encodable, without_controls

MAX_PASSES = 12  # a text is searched again after each pass that replaced something
MAX_LINE_CHARS = 2_000  # how far before and after a tag to search for backticks
MIN_SEED_WORDS, MAX_SEED_WORDS = 12, 26
MAX_CLEAN_CHARS = 1 << 20  # the maximum total length of the cached texts
# The common beginning of all markers for secrets, and the general marker.
REDACTED, MARK = "[redacted", "[redacted: secret]"
# The beginning of an item in a block, and the end of its labels: `- [fact · 1a2b3c4d] text`.
ITEM, COLUMNS_END = "- [", "] "
COLOUR = "\x1b["  # the beginning of a terminal's colour, which may split a secret


class _Clean(dict[str, None]):
    """A cache of texts found to be free of secrets, because most texts are redacted repeatedly."""

    chars = 0

    def add(self, text: str) -> None:
        """Add a text; first clear the cache if its total length would exceed the limit."""
        self.chars += len(text)
        if self.chars > MAX_CLEAN_CHARS:
            self.clear()
            self.chars = len(text)
        self[text] = None


_CLEAN = _Clean()


def may_hold_secret(text: str) -> bool:
    """Return True if `redact` may change the text. Texts that cannot change are cached."""
    if text in _CLEAN:
        return False
    if opened_steps(text) or COLOUR in text:
        return True
    _CLEAN.add(text)
    return False


def without_secrets(text: str) -> str:
    """Return the redacted text; texts free of secrets are cached."""
    if not may_hold_secret(text):
        return text
    clean = redact(text)
    _CLEAN.add(clean)
    return clean


def redact(text: str) -> str:
    """Replace every secret with `[redacted: kind]`; only then, remove the terminal's colours."""
    clean = bare = without_controls(text) if COLOUR in text else text
    for _ in range(MAX_PASSES):
        before, clean = clean, _redacted_once(clean)
        if clean == before:
            break
    return text if clean == bare else clean


def _redacted_once(text: str) -> str:
    """Redact the text in one pass. The new markers may make the next pass find more secrets."""
    opened = opened_steps(text)
    if not opened:
        return text
    # Imported late: few texts contain a keyword, and the rules are slow to import.
    from memory_fabric.redaction import named, stated, tokens

    steps: dict[str, Callable[[str], str]] = {
        "private": _without_private,
        "key block": tokens.without_keys,
        "token": tokens.without_tokens,
        "beside issuer": tokens.without_values_of_issuers,
        "url": named.without_url_secrets,
        "header": named.without_headers,
        "command": named.without_arguments,
        "named": named.without_names,
        "stated": stated.without_stated,
        "seeds": _without_seeds,
    }
    harmless: tokens.HarmlessParts | None = None
    before = text
    placed = ""  # the last result of `without_placed`
    for at, name in enumerate(rules.STEPS):
        if text is not before:
            before, opened = text, opened_steps(text)
        if not opened >> at & 1:
            continue
        if harmless is None and at > 1:
            harmless = tokens.HarmlessParts(text)
            text = harmless.hold_always()
        if name in rules.PLACED and text is not placed:
            text = placed = named.without_placed(text)
        text = steps[name](text)
        if name == "token" and harmless is not None:
            text = tokens.without_random(harmless.hold_named(text))
    if "[redacted: " in text:
        text = form("rest of secret").sub(lambda match: match[1], text)
    return text if harmless is None else harmless.put_back(text)


def says_only_secrets(text: str) -> bool:
    """Return True if a text contains nothing worth remembering besides its secrets."""
    from memory_fabric.redaction.plain import EVERY_NAME  # imported late: slow to import

    cleaned = redact(text)
    around = form("mark").sub(" ", cleaned)
    if around == cleaned:
        return False
    around = around.casefold()
    for name in EVERY_NAME:  # remove non-ASCII names even without spaces: "パスワードは…です"
        around = around if name.isascii() else around.replace(name, " ")
    empty = {*words("saying nothing"), *exact("[ _-]").split(" ".join(EVERY_NAME))}
    left = [word for word in exact(r"[^\W_]+").findall(around) if word not in empty]
    return all(not word.isascii() and len(word) < 4 for word in left)


def redacted(value: Any, clean: Callable[[str], str] = without_secrets) -> Any:
    """Redact all strings in a JSON value, including the keys of objects."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return redacted_object(value, clean)
    if is_command_line(value):
        line = without_secrets(" ".join(value))
        parts, at = [], 0
        for word in value:
            if line.startswith(word, at) and line[at + len(word) : at + len(word) + 1] in ("", " "):
                parts.append(without_secrets(word))
                at += len(word) + 1
                continue
            closing = line.find("]", at)
            behind = line.find(" ", closing) if closing >= 0 else -1
            end = len(line) if behind < 0 else behind
            parts.append(line[at:end] if REDACTED in line[at:end] else MARK)
            at = end + 1
        return parts
    return [redacted(part, clean) for part in value] if isinstance(value, list | tuple) else value


def redacted_object(
    value: Mapping[str, Any], clean: Callable[[str], str] = without_secrets
) -> dict[str, Any]:
    """Redact all strings in a JSON object; a key that names a secret makes its value a secret."""
    return {clean(str(key)): _field(str(key), part, clean) for key, part in value.items()}


def _field(key: str, value: Any, clean: Callable[[str], str]) -> Any:
    if not isinstance(value, str):
        return redacted(value, clean)
    if not value or not _names_secret(key) or any(c.isspace() for c in value.strip()):
        return clean(value)
    from memory_fabric.redaction.plain import is_plain  # imported late: rarely needed

    return clean(value) if is_plain(f"{key}=", value, "", quoted=True) else MARK


@cache
def _names_secret(key: str) -> bool:
    may_be = any(part in key.casefold() for part in words("name parts"))
    return may_be and form("secret name").fullmatch(key) is not None


def block_without_secrets(block: str) -> str:
    """Redact the texts in a block of context for the model, in which each item is one line. The
    labels in brackets before an item's text (type, date, id) are left unchanged: this plugin wrote
    them. If they were searched with the text, its harmless words would be taken for secrets' names.
    """
    parts: list[tuple[str, str]] = []  # (an item's labels, its text) or ("", text between items)
    for line in block.split("\n"):
        if line.startswith(ITEM):
            columns, ending, text = line.partition(COLUMNS_END)
            parts.append((columns + ending, text))
        elif parts and not parts[-1][0]:
            parts[-1] = ("", parts[-1][1] + "\n" + line)  # join lines that are not items
        else:
            parts.append(("", line))
    # Most blocks contain no secret, so first check all texts of the block together.
    if not may_hold_secret("\n".join([text for _, text in parts])):
        return block
    return "\n".join(columns + without_secrets(text) for columns, text in parts)


def all_without_secrets(value: Any, known: dict[str, str]) -> Any:
    """Redact all texts in a JSON value; `known` caches the redacted form of each text."""

    def clean(text: str) -> str:
        if text not in known:
            known[text] = encodable(without_secrets(text))
        return known[text]

    return each_text(value, clean)


def _without_private(text: str) -> str:
    parts: list[str] = []
    depth = kept_from = 0
    tags = [tag for tag in form("private tag").finditer(text) if not _is_mention(text, tag)]
    last_end = max((t.start() for t in tags if t.group()[1] == "/"), default=0)
    for tag in tags:
        if tag.start() > last_end and form("private named").match(text, max(0, tag.start() - 1)):
            continue  # prose that only mentions a tag
        if not tag.group().startswith("</"):
            if not depth:
                parts += [text[kept_from : tag.start()], "[redacted: private]"]
            depth += 1
        elif depth:
            depth -= 1
            kept_from = tag.end()
    return "".join(parts) + ("" if depth else text[kept_from:])


def _is_mention(text: str, tag: re.Match[str]) -> bool:
    """Return True if a tag is only mentioned: in backticks that enclose no whole private text."""
    before = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()][-MAX_LINE_CHARS:]
    behind = text[tag.end() : tag.end() + MAX_LINE_CHARS].partition("\n")[0]
    if before.count("`") % 2 == 0 or "`" not in behind:
        return False
    span = before.rpartition("`")[2] + tag.group() + behind.partition("`")[0]
    is_pair = len({marker.group()[1] == "/" for marker in form("private tag").finditer(span)}) == 2
    return not (is_pair and any(map(str.isalnum, form("private tag").sub("", span))))


def _without_seeds(text: str) -> str:
    if not _may_hold_seeds(text.casefold()):
        return text
    text = form("seed phrase").sub(_hide_seeds, text)
    from memory_fabric.redaction.values import without  # imported late: slow to import

    return without(text, list(_runs_of_words(text)), "[redacted: seed phrase]")


def _may_hold_seeds(folded: str) -> bool:
    """Return True if the text has enough consecutive words for the seed phrase of a wallet."""
    count = 0
    for word in exact("[=:：]").sub(" ", folded).split():
        bare = word.strip("0123456789.,;:)(\"'`[]#*-")
        for part in bare.split(",") if bare else ():  # skip list numbers (`1.`), keep the count
            least = 1 if part >= "\u3041" else 3
            is_one = least <= len(part) <= 8 and part.isalpha() and part not in words("prose")
            count = count + 1 if is_one else 0
            if count >= MIN_SEED_WORDS:
                return True
    return False


def _runs_of_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of twelve or more consecutive words, none of them common in prose."""
    start = end = count = 0
    for word in exact(r"[^\s\"'`()\[\]:.;]+").finditer(text):
        bare = word.group().strip(",")
        is_one = 3 <= len(bare) <= 8 and bare.isascii() and bare.isalpha() and bare.islower()
        is_near = not text[end : word.start()].strip() and "\n" not in text[end : word.start()]
        if is_one and bare not in words("prose") and (is_near or not count):
            start, count = (start if count else word.start()), count + 1
            end = word.end()
            continue
        if count in range(MIN_SEED_WORDS, MAX_SEED_WORDS + 1):
            yield start, end
        count = int(is_one and bare not in words("prose"))
        start, end = word.start(), word.end()
    if count in range(MIN_SEED_WORDS, MAX_SEED_WORDS + 1):
        yield start, end


def _hide_seeds(match: re.Match[str]) -> str:
    lead, value = match.groups()
    first = value.partition("\n")[0]  # the next line may begin a sentence after the seed phrase
    value = first if len(first.split()) >= MIN_SEED_WORDS else value
    seeds = {word.strip("0123456789.,):;-*").lower() for word in value.split()}
    in_forms = sum(word.endswith(("ing", "ed", "ers", "ts", "ces", "ns")) for word in seeds)
    if not seeds.isdisjoint(words("prose")) or in_forms > 2:
        return match.group(0)
    return f"{lead}[redacted: seed phrase]{match.group(2)[len(value) :]}"
