"""The address of a receiver, and its key."""

from __future__ import annotations

import pytest

from memory_fabric.ingest_protocol import PATH, ingest_address, read_address

NAMES = (("A_URL", "A_KEY"), ("B_URL", "B_KEY"))


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("https://memory.example", f"https://memory.example{PATH}"),
        ("HTTP://Memory.Example/", f"http://memory.example{PATH}"),
        ("http://memory.example?a=B", f"http://memory.example{PATH}?a=B"),
        ("http://memory.example/?a=B", f"http://memory.example{PATH}?a=B"),
        ("http://memory.example/own/Path?a=B", "http://memory.example/own/Path?a=B"),
        ("http://memory.example:1", f"http://memory.example:1{PATH}"),
        ("http://memory.example:65535/x", "http://memory.example:65535/x"),
        ("http://[::1]:8002", f"http://[::1]:8002{PATH}"),
        ("http://[::1]", f"http://[::1]{PATH}"),
        ("http://memory.example/@ann", "http://memory.example/@ann"),
        ("http://a-b_c.1", f"http://a-b_c.1{PATH}"),
    ],
)
def test_an_address_gets_the_path_of_the_protocol_unless_it_has_its_own(
    address: str, url: str
) -> None:
    assert ingest_address(address) == (url, "")


@pytest.mark.parametrize(
    ("problem", "addresses"),
    [
        ("must begin with http:// or https://", "memory.example, http:memory.example, ftp://x"),
        (
            "contains a character that is invalid in an address",
            "http://x/a b, http://x/\x7f, http://x/ä",
        ),
        ("must not contain a name or a password", "http://ann@memory.example"),
        ("must not contain a #", "http://memory.example/#x, http://memory.example#x"),
        (
            "has no host, or an invalid port",
            "http://, http://:80, http://x:, http://x:0, http://x:65536, http://x:80a, "
            "http://mem(ory, http://[::1, http://[], http://[::g], http://[::1]8002",
        ),
    ],
)
def test_an_invalid_address_is_refused_with_its_problem(problem: str, addresses: str) -> None:
    for address in addresses.split(", "):
        url, told = ingest_address(address)
        assert url == "" and told.startswith(problem), address


@pytest.mark.parametrize(
    ("environ", "found", "complaint"),
    [
        ({}, ("", ""), ""),
        ({"A_KEY": "k"}, ("", ""), ""),
        ({"A_URL": " http://a/x ", "A_KEY": " k "}, ("http://a/x", "k"), ""),
        ({"A_URL": "http://a/x"}, ("http://a/x", ""), ""),
        ({"A_URL": "", "B_URL": "http://b/x", "B_KEY": "k"}, ("http://b/x", "k"), ""),
        ({"A_URL": "a", "B_URL": "http://b/x"}, ("", ""), "A_URL must begin"),
        ({"A_URL": "http://a/x", "A_KEY": "a b"}, ("", ""), "A_KEY contains a character"),
        ({"A_URL": "http://a/x", "A_KEY": "!~"}, ("http://a/x", "!~"), ""),
    ],
)
def test_the_first_pair_of_variables_with_an_address_counts(
    environ: dict[str, str], found: tuple[str, str], complaint: str
) -> None:
    complaints: list[str] = []

    assert read_address(environ, NAMES, complaints) == found
    assert [told.startswith(complaint) for told in complaints] == ([True] if complaint else [])
