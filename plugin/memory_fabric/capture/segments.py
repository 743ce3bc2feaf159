"""Splitting of a text into sentences, without quoted and pasted material. Injected context of this
plugin, tagged texts of clients, comments, code blocks, quotations, logs, traces, diffs, tables and
templates are removed first, each in one pass without backtracking.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory_fabric.language.word_lists import either, sections, words
from memory_fabric.patterns import exact
from memory_fabric.text import one_line, without_injected

MAX_CHARS = 65536
# A longer sentence is pasted data, not a statement. The limit also bounds the time for parsing it.
MAX_SENTENCE_CHARS = 700
_WRAPPED_FROM = 55  # minimum length of a line that an editor wrapped
_WRAPPED_LOWER_FROM = 30  # minimum length if the next line is in lower case
_QUOTED_FROM_WORDS = 9  # long quotations (others' text) are removed, short ones are mostly names
# The marker by which `redact` replaces private text; it is not part of a statement.
_PRIVATE = "[redacted: private]"
_MACHINE_TAGS = " ".join(sections("segments")["machine tags"]).split()
_PASTE_LEADS = sections("segments")["leads of pastes"]
_LOG_LEVELS = ("error", "warn", "warning", "info", "debug", "trace", "fatal", "critical")
# A location in a file, which compilers, linters and loggers print before their message.
_PLACE = (
    r"(?:^|\s)(?:-->\s*)?[\w./\\@~-]*\.[a-z]\w{0,9}(?:(?::\d+){1,2}(?:[:,]| -|$)|\(\d+(?:,\d+)?\):)"
)
_SENTENCE_END = r"[.!?…]{1,4}[\"')\]`*”]{0,3}(?=\s|$)|[。！？]"
_QUESTION_ENDINGS = (", no", ", right", ", yeah", ", yes", ", ok", ", correct", ", huh", ", agreed")


class Sentence(NamedTuple):
    """A sentence with collapsed white space and without emphasis markers."""

    text: str
    question: bool = False
    bullet: bool = False  # from a list item
    heading: str = ""  # the nearest heading in lower case


def segments(text: str) -> list[Sentence]:
    """Return the sentences of a text in order; empty if the whole text is quoted or pasted."""
    text = without_injected(text[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n"))
    text = text.replace("’", "'").replace("‘", "'")
    if "<" in text:
        text = text.replace("`<private>`", "`private`")  # mentions the tag, does not use it
        text = _without_span(text, "<!--", "-->")
        for tag in _MACHINE_TAGS:
            for opening in (f"<{tag}>", f"<{tag} "):
                text = _without_span(text, opening, f"</{tag}>")
    sentences: list[Sentence] = []
    for block in _blocks(_prose_lines(text.replace(_PRIVATE, "\n").splitlines())):
        parts = [part for part in _split(block.text) if 3 <= len(part) <= MAX_SENTENCE_CHARS]
        sentences += [block._replace(text=part, question=is_question(part)) for part in parts]
    return sentences


def is_question(sentence: str) -> bool:
    """Return True if the sentence is a question, with or without a question mark."""
    bare = sentence.rstrip(" \"'*_)`.…!")
    if bare.endswith(("?", "？")) or bare.lower().endswith(_QUESTION_ENDINGS):
        return True
    first, second = [*bare.lower().split(maxsplit=2), "", ""][:2]
    if first in ("do", "have"):
        return second in ("i", "you", "we", "they")
    if first in ("what", "why", "how", "who", "where") and not bare.lower().startswith("what's"):
        return second not in ("happened", "we", "i", "matters")
    starts, subjects = words("segments", "starts of questions"), words("segments", "subjects")
    return first in starts and second in subjects


def _without_span(text: str, opening: str, closing: str) -> str:
    """Remove all spans from `opening` to `closing`; an unclosed span extends to the end."""
    pieces: list[str] = []
    place = 0
    while (start := text.find(opening, place)) >= 0:
        pieces.append(text[place:start])
        end = text.find(closing, start)
        if end < 0:
            return "".join(pieces)
        pieces.append("\n")
        place = end + len(closing)
    return "".join((*pieces, text[place:]))


def _prose_lines(lines: list[str]) -> list[str]:
    """Return the lines; lines that are not prose become empty, which ends a paragraph."""
    prose: list[str] = []
    fence, in_trace, in_paste = "", False, False
    # Detect a diff, even if its header is missing.
    added = sum(line.startswith("+") and not line.startswith("+ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("- ") for line in lines)
    spaced = sum(line.startswith(("+  ", "-  ")) for line in lines)
    is_diff = added and (removed or spaced) and added + removed + spaced > len(lines) // 3
    is_diff = is_diff or any(line.startswith(("@@ ", "diff --git ")) for line in lines)
    for line in lines:
        place = exact(_PLACE).search(line)
        line = line[: place.start()] if place else line
        bare = line.strip()
        if fence or bare.startswith(("```", "~~~")):
            # A code block is closed only by the marker that opened it.
            is_closed = fence and bare.startswith(fence) and not bare.strip("`~")
            fence = "" if is_closed else fence or bare[:3]
            prose.append("")
            continue
        in_trace = bool(bare) and (in_trace or bare.lower().startswith("traceback (most"))
        in_paste = _in_paste(in_paste, line, prose)
        is_shown = in_trace or in_paste or _is_shown(line, bare)
        prose.append("" if is_shown or (is_diff and line[:1] in ("+", "-", "@")) else line)
    return prose


def _in_paste(open_already: bool, line: str, prose: list[str]) -> bool:
    """Return True if the line belongs to a paste that a line above announces ("this log:")."""
    has_text = bool(line.strip())
    # Of the three lines above, the last one that is not blank may announce a paste.
    last = next((said.strip().lower() for said in prose[-1:-4:-1] if said.strip()), "")
    if open_already:
        return has_text or not last
    announced = last.rstrip(" ?").endswith((":", "this")) or last.endswith("?")
    return has_text and announced and any(lead in last for lead in _PASTE_LEADS)


def _is_shown(line: str, bare: str) -> bool:
    """Return True if the line belongs to a quotation, table, log, trace or code."""
    if not bare:
        return False
    if bare[0] in ">|" or bare.startswith(("$ ", "❯", "⎿", "⏺", "·", "│", "├", "└")):
        return True
    lowered = bare.lower()
    is_trace = exact(either("segments", "starts of traces")).match(lowered)
    if is_trace and not lowered.startswith("at least"):
        return not lowered.startswith(("at ", "index ")) or "(" in bare or ":" in bare
    if exact(either("segments", "diagnostics")).match(bare):
        return True
    head = lowered.lstrip("[(")
    level = head.split(maxsplit=1)[0].rstrip("]:") if head.startswith(_LOG_LEVELS) else ""
    if level in _LOG_LEVELS and (bare[0] == "[" or bare[:4].isupper()):
        return True
    digits = sum(map(str.isdigit, bare[:24]))
    if digits >= 8 and any(sign in bare[:24] for sign in ":/-") and bare[0] in "[(0123456789":
        return True  # a log line, which begins with a time
    if bare[-1] in "{};" or bare.endswith(("=>", "});", "},", "],", '",')):
        return True
    if bare.startswith(("import ", "from ", "def ", "class ", "const ", "func ", "return ")):
        return bare[-1] not in ".!?" and any(sign in bare for sign in "=(.:")
    signs = sum(map("{}[]<>=;|\\/_".count, bare))
    if signs * 4 > len(bare) and "`" not in bare and bare[0] not in "-*#":
        return True
    indented = line.startswith(("    ", "\t"))
    return indented and bare[0] not in "-*•0123456789" and any(sign in bare for sign in "=(){};<")


def _blocks(lines: list[str]) -> Iterator[Sentence]:
    """Yield each paragraph and list item as one long sentence, with wrapped lines joined."""
    heading, bullet = "", False
    open_lines: list[str] = []
    for line in (*lines, ""):
        bare = line.strip()
        title, starts_bullet = _heading(bare), _bullet_length(bare)
        last = open_lines[-1] if open_lines else ","
        # This line continues the paragraph if an editor wrapped the previous line.
        is_lower = bare[:1].islower() and last[-1] not in ".!?:"
        is_wrapped = len(last) >= (_WRAPPED_LOWER_FROM if is_lower else _WRAPPED_FROM)
        is_wrapped = is_wrapped or last[-1] in ",;(" or last.endswith((" and", " or"))
        if not bare or title or starts_bullet or not is_wrapped:
            text = " ".join(open_lines)
            text = text[4:] if text[:4].lower() in ("[ ] ", "[x] ") else text  # remove a check box
            while (
                text and text[0] > "\u2190" and not (text[0].isalnum() or text[0] in "「『《【（")
            ):
                text = text[1:].lstrip()  # remove a tick, cross or arrow at the start
            text = one_line(text.replace("**", ""))
            open_lines.clear()
            if text:
                yield Sentence(text, bullet=bullet, heading=heading)
        if title:
            heading, bullet = title.lower(), False
        elif bare:
            bullet = starts_bullet > 0 or (bullet and bool(open_lines or line[0].isspace()))
            open_lines.append(bare[starts_bullet:])


def _heading(bare: str) -> str:
    """Return the title if the line is a heading, marked by `#` or entirely in bold; else ''."""
    if bare.startswith("#"):
        title = bare.lstrip("#")
        return title.strip(" #*:") if title[:1] == " " else ""
    if bare.startswith("**") and bare.rstrip(":").endswith("**") and len(bare) <= 60:
        title = bare.strip("*: ")
        plain_title = "**" not in title and not title.endswith((".", "!"))
        return title if plain_title and len(title.split()) <= 5 else ""
    return ""


def _bullet_length(bare: str) -> int:
    """Return the length of the line's bullet or item number; 0 if the line is not a list item."""
    if bare[:2] in ("- ", "* ", "+ ", "• ", "– "):
        return 2
    mark, _, item = bare.partition(" ")
    if item and 2 <= len(mark) <= 4 and mark[-1] in ".)" and mark[:-1].strip("(").isalnum():
        return len(mark) + 1 if mark[0].isdigit() or len(mark.strip("(.)")) == 1 else 0
    return 0


def _split(text: str) -> Iterator[str]:
    """Yield a block's sentences, without long quotations unless a quotation mark is unpaired."""
    parts = text.replace("“", '"').replace("”", '"').split('"')
    pieces = [parts[0]] if len(parts) % 2 else ['"'.join(parts)]
    for quoted, after in zip(parts[1::2], parts[2::2], strict=False) if len(parts) % 2 else ():
        if len(quoted.split()) >= _QUOTED_FROM_WORDS:
            pieces.append(after)
        else:
            pieces[-1] += f'"{quoted}"{after}'
    for piece in pieces:
        start = 0
        for match in exact(_SENTENCE_END).finditer(piece):
            if match.group()[0] in ".…" and not _ends_here(piece, start, match):
                continue
            yield piece[start : match.end()].strip()
            start = match.end()
        yield piece[start:].strip()


def _ends_here(text: str, start: int, match: re.Match[str]) -> bool:
    """Return True if a full stop ends a sentence, not an abbreviation, number or pause ("…")."""
    if len(match.group().rstrip("\"')]`*”")) > 1:
        follower = text[match.end() : match.end() + 2].strip()
        return not follower or follower.isupper()
    before = text[max(start, match.start() - 12) : match.start()].rpartition(" ")[2]
    before = before.strip("(\"'*`").lower()
    if before in words("segments", "abbreviations"):
        return False
    return not (match.start() - start < 3 and (before.isdigit() or len(before) == 1))
