"""serve: options that do not fit, and its permanent keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.cli.commands.serve import serve
from memory_fabric.errors import BadInput

USUAL: dict[str, Any] = {
    "name": "",
    "port": 8002,
    "host": "127.0.0.1",
    "allow_host": None,
    "opens": False,
    "new_key": False,
    "list_keys": False,
    "drop_key": "",
    "team": "",
    "read": "",
    "space": "",
    "workers": 0,
    "member": "",
    "domain": "",
    "insecure": False,
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home, and a folder without a project."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MEMORY_FABRIC_HOME", raising=False)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": "n"}, "NAME"),
        ({"new_key": True, "list_keys": True}, "keys"),
        ({"list_keys": True, "drop_key": "n"}, "keys"),
        ({"read": "x"}, "--team"),
        ({"space": "x"}, "--team"),
        ({"member": "x"}, "--team"),
        ({"domain": "x"}, "--team"),
        ({"insecure": True}, "--team"),
    ],
)
def test_options_of_serve_that_do_not_fit_are_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(BadInput) as refused:
        serve(**{**USUAL, **given})

    assert refused.value.field == field


def test_a_key_is_printed_once_listed_by_name_and_dropped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    codes = [serve(**{**USUAL, "list_keys": True})]
    none = capsys.readouterr().out
    codes += [serve(**{**USUAL, "new_key": True, "name": "laptop"})]
    made = capsys.readouterr()
    codes += [serve(**{**USUAL, "list_keys": True})]
    listed = capsys.readouterr().out
    codes += [serve(**{**USUAL, "drop_key": "laptop"}), serve(**{**USUAL, "list_keys": True})]

    assert codes == [0] * 5
    assert none == "There is no permanent key. memory-fabric serve --new-key NAME creates one.\n"
    assert made.out.strip() and made.out.strip() not in listed
    assert made.err == "memory-fabric: this key is shown only once; only its hash is stored.\n"
    assert listed.startswith("laptop  20")
    assert capsys.readouterr().out == f"The key laptop is not valid any more.\n{none}"
