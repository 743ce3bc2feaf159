"""Private keys in lines, also where only their head or tail is there."""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

import re
from functools import cache

from memory_fabric.patterns import exact
from memory_fabric.redaction import secret_signs


def without_keys(text: str) -> str:
    """The text without private keys in lines, also where only their head or tail is there."""
    text = _key_block().sub("[redacted: private key]", text)
    text = _without_lines(text)
    text = _key_tail().sub(_hide_tail, text)
    return _putty_key().sub(_hide_lines, text)


@cache
def _key_block() -> re.Pattern[str]:
    # To its end, or as far as lines of base64 and headers go; quoted, indented, or in one line
    # with a backslash for each of its ends. Text that only names the mark stays.
    around = r"[ \t>|+#\"'*]{0,12}"
    end = r"(?:[\"',]{0,2}[ \t]{0,4}(?:\\r)?(?:\\n|\r?\n)| (?=[A-Za-z0-9+/=]{40}))"
    header = (
        r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Key-Info|X-[\w-]{1,20}): "
        r"[^\n\\]{1,100}"
    )
    line = rf"{around}(?:[A-Za-z0-9+/=]{{16,200}}|{header})"
    last = (
        rf"{around}(?:[A-Za-z0-9+/]{{1,63}}={{1,2}}|=[A-Za-z0-9+/]{{4}}|"
        r"(?=[A-Za-z+/]{0,15}[0-9])[A-Za-z0-9+/]{4,15})(?![^\s\\\"',])"
    )
    return exact(
        r"-{5}BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{5}"
        r"(?=(?:\\[rn]|[\s>|+#\"'*\\]){0,40}(?:[A-Za-z0-9+/=]{16}|[A-Z][A-Za-z-]{2,20}:\s))(?:"
        r"[^\-]{0,20000}?(?:-(?!-)[^\-]{0,200}?){0,6}?-{5}END [A-Z0-9 ]{0,40}-{5}|"
        rf"(?:{end}){{0,4}}{line}(?:(?:{end}){{1,4}}{line}){{0,400}}(?:(?:{end}){{1,2}}{last})?)",
    )


MAX_RUNS = 400


def _without_lines(text: str) -> str:
    """The text without the lines of a key, whatever stands between them: numbers, signs, quotes."""
    parts: list[str] = []
    at = 0
    for head in _head().finditer(text):
        if head.start() < at:
            continue
        place = head.end()
        runs: list[re.Match[str]] = []
        while len(runs) < MAX_RUNS:
            run = _run().match(text, place)
            if run is None or "-----" in text[place : run.start(1)]:
                break
            runs.append(run)
            place = run.end()
        # The last line of a key is shorter than the others.
        last = _last().match(text, place) if runs else None
        for run in (*runs, *((last,) if last is not None else ())):
            parts += [text[at : run.start(1)], "[redacted: private key]"]
            at = run.end(1)
    return "".join([*parts, text[at:]])


@cache
def _head() -> re.Pattern[str]:
    return exact(
        r"-{5}BEGIN(?:[ +]|%20)[A-Z0-9 +]{0,40}?(?:%20)?(?:PRIVATE(?:[ +]|%20)KEY|OpenVPN Static key V1)"
        r"(?:[ +]BLOCK)?-{5}"
    )


@cache
def _run() -> re.Pattern[str]:
    return exact(
        r"[^\x00]{0,48}?(?<![A-Za-z0-9/])((?=[A-Za-z0-9+/%]{0,80}[0-9])[A-Za-z0-9/](?:[A-Za-z0-9+/=]|%[0-9A-F]{2}){23,4000})"
    )


@cache
def _last() -> re.Pattern[str]:
    return exact(
        r"[^A-Za-z0-9]{1,12}(?:\d{1,4}[^A-Za-z0-9]{1,4})?(?:n|r|#10;|0A)?([A-Za-z0-9+/]{4,24}(?:=|%3D){0,2})(?![\w:])(?=[^A-Za-z0-9]{0,12}(?:n|#10;|0A)?[^A-Za-z0-9]{0,40}-----END|=)"
    )


@cache
def _key_tail() -> re.Pattern[str]:
    end = r"[\"'\\]?(?:\\[rn]|\s)[ \t>|+#\"'*]{0,12}"
    return exact(
        rf"(?<![A-Za-z0-9+/=])((?:[A-Za-z0-9+/]{{20,200}}={{0,2}}{end}){{0,400}}"
        rf"[A-Za-z0-9+/]{{4,200}}={{0,2}}{end}(?:=[A-Za-z0-9+/]{{4}}{end})?)"
        r"(-{5}END [A-Z0-9 ]{0,40}PRIVATE KEY)"
    )


@cache
def _putty_key() -> re.Pattern[str]:
    return exact(r"(Private-Lines: \d{1,4}\s{1,4})[A-Za-z0-9+/=\s]{16,20000}")


def _hide_lines(match: re.Match[str]) -> str:
    return f"{match[1]}[redacted: private key]"


def _hide_tail(match: re.Match[str]) -> str:
    is_key = "=" in match.group(1) or any(map(secret_signs.is_doubtful, match.group(1).split()))
    return f"[redacted: private key]\n{match.group(2)}" if is_key else match.group()
