"""The two halves of the redaction benchmark: what is put into texts, and the texts around it.

Rules may be tuned on `TUNE`. The forms of `HELD` are in the files `held_*.py`, which nobody who
writes rules should read, and whose samples are never printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import credentials
import held_blocks
import held_commands
import held_issuers
import held_layouts
import held_lookalikes
import held_phrasings
import held_values
import held_written
import issuers
import lookalikes
import phrasings
import written
from credentials import Make


class Half(NamedTuple):
    """The forms of one half; `written` by kind, `stated` by language, issuers by name."""

    seed: int
    values: Mapping[str, Make]
    stated: Mapping[str, Sequence[str]]
    quotes: Sequence[str]
    written: Mapping[str, Sequence[str]]
    bare: Mapping[str, Sequence[str]]
    bare_around: Sequence[str]
    issued_around: Sequence[str]
    keyed: Mapping[str, Sequence[str]]
    keyed_around: Sequence[str]
    pems: Sequence[str]
    cuts: Sequence[Callable[[list[str]], list[str]]]
    dumps: Sequence[str]
    lines: Sequence[tuple[str, str]]
    harmless: Mapping[str, Sequence[str]]


TUNE = Half(
    seed=11,
    values=credentials.VALUES,
    stated=phrasings.STATED,
    quotes=phrasings.QUOTES,
    written={
        "weak password": phrasings.WEAK,
        "seed phrase": phrasings.SEED,
        "table": phrasings.TABLES,
        "value on the next line": phrasings.NEXT_LINE,
        "name, something, value": phrasings.BETWEEN,
        "connection string": written.CONNECTIONS,
        "command line": written.COMMANDS,
        ".env": written.ENVIRONMENT,
        "configuration": written.CONFIGURATION,
        "header": written.HEADERS,
        "JWT": written.TOKENS,
        "cloud key": written.CLOUD,
    },
    bare=issuers.BARE,
    bare_around=issuers.BARE_AROUND,
    issued_around=issuers.ISSUED_AROUND,
    keyed=issuers.KEYED,
    keyed_around=issuers.KEYED_AROUND,
    pems=written.PEMS,
    cuts=written.CUTS,
    dumps=written.dumps(),
    lines=phrasings.LINES,
    harmless=lookalikes.HARMLESS,
)
HELD = Half(
    seed=83,
    values=held_values.VALUES,
    stated=held_phrasings.STATED,
    quotes=held_phrasings.QUOTES,
    written={
        "weak password": held_layouts.WEAK,
        "seed phrase": held_layouts.SEED,
        "table": held_layouts.TABLES,
        "value on the next line": held_layouts.NEXT_LINE,
        "name, something, value": held_layouts.BETWEEN,
        "connection string": held_written.CONNECTIONS,
        "command line": held_commands.COMMANDS,
        ".env": held_written.ENVIRONMENT,
        "configuration": held_commands.CONFIGURATION,
        "header": held_written.HEADERS,
        "JWT": held_written.TOKENS,
        "cloud key": held_written.CLOUD,
    },
    bare=held_issuers.BARE,
    bare_around=held_issuers.BARE_AROUND,
    issued_around=held_issuers.ISSUED_AROUND,
    keyed=held_issuers.KEYED,
    keyed_around=held_issuers.KEYED_AROUND,
    pems=held_blocks.PEMS,
    cuts=held_blocks.CUTS,
    dumps=held_blocks.dumps(),
    lines=held_phrasings.LINES,
    harmless=held_lookalikes.HARMLESS,
)
HALVES: Mapping[str, Half] = {"tune": TUNE, "held": HELD}
