"""The addresses on which the server listens."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, CannotListen
from memory_fabric.servers.http import server


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]"])
def test_a_listening_socket_reports_tcp_as_its_protocol(host: str) -> None:
    """asyncio looks at the protocol of a socket before it turns that off."""
    with server.listening(host, 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("[::1]", True), ("0.0.0.0", False), ("::", False)],
)
def test_loopback_addresses_are_recognised(host: str, local: bool) -> None:
    assert server.address_of(host).is_loopback is local


@pytest.mark.parametrize("host", ["example.org", "", "127.0.0.1:80", "1.2.3"])
def test_listening_on_a_host_name_instead_of_an_ip_address_is_refused(host: str) -> None:
    with pytest.raises(BadInput, match="is not an IP address"):
        server.address_of(host)


def test_an_address_that_this_machine_does_not_have_is_refused_with_the_reason() -> None:
    with pytest.raises(CannotListen, match=r"Port 0 of 192\.0\.2\.1 cannot be had: "):
        server.listening("192.0.2.1", 0)


@pytest.mark.parametrize("workers", [-1, 33])
def test_a_server_cannot_have_fewer_than_no_or_more_than_32_workers(
    tmp_path: Path, workers: int
) -> None:
    settings = Settings(home=str(tmp_path), config_dir=str(tmp_path))

    with pytest.raises(BadInput, match="--workers must be from 1 to 32"):
        server.Server(settings, workers=workers)
    with pytest.raises(BadInput, match="--workers must be from 1 to 32"):
        server.TeamServer(settings, "", "app", workers=max(0, workers))
