"""The text that the user typed in a prompt; detection of mere approvals and of memory commands."""

from memory_fabric.events import MACHINE_TAGS, MAX_PROMPT_CHARS
from memory_fabric.language.word_lists import sections, words
from memory_fabric.patterns import pattern
from memory_fabric.text import HIDDEN, runs

# Names of tags whose text is left out. `_TAG` is compiled only for prompts with one of these names.
_MACHINE_NAMES = (
    *MACHINE_TAGS, "pasted_content", "pasted-content", "memory-fabric", "system-reminder", "ide_",
    "attached_files", "attached-files", "file_contents", "tool_use_error",
    "user-prompt-submit-hook", "private",
)  # fmt: skip
_MACHINE = "|".join(f"{n}[a-z_]{{1,20}}" if n[-1] in "-_" else n for n in _MACHINE_NAMES)
# Tags of text to leave out. Their brackets may be escaped: some clients escape what hooks add to a
# prompt (measured in Qwen Code 0.15). `<private>` in backticks only mentions the tag: no match.
_TAG = rf"(?!(?<=`)</?private>`)(?:<|&lt;)(/?)({_MACHINE})\b[^<>]{{0,300}}?(?:>|&gt;)"
_COMMAND = r"\s*/[a-z][\w:.-]{0,80}(?=\s|\Z)"
_SPACELESS = (
    ("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"), ("\u3040", "\u30ff"),
    ("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
)  # fmt: skip
MAX_ASSENT_WORDS = 10
_STRIPPED = ".,;:!?()[]{}<>\"'“”‘’„«»「」『』…。，、；：！？*-–—~`^"
MAX_COMMAND_CHARS, MIN_ID_CHARS = 60, 4
UNDO, FORGET, KEEP, REPLACE, NOTES = "undo", "forget", "keep", "replace", "notes"
# Commands that set what a rule does to matching tool calls; the same as in `memory-fabric rules`.
OF_RULES = ("tell", "ask", "deny", "lift")
OF_ID = (UNDO, FORGET, KEEP, REPLACE, *OF_RULES)
LAST = "last"
_PLAIN = {UNDO: ("", LAST), KEEP: ("",), REPLACE: ("",), NOTES: ("on", "off")}
# Characters to remove, because ids are shown in brackets and commands may be typed in backticks.
_BRACKETS = str.maketrans("[]`:", "    ")
_HEX = frozenset("0123456789abcdef-")
# Last words by which `undo …`, `keep …` and `replace …` refer to a memory and not to the work.
_MEANT = frozenset("that this it one memory record note rule decision fact preference".split())


def typed_words(prompt: str) -> str:
    """Return the text that the user typed in a prompt, without a slash command at the start, and
    without tagged parts: pastes, and texts of the client or of this plugin. A tagged part ends at
    the last closing tag of its name, because pasted text may itself contain such tags.
    """
    text = prompt[:MAX_PROMPT_CHARS]
    lowered = text.lower() if "<" in text or "&lt;" in text else ""
    opened = lowered.replace("&lt;", "<").replace("</", "<")
    if opened and any(f"<{name}" in opened for name in _MACHINE_NAMES):
        tags = list(pattern(_TAG).finditer(text))
        closings = {tag[2].lower(): tag.end() for tag in tags if tag[1]}
        pieces, at = [], 0
        for tag in tags:
            if not tag[1] and tag.start() >= at:
                pieces.append(text[at : tag.start()])
                end = closings.get(tag[2].lower(), 0)
                at = end if end > tag.start() else len(text)
        text = "\n".join((*pieces, text[at:]))
    command = pattern(_COMMAND).match(text)
    return text[command.end() :] if command else text


def plain(text: str) -> str:
    """Return the text in lower case and Unicode compatibility form, without hidden characters."""
    if not text.isascii():
        from unicodedata import normalize  # imported late: not needed for ASCII text

        text = normalize("NFKC", text).replace("’", "'").replace("ʼ", "'")
        text = "".join(c for c in text if c not in HIDDEN)
    return text.casefold()


def tokens_of(text: str) -> list[str]:
    """Return the words, with "10ms" split into "10" and "ms", and Chinese etc. into characters."""
    tokens: list[str] = []
    for run in runs(plain(text)):
        if not run.isascii() and any(map(is_spaceless, run)):
            tokens += "".join(f" {c} " if is_spaceless(c) else c for c in run).split(" ")
        elif run[0].isdigit() and not run.isdigit():
            digits = len(run) - len(run.lstrip("0123456789"))
            tokens += (run[:digits], run[digits:])
        else:
            tokens.append(run)
    return list(filter(None, tokens))


def is_spaceless(c: str) -> bool:
    return c >= "\u0e00" and any(low <= c <= high for low, high in _SPACELESS)


def assents() -> frozenset[str]:
    """Return words of agreement and politeness. A prompt of only such words decides nothing."""
    return words("assents", "words")


def is_assent(prompt: str) -> bool:
    """Return True if a prompt only agrees: "yes", "ok do it", "sí", "mach das", "好的"."""
    spoken = plain(prompt).split()
    if len(spoken) > MAX_ASSENT_WORDS or prompt.rstrip().endswith(("?", "？")):
        return False
    remainder, agrees = "", "👍" in prompt
    for word in spoken:
        bare = word.strip(_STRIPPED)
        agrees = agrees or any(map(str.isalnum, bare))
        remainder += "" if bare in assents() else f" {bare}"
    if any(map(is_spaceless, remainder)):
        for phrase in sections("assents")["phrases without spaces"]:
            remainder = remainder.replace(phrase, " ")
    return agrees and not any(map(str.isalnum, remainder))


def command_in(prompt: str) -> tuple[str, str] | None:
    """Return the command and its argument if the prompt is only a command to memory, else None."""
    if len(prompt) > MAX_COMMAND_CHARS:
        return None
    verb, *words_behind = prompt.lower().translate(_BRACKETS).split() or [""]
    argument = " ".join(words_behind)
    if argument in _PLAIN.get(verb, ()):
        return verb, argument
    is_id = len(argument.strip("-")) >= MIN_ID_CHARS and _HEX.issuperset(argument)
    # `forget` accepts several words of a memory's text, but not one word, which may mean anything.
    is_named = verb == FORGET and len(words_behind) > 1 and not prompt.rstrip().endswith("?")
    return (verb, argument) if is_named or (verb in OF_ID and is_id) else None


def spoken_to_memory(prompt: str) -> tuple[str, str] | None:
    """Return the verb and argument of a short request such as "keep that one"; else None."""
    verb, *behind = prompt[: MAX_COMMAND_CHARS + 1].lower().translate(_BRACKETS).split() or [""]
    argument = " ".join(behind).rstrip(".! ")
    if len(prompt) > MAX_COMMAND_CHARS or any(mark in argument for mark in ",;.?"):
        return None
    is_meant = verb == FORGET or argument.rpartition(" ")[2] in _MEANT
    return (verb, argument) if argument and verb in OF_ID[:4] and is_meant else None
