"""The notes of a session, kept small from reading to reading, and the record made of them.

Notes are a JSON object in the session's row: what was requested, which files were changed, what
fails, what is left to do, how it ended. Pure; the handlers read and save them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from memory_fabric.capture.confidence import BASE
from memory_fabric.capture.stated_causes import account, declares_done, sentences_in, states_plan
from memory_fabric.models import Record
from memory_fabric.notes.assents import is_assent
from memory_fabric.notes.typed_text import typed_words
from memory_fabric.patterns import pattern
from memory_fabric.recall.agent_domains import SESSION
from memory_fabric.redaction.prefilter import REDACTED, without_secrets
from memory_fabric.session.checkpoint import INTERRUPTED, own_words
from memory_fabric.text import STOPWORDS, cut, first_of, one_line, stem, without_injected, words

MAX_WHAT_CHARS = 600
MAX_TASK_CHARS, MAX_TASKS = 160, 3
MAX_FILES, MAX_FILES_NAMED, MAX_PATH_CHARS = 20, 5, 80
MAX_ITEMS, MAX_ITEM_CHARS = 30, 80
MAX_OPEN_ENDS, MAX_OPEN_END_CHARS = 4, 160
MAX_SAID_CHARS, MAX_TO_DO_NAMED = 400, 3
MIN_OUTCOME_CHARS, MAX_OUTCOME_CHARS = 40, 200
# A prompt with so many content words says enough: a longer one is not preferred to it.
ENOUGH_WORDS = 6
# The sentence that tells how a session ended has so many content words, and no more than this share
# of them repeats the request.
OUTCOME_WORDS, MAX_REPEATED = 4, 0.7
# A longer prompt is mostly a paste; the end of a long answer is its account.
MAX_PROMPT_CHARS, MAX_READ_CHARS = 8 << 10, 8 << 10
# A longer task ends with a sentence, if that leaves so much.
MIN_TASK_CHARS = 60
# The user's own words after a paste are few lines; more are the end of the paste.
MAX_LINES_AFTER = 2
# A later request is named, too, if it has so many content words and is no question.
LATER_WORDS = 4
# A prompt with fewer content words states no task.
TASK_WORDS = 3
_COURTESIES = frozenset(
    "continue continua continuar thanks thank gracias danke merci great".split()
)
# Lines of logs, shells and code, which the user pasted; and lines with so few letters.
_PASTED = (
    r"\s*(?:[$%❯➜►▲✓✗❌>|{}\[<]|at \S+ ?\(|\d{4}-\d\d-\d\d|\w+(?:Error|Exception)\b|npm |\*\* \(|"
    r"error[:\[ ]|File \"|import |const |def |function )|.*(?:={5}|-{5}|─{3}|\)\$ ?$|"
    r"\(\w+\)\s*$\n\$)"
    r"|.*\b(?:prisma:\w+|MINGW64|Traceback|localhost:\d+ \d|(?:GET|POST|PUT|PATCH|DELETE) /|"
    r"\S:\d+:\d+|in \d+ ?ms)"
)
MIN_LETTERS = 0.6
# A question that leaves a decision about the work to the user; and offers, which need no answer.
_DECISIONS = (
    r"\b(?:which|prefer|should (?:i|we|it|the|this|these|that)|what (?:should|is the|are the|name|"
    r"value|would)|where should|how should|or (?:should|keep|do|is|would|a|an|the)|do you (?:have|"
    r"need)|can you (?:confirm|provide|share|tell|send)|is it (?:ok|fine|right)|what do you prefer|"
    r"soll (?:ich|der|die|das|es)|welche[rsnm]?|lieber|oder|cu[áa]l(?:es)?|prefieres|deber[íi]a|"
    r"quel(?:le)?s?|préf[èé]r\w+|dois-je|qual|prefere|devo)\b| or |哪|还是|どちら|どれ|어느"
)
_OFFERS = (
    r"\b(?:want me to|would you like|anything else|let me know|shall i|can i help|how can i help|"
    r"should (?:i|we) (?:also|continue|proceed|go ahead|start|move on|begin)|ready (?:to|for)|"
    r"continue to iterate|look good|sounds? good|make sense|what(?:'s| is) next|"
    r"any(?:thing)? other|"
    r"quieres que|te gustaría|algo más|möchtest du|soll ich (?:noch|auch|weiter)|noch etwas|"
    r"voulez-vous|veux-tu|souhaitez|autre chose|quer que|gostaria)\b|吗？?$|ますか？?$|까요\??$"
)
# Headings, list items, quotations and tables.
_NO_PROSE = r"\s*(?:#|[-*+•>|]\s|\*\*[^*]+\*\*\W*$|\d+[.)]\s|\W{0,3}$)"
_NO_OUTCOME = (
    r"\b(?:might|maybe|perhaps|probably|seems?|appears?|looks? like|sounds? like|you can|you could|"
    r"you(?:'ll| will| need| should| may)|here(?:'s| is| are)|i understand|i need|please|if you|"
    r"i see|i can see|i notice|parece|quizás?|puedes|podés|entiendo|vielleicht|scheint|"
    r"peut-être|semble|talvez)\b"
)
# A prompt that answers the assistant's questions, or goes on from the one before.
_FOLLOWS_UP = r"\W*(?:\d+[.):]|(?:yes|no|ok|okay|and|also|still|but|sí|si|ja|oui|sim)\b)"
DONE, FAILED, OPEN = "done", "failed", "open"
_OUTCOMES = {DONE: "success", FAILED: "failed", OPEN: "neutral"}


def noted(
    notes: Mapping[str, Any],
    said: Sequence[tuple[str, str]],
    *,
    files: Sequence[str] = (),
    items: Mapping[str, tuple[str, str]] | None = None,
    at: str = "",
) -> dict[str, Any]:
    """Return the notes after some more turns: messages as (role, text), and changed `files`.

    `items` is the current to-do list, or None if there is none; `at` is the time of the last turn.
    """
    tasks, asked = list(notes.get("tasks", ())), int(notes.get("asked", 0))
    last, waiting = str(notes.get("said", "")), bool(notes.get("waiting"))
    question, is_done = str(notes.get("question", "")), bool(notes.get("is_done"))
    request, ended = str(notes.get("request", "")), str(notes.get("ended", ""))
    final, answer = _final_answer(said)
    for place, (role, text) in enumerate(said):
        if role == "assistant":
            if place == final:
                last, waiting = one_line(answer)[-MAX_SAID_CHARS:], False
                question, is_done = question_in(answer), declares_done(answer)
                ended = outcome_in(answer, request)
            continue
        text = without_injected(text)
        if text.startswith(INTERRUPTED):
            waiting = True
        elif text.strip():
            last, waiting, question, is_done, ended = "", True, "", False, ""
            task = task_in(text)
            if _says_more(task, request):
                request = task
            if task and task not in tasks:
                tasks, asked = [*tasks[:1], *[*tasks[1:], task][-(MAX_TASKS - 1) :]], asked + 1
    changed = dict.fromkeys(notes.get("files", ()))
    for file in files:
        changed.pop(file[-MAX_PATH_CHARS:], None)
        changed[file[-MAX_PATH_CHARS:]] = None
    more = {"tasks": tasks, "asked": asked, "said": last, "waiting": waiting}
    more |= {"question": question, "is_done": is_done, "request": request, "ended": ended}
    listed = None if items is None else _bounded(items)
    return {
        **notes,
        **more,
        "files": list(changed)[-MAX_FILES:],
        "items": notes.get("items") if listed is None else listed,
        "at": at or notes.get("at", ""),
    }


def _final_answer(said: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """Return place and account of the last answer to the last prompt; -1 without one.

    The prompts and answers after them make all earlier answers moot.
    """
    for place in range(len(said) - 1, -1, -1):
        role, text = said[place]
        text = without_injected(text[-MAX_READ_CHARS:] if role == "assistant" else text)
        if role != "assistant":
            if text.strip() and not text.startswith(INTERRUPTED):
                break
        elif answer := without_secrets(account(text)).rstrip():
            return place, answer
    return -1, ""


def summary(
    notes: Mapping[str, Any],
    *,
    to_do: Sequence[str] = (),
    failing: Sequence[tuple[str, str]] = (),
    decisions: Sequence[str] = (),
    solved: int = 0,
    commit: str = "",
) -> Record | None:
    """Return the session as a record, without id and provenance; None if it had no work.

    `failing` are commands with their errors, `decisions` ids of records that were made in it. Work
    is a changed file, or something decided, solved or left to do, but no greeting or question.
    """
    tasks, files = list(notes.get("tasks", ())), list(notes.get("files", ()))
    if not tasks or not (files or decisions or solved or to_do):
        return None
    ends = open_ends(notes, to_do, failing)
    outcome = FAILED if failing else OPEN if ends else DONE
    named = [tasks[0].rstrip(".")]
    is_request = not tasks[-1].endswith(("?", ":", "…"))
    if len(tasks) > 1 and is_request and _content(tasks[-1]) >= LATER_WORDS:
        named.append(tasks[-1].rstrip("."))
    parts = [f"Asked: {'; then: '.join(named)}", f"Outcome: {outcome}"]
    if files:
        shown = dict.fromkeys(map(_shown, reversed(files)))
        parts.append(f"Changed: {first_of(shown, MAX_FILES_NAMED)}")
    left = f". Left open: {'; '.join(ends)}" if ends else ""
    chars_left = MAX_WHAT_CHARS - min(len(left), MAX_WHAT_CHARS // 2)
    evidence: dict[str, Any] = {"outcome": outcome, "tasks": tasks, "files": files, "open": ends}
    told = {"asked": str(notes.get("request", "")), "said": str(notes.get("ended", ""))}
    evidence |= {key: text for key, text in told.items() if text}
    evidence |= {"decisions": list(decisions)} if decisions else {}
    evidence |= {"commit": commit} if commit else {}
    return Record(
        type="session",
        what=cut(". ".join(parts), chars_left) + cut(left, MAX_WHAT_CHARS // 2),
        outcome=_OUTCOMES[outcome],
        confidence=BASE,
        domain=SESSION,
        evidence=evidence,
    )


def open_ends(
    notes: Mapping[str, Any], to_do: Sequence[str] = (), failing: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """Return what the session left open: failing commands, to-dos, a question, a prompt."""
    ends = [f"`{command}` fails" + (f" ({error})" if error else "") for command, error in failing]
    if to_do and not notes.get("is_done"):
        ends.append(f"to do: {first_of(to_do, MAX_TO_DO_NAMED)}")
    question = str(notes.get("question", ""))
    if question:
        ends.append(f"asked the user: {question}")
    elif notes.get("waiting") and notes.get("tasks"):
        ends.append("the last prompt was not finished")
    return [cut(end, MAX_OPEN_END_CHARS) for end in ends[:MAX_OPEN_ENDS]]


def outcome_in(said: str, request: str = "") -> str:
    """Return the first sentence of an answer that tells what was done or found; '' without one.

    Only whole sentences of prose count, not headings and lists. Plans, guesses, questions,
    courtesies and what only repeats the request tell nothing. An answer that ends with a plan was
    said in the middle of the work.
    """
    end = list(sentences_in(said))[-1:]
    if end and (states_plan(end[0]) or end[0].endswith((":", "："))):
        return ""
    asked = _stems(request)
    prose = (line for line in account(said).splitlines() if not pattern(_NO_PROSE).match(line))
    for sentence in sentences_in("\n".join(prose)):
        own = _stems(sentence)
        if _is_short(sentence, own) or not sentence.endswith((".", "!", "。", "！")):
            continue
        if pattern(_NO_OUTCOME).search(sentence) or states_plan(sentence):
            continue
        if len(own & asked) <= MAX_REPEATED * len(own):
            return cut(sentence, MAX_OUTCOME_CHARS)
    return ""


def _is_short(sentence: str, own: Collection[str]) -> bool:
    """Return True for a sentence that says too little, such as "Yes, the code is up to date."."""
    is_spaceless = not sentence.isascii() and " " not in sentence
    return not is_spaceless and (len(own) < OUTCOME_WORDS or len(sentence) < MIN_OUTCOME_CHARS)


def question_in(said: str) -> str:
    """Return the question at the end of an answer that leaves the user a decision; '' without one.

    An offer to do more and a courtesy leave none.
    """
    last = said.rstrip("*_ `\n").rpartition("\n")[2]
    if not last.endswith(("?", "？")):
        return ""
    question = list(sentences_in(last))[-1]
    is_decision = pattern(_DECISIONS).search(question) and not pattern(_OFFERS).search(question)
    return question if is_decision and len(question) <= MAX_OPEN_END_CHARS else ""


def task_in(prompt: str) -> str:
    """Return the user's own words for a task, without pastes; '' for a courtesy or a command."""
    typed = typed_words(prompt[:MAX_PROMPT_CHARS])
    if prompt.lstrip().startswith("/") or is_assent(typed):
        return ""
    lines = [line for line in typed.splitlines() if line.strip()]
    task = _named_task(lines)
    if task or len(lines) < 2:
        return task
    after = _own(reversed(lines))
    return _named_task(after[::-1]) if len(after) <= MAX_LINES_AFTER else ""


def _named_task(lines: Sequence[str]) -> str:
    """Return the whole sentences at the start of the user's own lines, if they state a task."""
    text = one_line(without_secrets(" ".join(_own(lines))))
    if _content(text) < TASK_WORDS:
        return ""
    end = max(text.rfind(mark, MIN_TASK_CHARS, MAX_TASK_CHARS) for mark in (". ", "! ", "? "))
    is_long = len(text) > MAX_TASK_CHARS and end > 0
    return text[: end + 1] if is_long else cut(text, MAX_TASK_CHARS)


def _own(lines: Iterable[str]) -> list[str]:
    """Return the lines before the first that looks pasted."""
    own: list[str] = []
    for line in lines:
        if _is_pasted(line):
            break
        own.append(line)
    return own


def _says_more(task: str, request: str) -> bool:
    """Return True if a later prompt tells better than the earlier ones what a session is about."""
    if not request:
        return bool(task) and REDACTED not in task
    if not task or REDACTED in task or pattern(_FOLLOWS_UP).match(task):
        return False
    return _content(request) < ENOUGH_WORDS and _content(task) > _content(request)


def _stems(text: str) -> set[str]:
    return {stem(word) for word in words(text) if word not in STOPWORDS}


def _content(text: str) -> int:
    kept = (word for word in text.split() if word.lower().strip(".,!") not in _COURTESIES)
    return own_words(" ".join(kept))


def _is_pasted(line: str) -> bool:
    letters = sum(map(str.isalpha, line)) + sum(map(str.isspace, line))
    return letters < MIN_LETTERS * len(line) or pattern(_PASTED).match(line) is not None


def _shown(path: str) -> str:
    """Return a file's path as a reader wants it: only the end of one outside the project."""
    plain = path.replace("\\", "/")
    is_inside = not plain.startswith("/") and ":" not in plain and len(path) < MAX_PATH_CHARS
    return path if is_inside else "/".join(plain.split("/")[-2:])


def _bounded(items: Mapping[str, tuple[str, str]]) -> dict[str, list[str]]:
    latest = list(items.items())[-MAX_ITEMS:]
    said = ((key, without_secrets(one_line(what)), state) for key, (what, state) in latest)
    return {key: [cut(what, MAX_ITEM_CHARS), state] for key, what, state in said}
