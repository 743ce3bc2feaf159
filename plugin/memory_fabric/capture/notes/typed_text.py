"""The text of a prompt that the user typed, and its tokens."""

from __future__ import annotations

from collections.abc import Iterator

from memory_fabric.events import MACHINE_TAGS
from memory_fabric.patterns import pattern
from memory_fabric.text import HIDDEN, runs

MAX_PROMPT_CHARS = 64 << 10
# Most prompts with a tag have none of these, and compile nothing.
_MACHINE_NAMES = (
    *MACHINE_TAGS, "pasted_content", "pasted-content", "memory-fabric", "system-reminder", "ide_",
    "attached_files", "attached-files", "file_contents", "tool_use_error",
    "user-prompt-submit-hook", "private",
)  # fmt: skip
_MACHINE = "|".join(
    f"{name}[a-z_]{{1,20}}" if name[-1] in "-_" else name for name in _MACHINE_NAMES
)
# Some clients escape what hooks add to a prompt (measured in Qwen Code 0.15).
# In code marks <private> is only mentioned.
_TAG = rf"(?!(?<=`)</?private>`)(?:<|&lt;)(/?)({_MACHINE})\b[^<>]{{0,300}}?(?:>|&gt;)"
_COMMAND = r"\s*/[a-z][\w:.-]{0,80}(?=\s|\Z)"
_SPACELESS = (
    ("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"), ("\u3040", "\u30ff"),
    ("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
)  # fmt: skip


def typed_words(prompt: str) -> str:
    """Return the prompt without what was not typed as words.

    That is: marked pastes, messages and reminders of the client, this plugin's block, the name of a
    typed command. From the first opening tag to the last closing one of its kind all is removed,
    since a paste may hold such tags; to the end, if none closes.
    """
    text = prompt[:MAX_PROMPT_CHARS]
    if ("<" in text or "&lt;" in text) and _may_hold_tags(text):
        text = "\n".join(_outside_tags(text))
    command = pattern(_COMMAND).match(text)
    return text[command.end() :] if command else text


def _may_hold_tags(text: str) -> bool:
    lowered = text.lower().replace("&lt;", "<").replace("</", "<")
    return any(f"<{name}" in lowered for name in _MACHINE_NAMES)


def _outside_tags(text: str) -> Iterator[str]:
    tags = list(pattern(_TAG).finditer(text))
    closings = {tag[2].lower(): tag.end() for tag in tags if tag[1]}
    at = 0
    for tag in tags:
        if not tag[1] and tag.start() >= at:
            yield text[at : tag.start()]
            end = closings.get(tag[2].lower(), 0)
            at = end if end > tag.start() else len(text)
    yield text[at:]


def plain(text: str) -> str:
    """Return the text in compatibility form and small letters, without invisible characters."""
    if not text.isascii():
        import unicodedata  # late: most texts are ASCII

        text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("ʼ", "'")
        text = "".join(c for c in text if c not in HIDDEN)
    return text.casefold()


def tokens_of(text: str) -> list[str]:
    """Return words, numbers apart from their units, and the letters of scripts without spaces."""
    found: list[str] = []
    for run in runs(plain(text)):
        if not run.isascii() and any(map(is_spaceless, run)):
            found += _parted(run)
        elif run[0].isdigit() and not run.isdigit():
            digits = len(run) - len(run.lstrip("0123456789"))
            found += filter(None, (run[:digits], run[digits:]))
        else:
            found.append(run)
    return found


def _parted(run: str) -> Iterator[str]:
    word = ""
    for c in run:
        if is_spaceless(c):
            if word:
                yield word
            word = ""
            yield c
        else:
            word += c
    if word:
        yield word


def is_spaceless(c: str) -> bool:
    return c >= "\u0e00" and any(low <= c <= high for low, high in _SPACELESS)
