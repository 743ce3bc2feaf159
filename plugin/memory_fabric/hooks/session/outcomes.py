"""Judge, at the end of a turn, whether shown memories had an effect (see docs/worth.md)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory_fabric.capture.command_output import NOT_ITS_FAULT
from memory_fabric.capture.incidents import Failure, Step, has_passed
from memory_fabric.clients.transcript import ToolUse, Turn
from memory_fabric.hooks.session.checkpoint import CHANGING_TOOLS
from memory_fabric.hooks.session.store_incidents import SHELL, failures
from memory_fabric.ids import short_id
from memory_fabric.language.concepts import WEAK
from memory_fabric.models import LIFTED, WHEN, Record
from memory_fabric.recall.known_fixes import known_in
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.rules import matching
from memory_fabric.rules.bindings import bindings_of
from memory_fabric.rules.commands import command_in, covers
from memory_fabric.store.conversations import worth
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.conditions import marks
from memory_fabric.text import STOPWORDS, stem, words

# At most this many characters are read of a tool's input or output, and of a turn's answers.
MAX_INPUT_CHARS, MAX_ANSWER_CHARS = 4000, 32 << 10
# A sentence mentions a decision if it has at least NAMED_SHARE of the decision's words, and at
# least NAMED_WORDS of them are not in the user's prompts.
NAMED_SHARE, NAMED_WORDS = 0.6, 3
# A call applies a fix if it contains at least this many words of the fix but not of the failure.
APPLIED_WORDS = 2


def judge(
    memory: Memory,
    rows: Sequence[tuple[int, str, str]],
    turns: Sequence[Turn],
    notes: Mapping[str, Any],
    now: str,
) -> None:
    """Save for each memory in `rows` (from `worth.to_judge`) whether it had an effect in these
    turns. `notes` is the session's saved data, which has its failing commands.
    """
    ids = sorted({id_ for _, id_, _ in rows})
    found = memory.find_records(f"id IN ({marks(ids)})", tuple(ids), len(ids))
    records = {record.id: record for record in found}
    has_rules = any(channel in (worth.HELD, worth.QUESTION) for *_, channel in rows)
    actions = [
        matching.action_of(tool.name, dict(tool.input), cwd)
        for tool, cwd in (_calls_made(turns) if has_rules else ())
    ]
    roots = matching.roots_of(memory)
    said = sentences_of("\n".join(turn.text for turn in turns if turn.role == "assistant"))
    asked = stems_of(" ".join(turn.text for turn in turns if turn.role == "user"))
    outcomes = {}
    for row, id_, channel in rows:
        record = records.get(id_)
        if record is None:
            continue
        if channel in (worth.HELD, worth.QUESTION):
            when = str(record.evidence.get(WHEN) or record.evidence.get(LIFTED) or "")
            rule = matching.BoundRule(record, bindings_of(when))
            is_run = any(matching.applying([rule], action, roots) for action in actions)
            outcomes[row] = not is_run
        elif channel == worth.FIX:
            outcomes[row] = is_applied(record, turns, failures(notes, "failing"))
        elif record.type == "decision":
            outcomes[row] = bool(naming(record, said, asked))
    worth.save_outcomes(memory.session_database(), outcomes, now)


def sentences_of(answers: str) -> list[tuple[str, frozenset[str]]]:
    """Return the sentences of answers, each with the stems of its content words."""
    lines = answers[:MAX_ANSWER_CHARS].replace(". ", "\n").split("\n")
    return [(line, stems_of(line)) for line in lines if line]


def naming(
    decision: Record, said: Sequence[tuple[str, frozenset[str]]], asked: frozenset[str]
) -> str:
    """Return the first sentence in `said` that has a decision's id or enough of its words (see
    NAMED_SHARE), or ''. Each sentence has its stems; `asked` are the stems in the user's prompts.
    """
    id_, wanted = short_id(decision.id), stems_of(decision.what)
    for sentence, stems in said:
        shared = wanted & stems
        is_most = len(shared) >= NAMED_SHARE * len(wanted) and len(shared - asked) >= NAMED_WORDS
        if is_most or id_ in sentence:
            return sentence
    return ""


def is_applied(fix: Record, turns: Sequence[Turn], failing: Sequence[Failure] = ()) -> bool:
    """Return True if a command failed as described in a fix, a later call applied the fix, and then
    the command passed. `failing` are commands that failed before these turns.
    """
    stems = stems_of(f"{fix.what} {fix.why}")
    failure = next((f for f in failing if f.error and known_in(f.error, [fix])), None)
    command, applied = failure and failure.command, False
    if failure:
        stems -= stems_of(f"{failure.command.text} {failure.error}")
    calls: dict[str, tuple[ToolUse, str]] = {}
    for turn in turns:
        for tool in turn.tools:
            calls[tool.id] = tool, turn.cwd
            if command and (tool.name == SHELL or tool.name in CHANGING_TOOLS):
                in_call = stems_of(" ".join(_texts_in(tool.input)))
                applied = applied or len(stems & in_call) >= APPLIED_WORDS
        for result in turn.results:
            tool, cwd = calls.get(result.tool_use_id, (ToolUse("", ""), ""))
            line = without_secrets(str(tool.input.get("command", "")))
            run = command_in(line, cwd) if tool.name == SHELL else None
            if run is None:
                continue
            passed = has_passed(Step(line, result.is_error, result.text, place=cwd), run)
            if passed and applied and command and covers(run, command):
                return True
            if not passed and known_in(result.text, [fix], command=line):
                command = run
                stems -= stems_of(f"{line} {result.text[:MAX_INPUT_CHARS]}")
    return False


def stems_of(text: str) -> frozenset[str]:
    """Return the stems of a text's content words; a name of several words counts as one word."""
    return frozenset(stem(w) for w in words(text) if w not in STOPWORDS and w not in WEAK)


def _calls_made(turns: Sequence[Turn]) -> Iterator[tuple[ToolUse, str]]:
    """Yield the tool calls that were neither blocked nor refused, each with its folder."""
    results = {result.tool_use_id: result for turn in turns for result in turn.results}
    for turn in turns:
        for tool in turn.tools:
            result = results.get(tool.id)
            said = result.text[:MAX_INPUT_CHARS].lstrip().removeprefix("Error: ") if result else ""
            # Claude Code adds "PreToolUse:Bash hook error: " before this text; other clients vary.
            is_held = matching.HELD_BACK in said
            is_refused = result and result.is_error and said.startswith(NOT_ITS_FAULT)
            if result and not (is_held or is_refused):
                yield tool, turn.cwd


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:MAX_INPUT_CHARS]
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(part)
