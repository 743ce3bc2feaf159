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
        ("http://a-b_c.1", f"http://a-b_c.1{PATH}"),
    ],
)
def test_an_address_without_a_path_gets_that_of_the_protocol(address: str, url: str) -> None:
    assert ingest_address(address) == (url, "")


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("memory.example", "must begin with http:// or https://"),
        ("http:memory.example", "must begin with http:// or https://"),
        ("ftp://memory.example", "must begin with http:// or https://"),
        ("http://memory.example/a b", "contains a character that is invalid in an address"),
        ("http://memory.example/ä", "contains a character that is invalid in an address"),
        ("http://ann@memory.example", "must not contain a name or a password"),
        ("http://memory.example/#x", "must not contain a #"),
        ("http://memory.example#x", "must not contain a #"),
        ("http://", "has no host, or an invalid port"),
        ("http://:80", "has no host, or an invalid port"),
        ("http://memory.example:", "has no host, or an invalid port"),
        ("http://memory.example:0", "has no host, or an invalid port"),
        ("http://memory.example:65536", "has no host, or an invalid port"),
        ("http://memory.example:80a", "has no host, or an invalid port"),
        ("http://mem(ory", "has no host, or an invalid port"),
        ("http://[::1", "has no host, or an invalid port"),
        ("http://[]", "has no host, or an invalid port"),
        ("http://[::g]", "has no host, or an invalid port"),
        ("http://[::1]8002", "has no host, or an invalid port"),
    ],
)
def test_an_invalid_address_is_refused_with_its_problem(address: str, problem: str) -> None:
    url, told = ingest_address(address)

    assert url == "" and told.startswith(problem)


def test_an_at_sign_after_the_host_is_part_of_the_path() -> None:
    assert ingest_address("http://memory.example/@ann") == ("http://memory.example/@ann", "")


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
