"""The addresses on which the server listens."""

from __future__ import annotations

import socket

import pytest

from memory_fabric.errors import BadInput
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
