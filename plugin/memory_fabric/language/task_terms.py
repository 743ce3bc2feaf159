"""Extract the subject of a subagent's task from a prompt that is mostly instructions. A task is
written for a model, so it specifies a role, a folder, limits and the format of the report. Its
subject is in the remaining sentences, and in the task's short description.
"""

from collections.abc import Iterator
from itertools import accumulate, dropwhile

from memory_fabric.language.word_lists import either, words
from memory_fabric.patterns import exact
from memory_fabric.text import STOPWORDS, one_line, without_injected

BULLETS = "-*•>#|+0123456789.) \t"
CODE_FENCE = "```"
CODE_ENDS = ("{", "}", ";", "\\")
MAX_SENTENCES = 60
# A path with at least this many slashes is a place on this machine, not a subject.
PATH_SLASHES = 3
# If a task's subject is longer, search first for its first sentences, which usually name it.
FOCUS_CHARS = 400


def questions(task: str) -> tuple[str, ...]:
    """Return the subject of a task (see `text_of`): (whole,), or (start, whole) if long, or ()."""
    description, _, prompt = without_injected(task).partition("\n")
    kinds: dict[str, list[str]] = {"personas": [], "shapes": [], "manners": [], "": []}
    for sentence in _sentences(prompt):
        start = sentence.lower()
        kind = next((k for k in kinds if k and exact(either("task_terms", k)).match(start)), "")
        kinds[kind].append(sentence)
    every = [*_sentences(description), *(kinds[""] + kinds["manners"] or kinds["shapes"])]
    plain = list(filter(None, map(_without_errand, every[:MAX_SENTENCES])))
    whole = ". ".join(dict.fromkeys(plain))
    if len(whole) <= FOCUS_CHARS:
        return (whole,) if whole else ()
    lengths = accumulate(len(sentence) + 2 for sentence in plain)
    count = sum(length <= FOCUS_CHARS + 2 for length in lengths)
    return ". ".join(dict.fromkeys(plain[: max(1, count)])), whole


def title(task: str) -> str:
    """Remove the verb from a task's description: "webhook retries" for "Review webhook retries"."""
    return _without_errand(without_injected(task).partition("\n")[0])


def text_of(description: object, prompt: str) -> str:
    """Join a task's description and its prompt; the description becomes the first line."""
    return f"{one_line(description) if isinstance(description, str) else ''}\n{prompt}"


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without list markers, heading markers and code."""
    is_code = False
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(CODE_FENCE):
            is_code = not is_code
            continue
        bare = bare.lstrip(BULLETS).replace("**", "").replace("`", " ")
        if is_code or not bare or bare.endswith(CODE_ENDS):
            continue
        for sentence in bare.replace("! ", ". ").replace("? ", ". ").split(". "):
            if sentence.strip():
                yield one_line(sentence).rstrip(".")


def _without_errand(sentence: str) -> str:
    """Return a sentence without long paths and words such as "review"; '' if nothing is left."""
    openings, errands = words("task_terms", "openings"), words("task_terms", "errands")
    spoken = (word for word in sentence.split() if _bare(word) not in errands)
    short = (word for word in spoken if word.count("/") < PATH_SLASHES)
    subject = list(dropwhile(lambda word: _bare(word) in openings, short))
    says = not (STOPWORDS | openings).issuperset(map(_bare, subject))
    return " ".join(subject) if says and any(map(str.isalnum, "".join(subject))) else ""


def _bare(word: str) -> str:
    return word.strip(".,:;!?()\"'").lower()
