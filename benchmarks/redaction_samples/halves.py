"""The two halves of the redaction benchmark: what is put into texts, and the texts around it.

Rules may be tuned on `TUNE`. The forms of `HELD` are in the files `held_*.py`, which nobody who
writes rules should read, and whose samples are never printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from redaction_samples import (
    documented,
    documented_commands,
    documented_plain,
    documented_texts,
    everyday,
    everyday_commands,
    everyday_files,
    everyday_notes,
    everyday_plain,
    held_credentials,
    held_links,
    held_notes,
    held_plain_text,
    held_sentences,
    held_settings,
    held_shell,
    held_tokens,
    issuers,
    lookalikes,
    more_blocks,
    more_commands,
    more_issuers,
    more_layouts,
    more_lookalikes,
    more_phrasings,
    more_values,
    more_weak,
    more_written,
    phrasings,
    written,
)
from redaction_samples.credentials import Make

Forms = Mapping[str, Sequence[str]]


class Half(NamedTuple):
    """The forms of one half; `written` by kind, `stated` by language, issuers by name."""

    seed: int
    values: Mapping[str, Make]
    stated: Forms
    quotes: Sequence[str]
    written: Forms
    bare: Forms
    bare_around: Sequence[str]
    issued_around: Sequence[str]
    keyed: Forms
    keyed_around: Sequence[str]
    pems: Sequence[str]
    cuts: Sequence[Callable[[list[str]], list[str]]]
    dumps: Sequence[str]
    lines: Sequence[tuple[str, str]]
    harmless: Forms


def _merged(*tables: Forms) -> Forms:
    """Return the forms of all tables by name."""
    names = {name: None for table in tables for name in table}
    return {name: [form for table in tables for form in table.get(name, ())] for name in names}


TUNE = Half(
    seed=11,
    values={**more_values.VALUES, **more_weak.VALUES},
    stated=_merged(phrasings.STATED, more_phrasings.STATED),
    quotes=(*phrasings.QUOTES, *more_phrasings.QUOTES),
    written={
        "weak password": (*phrasings.WEAK, *more_layouts.WEAK, *more_weak.WEAK),
        "seed phrase": (*phrasings.SEED, *more_layouts.SEED),
        "table": (*phrasings.TABLES, *more_layouts.TABLES),
        "value on the next line": (*phrasings.NEXT_LINE, *more_layouts.NEXT_LINE),
        "name, something, value": (*phrasings.BETWEEN, *more_layouts.BETWEEN),
        "connection string": (
            *written.CONNECTIONS,
            *more_written.CONNECTIONS,
            *more_weak.CONNECTIONS,
        ),
        "command line": (*written.COMMANDS, *more_commands.COMMANDS, *more_weak.COMMANDS),
        ".env": (*written.ENVIRONMENT, *more_written.ENVIRONMENT),
        "configuration": (
            *written.CONFIGURATION,
            *more_commands.CONFIGURATION,
            *more_weak.CONFIGURATION,
        ),
        "header": (*written.HEADERS, *more_written.HEADERS, *more_weak.HEADERS),
        "JWT": (*written.TOKENS, *more_written.TOKENS),
        "cloud key": (*written.CLOUD, *more_written.CLOUD),
    },
    bare=_merged(issuers.BARE, more_issuers.BARE),
    bare_around=(*issuers.BARE_AROUND, *more_issuers.BARE_AROUND),
    issued_around=(*issuers.ISSUED_AROUND, *more_issuers.ISSUED_AROUND),
    keyed=_merged(issuers.KEYED, more_issuers.KEYED),
    keyed_around=(*issuers.KEYED_AROUND, *more_issuers.KEYED_AROUND),
    pems=(*written.PEMS, *more_blocks.PEMS),
    cuts=(*written.CUTS, *more_blocks.CUTS),
    dumps=(*written.dumps(), *more_blocks.dumps()),
    lines=(*phrasings.LINES, *more_phrasings.LINES),
    harmless=_merged(lookalikes.HARMLESS, more_lookalikes.HARMLESS),
)
HELD = Half(
    seed=157,
    values=held_credentials.VALUES,
    stated=held_sentences.STATED,
    quotes=held_sentences.QUOTES,
    written={
        "weak password": held_notes.WEAK,
        "seed phrase": held_notes.SEED,
        "table": held_notes.TABLES,
        "value on the next line": held_notes.NEXT_LINE,
        "name, something, value": held_notes.BETWEEN,
        "connection string": held_links.CONNECTIONS,
        "command line": held_shell.COMMANDS,
        ".env": held_shell.ENVIRONMENT,
        "configuration": held_settings.CONFIGURATION,
        "header": held_links.HEADERS,
        "JWT": held_links.TOKENS,
        "cloud key": held_links.CLOUD,
    },
    bare=held_tokens.BARE,
    bare_around=held_tokens.BARE_AROUND,
    issued_around=held_tokens.ISSUED_AROUND,
    keyed=held_tokens.KEYED,
    keyed_around=held_tokens.KEYED_AROUND,
    pems=held_settings.PEMS,
    cuts=held_settings.CUTS,
    dumps=held_settings.dumps(),
    lines=held_sentences.LINES,
    harmless=held_plain_text.HARMLESS,
)
# Forms of the documentation of tools, with weak and odd values; held out like HELD.
DOCUMENTED = Half(
    seed=2311,
    values=documented.VALUES,
    stated={},
    quotes=(),
    written={**documented_commands.WRITTEN, **documented_texts.WRITTEN},
    bare={},
    bare_around=(),
    issued_around=(),
    keyed={},
    keyed_around=(),
    pems=(),
    cuts=(),
    dumps=(),
    lines=documented.LINES,
    harmless=documented_plain.HARMLESS,
)
# Other kinds than the halves have, and two samples of a form: to look at misses of daily work.
EVERYDAY = Half(
    seed=2039,
    values=everyday.VALUES,
    stated=everyday.STATED,
    quotes=everyday.QUOTES,
    written={
        **everyday_commands.WRITTEN,
        **everyday_files.WRITTEN,
        **everyday_notes.WRITTEN,
    },
    bare=everyday.BARE,
    bare_around=everyday.BARE_AROUND,
    issued_around=everyday.ISSUED_AROUND,
    keyed=everyday.KEYED,
    keyed_around=everyday.KEYED_AROUND,
    pems=everyday.PEMS,
    cuts=everyday.CUTS,
    dumps=everyday.DUMPS,
    lines=everyday.LINES,
    harmless=everyday_plain.HARMLESS,
)
HALVES: Mapping[str, Half] = {"tune": TUNE, "held": HELD, "documented": DOCUMENTED}
SETS: Mapping[str, Half] = {**HALVES, "everyday": EVERYDAY}
