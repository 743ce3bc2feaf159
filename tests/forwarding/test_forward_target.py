"""The target of forwarding, as variables name it: what cannot be used is named."""

from __future__ import annotations

import pytest

from memory_fabric.config import read_settings

HOME = {"HOME": "/home/ann"}


@pytest.mark.parametrize(
    ("stated", "url"),
    [
        ("https://memory.example", "https://memory.example/v1/memory/ingest"),
        ("http://localhost:8002/", "http://localhost:8002/v1/memory/ingest"),
        ("HTTPS://Memory.Example/in", "https://memory.example/in"),
        ("http://[::1]:8002", "http://[::1]:8002/v1/memory/ingest"),
        ("http://h?team=a", "http://h/v1/memory/ingest?team=a"),
        ("  http://127.0.0.1:1/x?y=1 ", "http://127.0.0.1:1/x?y=1"),
    ],
)
def test_a_receiver_address_without_a_path_gets_the_default_path(stated: str, url: str) -> None:
    settings = read_settings(HOME | {"MEMORY_FABRIC_FORWARD_URL": stated}, {})
    assert settings.forward_url == url
    assert settings.complaints == ()


@pytest.mark.parametrize(
    "stated",
    [
        "memory.example",
        "ftp://memory.example",
        "file:///etc/passwd",
        "https://",
        "https:///path",
        "http://:8002",
        "http://host:port",
        "http://host:0",
        "http://host:70000",
        "http://[::1",
        "http://ann:pw@host",
        "http://ho st",
        "http://host/\r\nX-Y: 1",
        "http://hôte",
        "http://host/#part",
    ],
)
@pytest.mark.parametrize("name", ["MEMORY_FABRIC_FORWARD_URL", "MOE_MEMORY_ENDPOINT"])
def test_an_unusable_address_is_reported_and_nothing_is_forwarded(name: str, stated: str) -> None:
    settings = read_settings(HOME | {name: stated}, {})
    assert (settings.forward_url, settings.forward_key) == ("", "")
    assert [name in complaint for complaint in settings.complaints] == [True]
    assert "pw" not in settings.complaints[0]


def test_a_receiver_key_is_used_only_for_its_own_address() -> None:
    brief = {"MOE_MEMORY_ENDPOINT": "http://moe", "MOE_API_KEY": "k1"}
    found = read_settings(HOME | brief, {})
    assert (found.forward_url, found.forward_key) == ("http://moe/v1/memory/ingest", "k1")

    ours = {"MEMORY_FABRIC_FORWARD_URL": "http://ours"}
    assert read_settings(HOME | brief | ours, {}).forward_key == ""

    keyed = ours | {"MEMORY_FABRIC_FORWARD_KEY": "k2"}
    found = read_settings(HOME | brief | keyed, {})
    assert (found.forward_url, found.forward_key) == ("http://ours/v1/memory/ingest", "k2")


def test_a_key_that_is_invalid_in_an_http_header_is_reported() -> None:
    environ = {"MEMORY_FABRIC_FORWARD_URL": "http://h", "MEMORY_FABRIC_FORWARD_KEY": "a\r\nb"}
    settings = read_settings(HOME | environ, {})
    assert settings.forward_url == ""
    assert settings.complaints[0].startswith("MEMORY_FABRIC_FORWARD_KEY contains a character")


def test_an_api_key_without_a_receiver_address_is_ignored() -> None:
    settings = read_settings(HOME | {"MOE_API_KEY": "k"}, {})
    assert (settings.forward_url, settings.forward_key) == ("", "")
