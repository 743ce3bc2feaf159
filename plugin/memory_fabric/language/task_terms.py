"""The subject of a subagent's task, extracted from a prompt that is mostly instructions.

A task is written for a model: who it is, where it works, what it must not do, how to report. The
subject is in between, in lists and paragraphs; the task's short description names it as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from memory_fabric.text import STOPWORDS, one_line, without_injected

# Openings of sentences about the agent or its folder, which never name the subject.
PERSONAS = (
    "you are ", "you're ", "act as ", "as an expert", "as a senior", "your role ",
    "working directory", "you are working in", "the working directory", "project root",
    "the repository is at", "the repo is at", "the repository root", "repository:", "repo:",
    "branch:", "cwd:", "root:", "the codebase is at", "platform:", "today's date", "model:",
)  # fmt: skip
# Openings of sentences on how to work, which are sorted last.
MANNERS = (
    "do not ", "don't ", "never ", "always ", "make sure ", "ensure ", "please ensure",
    "please make sure", "important:", "note:", "remember to", "use the ", "only ",
    "you have access", "you may ", "you can ", "you should ", "you must ", "you will ", "commit ",
    "no need to",
    "stop when", "run the tests", "run tests", "if you ", "if unsure", "this is a research task",
)  # fmt: skip
# Openings of sentences on how to report, which count only if nothing else is there.
SHAPES = (
    "return ", "report ", "respond ", "reply ", "output ", "when you are done", "when done",
    "when you have finished", "when finished", "once done", "your final ", "your response ",
    "your report ", "your answer ", "the final ", "be thorough", "be concise", "be careful",
    "be specific", "keep your ", "keep it ", "format:", "thoroughness", "search breadth",
    "finish with ", "include file paths", "include the file", "give me ", "write your ",
)  # fmt: skip
# The first words of a task's sentence: actions and headings. Inside it the same words may be its
# subject: the search, product reviews, a task queue.
OPENINGS = frozenset(
    """please analyse analyze assess background context deliverable deliverables describe details
    determine evaluate examine explain explore goal goals identify inspect instructions investigate
    locate look notes objective objectives output overview produce report requirements research
    respond return review scope search steps suggest summarise summarize summary task tasks
    understand verify""".split()
)
# Words of tasks that are never their subject.
ERRAND_WORDS = frozenset(
    """careful carefully codebase concise concisely following relevant snippets subagent thorough
    thoroughly""".split()
)
BULLETS = "-*•>#|+0123456789.) \t"
CODE_FENCE = "```"
CODE_ENDS = ("{", "}", ";", "\\")
MAX_SENTENCES = 60
# A path with this many slashes is a location on this machine, not a subject.
PATH_SLASHES = 3
# A short task is searched for as a whole; for a long one its beginning, which names the subject,
# comes first.
FOCUS_CHARS = 400


def questions(task: str) -> tuple[str, ...]:
    """Return the questions to memory for a task: its subject, and for a long one the whole as well.

    The first line of `task` is its description, as `text_of` joins them. Empty for a task of
    instructions only.
    """
    description, _, prompt = without_injected(task).partition("\n")
    every = [*_sentences(description), *_in_order(list(_sentences(prompt)))]
    plain = [words for sentence in every[:MAX_SENTENCES] if (words := _without_errand(sentence))]
    whole = ". ".join(dict.fromkeys(plain))
    if len(whole) <= FOCUS_CHARS:
        return (whole,) if whole else ()
    return _beginning(plain), whole


def title(task: str) -> str:
    """Return the description without its verb: `Review webhook retries` gives webhook retries."""
    return _without_errand(without_injected(task).partition("\n")[0])


def text_of(description: object, prompt: str) -> str:
    """Return the task as one text, its description alone on the first line."""
    said = one_line(description) if isinstance(description, str) else ""
    return f"{said}\n{prompt}"


def _beginning(sentences: list[str]) -> str:
    """Return as many sentences as fit into the focus, at least the first."""
    kept, chars_left = [sentences[0]], FOCUS_CHARS - len(sentences[0])
    for sentence in sentences[1:]:
        chars_left -= len(sentence) + 2
        if chars_left < 0:
            break
        kept.append(sentence)
    return ". ".join(dict.fromkeys(kept))


def _in_order(sentences: list[str]) -> list[str]:
    """Sort the sentences: the subject first, then how to work; agent and folder are left out.

    Sentences on how to report count only if there are no others.
    """
    subject: list[str] = []
    manners: list[str] = []
    shapes: list[str] = []
    for sentence in sentences:
        start = sentence.lower()
        if start.startswith(PERSONAS):
            continue
        if start.startswith(SHAPES):
            shapes.append(sentence)
        else:
            (manners if start.startswith(MANNERS) else subject).append(sentence)
    return subject + manners or shapes


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without the marks of lists and headings, and without code."""
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
    """Return the sentence without the words of tasks and without long paths."""
    kept = [word for word in sentence.split() if _says_what(word)]
    while kept and _bare(kept[0]) in OPENINGS:
        del kept[0]
    says = any(_bare(word) not in STOPWORDS and _bare(word) not in OPENINGS for word in kept)
    return " ".join(kept) if says and any(c.isalnum() for word in kept for c in word) else ""


def _says_what(word: str) -> bool:
    return word.count("/") < PATH_SLASHES and _bare(word) not in ERRAND_WORDS


def _bare(word: str) -> str:
    return word.strip(".,:;!?()\"'").lower()
