"""The same calls to ours as to the reference server, whose answers are recorded beside this file.

`reference_answers.json` was recorded from `@modelcontextprotocol/server-memory` 2026.8.31 on an
empty file, through the SDK's client.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servers.doors import connected, run, texts

HERE = Path(__file__).parent
CALLS = json.loads((HERE / "calls.json").read_text("utf-8"))
ANSWERS = json.loads((HERE / "reference_answers.json").read_text("utf-8"))


def played(home: Path) -> list[dict[str, Any]]:
    """Our answers, in the form of the recorded ones."""
    ours: list[dict[str, Any]] = []

    async def story() -> None:
        async with connected(home) as client:
            for call in CALLS:
                result = await client.call_tool(call["tool"], call["arguments"])
                ours.append(
                    {
                        "texts": texts(result),
                        "structure": result.structured_content,
                        "failed": bool(result.is_error),
                    }
                )

    run(story)
    return ours


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return played(tmp_path_factory.mktemp("contract") / "home")


@pytest.mark.parametrize(
    "number", range(len(CALLS)), ids=[f"{n}-{call['about']}" for n, call in enumerate(CALLS)]
)
def test_an_answer_equals_the_reference_servers(ours: list[dict[str, Any]], number: int) -> None:
    answer, expected = ours[number], ANSWERS[number]

    assert answer["failed"] == expected["failed"]
    assert answer["structure"] == expected["structure"]
    # Notes of ours may follow as further texts; the first is the reference server's.
    assert answer["texts"][: len(expected["texts"])] == expected["texts"]
