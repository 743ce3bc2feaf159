"""One request to the receiver: what is sent along, and what its answer means."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from memory_fabric import __version__
from memory_fabric.config import Settings
from memory_fabric.forwarding import sender
from memory_fabric.forwarding.sender import Answer, over_network
from receiver import Receiver, Says

LOOPBACK = ipaddress.IPv4Address("127.0.0.1")
HERE = "http://127.0.0.1:9/v1/memory/ingest"
KEY = "-".join(("a", "plain", "key"))
BEFORE_2100_S = 4_102_444_800.0 - 90


def settings(home: Path, url: str = HERE, key: str = KEY) -> Settings:
    return Settings(str(home), str(home), forward_url=url, forward_key=key)


def test_the_body_is_sent_unchanged_with_the_api_key_and_the_idempotency_key(
    tmp_path: Path,
) -> None:
    with Receiver() as receiver:
        post = over_network(settings(tmp_path, receiver.url))
        answer = post('{"session_summary": "Grüße"}'.encode(), "key-1")

    assert answer.status == 202
    [request] = receiver.requests
    assert request.path == "/v1/memory/ingest"
    assert request.raw == '{"session_summary": "Grüße"}'.encode()
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["idempotency-key"] == "key-1"
    assert request.headers["content-type"].startswith("application/json")
    assert request.headers["user-agent"] == f"memory-fabric/{__version__}"


def test_the_authorization_header_is_omitted_without_an_api_key(tmp_path: Path) -> None:
    with Receiver() as receiver:
        over_network(settings(tmp_path, receiver.url, key=""))(b"{}", "k")

    assert "authorization" not in receiver.requests[0].headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(tmp_path: Path, status: int) -> None:
    with Receiver() as other, Receiver() as receiver:
        receiver.answers = [Says(status, (("Location", other.url),))]
        answer = over_network(settings(tmp_path, receiver.url))(b"{}", "k")

    assert answer.status == status and "redirect" in answer.message
    assert other.requests == []


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("1234567890", 123456789),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 90),
        ("Thu, 01 Jan 2099 00:00:00 GMT", 0),
        ("soon", 0),
        ("-5", 0),
        ("", 0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date_and_ignored_if_invalid(
    tmp_path: Path, stated: str, seconds: float
) -> None:
    with Receiver(Says(429, (("Retry-After", stated),))) as receiver:
        post = over_network(settings(tmp_path, receiver.url), lambda: BEFORE_2100_S)
        answer = post(b"{}", "k")

    assert answer.retry_after_s == seconds


MEANINGS = {
    302: ("redirects, which is not followed", "final address"),
    400: ("rejects the request", "docs/forwarding.md"),
    401: ("refuses the key", "MEMORY_FABRIC_FORWARD_KEY"),
    403: ("refuses the key", "MEMORY_FABRIC_FORWARD_KEY"),
    404: ("does not accept texts at this address", "MEMORY_FABRIC_FORWARD_URL"),
    405: ("does not accept POST", "MEMORY_FABRIC_FORWARD_URL"),
    407: ("proxy requires a login", "https_proxy"),
    409: ("another text with the same idempotency key", ""),
    413: ("rejects the text as too long", ""),
    418: ("The receiver failed", sender.LATER),
    422: ("rejects a field", "docs/forwarding.md"),
    429: ("limits the rate", sender.LATER),
    500: ("The receiver failed", sender.LATER),
    503: ("is not available now", sender.LATER),
}


def test_each_status_of_an_answer_has_its_own_message_and_remedy(tmp_path: Path) -> None:
    with Receiver(*(Says(status, body=b"odd\x07 text") for status in MEANINGS)) as receiver:
        post = over_network(settings(tmp_path, receiver.url))
        answers = {status: post(b"{}", "k") for status in MEANINGS}

    for status, (said, remedy) in MEANINGS.items():
        answer = answers[status]
        assert answer.status == status and said in answer.message
        assert answer.message.endswith(f" ({status}).")
        assert remedy in answer.remedy and bool(answer.remedy) == bool(remedy)
        assert answer.text == ("odd text" if status in (400, 409, 413, 422) else "")


@pytest.mark.parametrize(
    ("error", "said", "remedy"),
    [
        (socket.gaierror(-2, "unknown"), "The name receiver.example is not known.", "the network"),
        (ConnectionRefusedError(), "Nothing listens at receiver.example.", "Start the receiver"),
        (TimeoutError(), "receiver.example did not answer in time.", sender.LATER),
        (OSError("odd\nreason"), "could not be reached: odd reason.", sender.LATER),
        (OSError(), "could not be reached: OSError.", sender.LATER),
    ],
)
def test_an_unreachable_receiver_is_reported_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str, remedy: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    answer = over_network(settings(tmp_path, "http://receiver.example/in"))(b"{}", "k")

    assert answer.status == 0 and said in answer.message and remedy in answer.remedy


def test_a_very_long_response_is_truncated_and_redacted(tmp_path: Path) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6" * 3
    with Receiver(Says(422, body=f"{secret} is wrong ".encode() + b"x" * 5_000_000)) as receiver:
        answer = over_network(settings(tmp_path, receiver.url))(b"{}", "k")

    assert answer.status == 422
    assert len(answer.text) <= sender.MAX_ANSWER_CHARS and secret not in answer.text


def test_the_key_and_the_query_are_redacted_in_the_response_of_the_receiver(tmp_path: Path) -> None:
    with Receiver(Says(422, body=f"wrong: {KEY} for /in?to=us".encode())) as receiver:
        answer = over_network(settings(tmp_path, f"{receiver.url}?to=us"))(b"{}", "k")

    assert answer.text == "wrong: [redacted: key] for /in[redacted: key]"
    assert KEY not in spoken(tmp_path, f"{KEY}\r\n\r\n".encode()).message


def test_a_refused_connection_is_reported_with_a_remedy(tmp_path: Path) -> None:
    with Receiver() as receiver:
        url = receiver.url
    answer = over_network(settings(tmp_path, url))(b"{}", "k")

    assert answer.status == 0 and "Nothing listens at 127.0.0.1" in answer.message
    assert answer.remedy


def test_a_response_that_is_not_http_is_reported_as_an_unreachable_receiver(tmp_path: Path) -> None:
    answer = spoken(tmp_path, b"SSH-2.0-server\r\n\r\n")

    assert answer.status == 0 and "could not be reached" in answer.message


def test_a_request_fails_if_a_slow_receiver_exceeds_the_total_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "TOTAL_S", 0.5)

    answer = spoken(tmp_path, b"HTTP/1.1 200 OK\r\nX-Slow: ", drip=True)

    assert answer.status == 0 and "did not answer in time" in answer.message


def test_an_unknown_self_signed_certificate_is_not_trusted(tmp_path: Path) -> None:
    with Receiver() as receiver:
        url = encrypted(receiver, make_certificate(tmp_path))
        answer = over_network(settings(tmp_path, url))(b"{}", "k")

    assert answer.status == 0 and "certificate" in answer.message
    assert "SSL_CERT_FILE" in answer.remedy
    assert receiver.requests == []


def test_a_receiver_without_encryption_at_an_encrypted_address_is_reported(tmp_path: Path) -> None:
    with Receiver() as receiver:
        url = receiver.url.replace("http:", "https:")
        answer = over_network(settings(tmp_path, url))(b"{}", "k")

    assert answer.status == 0 and "failed to negotiate TLS" in answer.message
    assert "http or https" in answer.remedy and receiver.requests == []


def test_a_certificate_in_the_ssl_cert_file_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Receiver() as receiver:
        url = encrypted(receiver, certificate)
        answer = over_network(settings(tmp_path, url))(b"{}", "k")

    assert answer.status == 202, answer.message


def test_plain_http_never_goes_through_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Receiver() as proxy, Receiver() as receiver:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.origin)
        answer = over_network(settings(tmp_path, receiver.url))(b"{}", "k")

    assert answer.status == 202 and proxy.requests == []


def test_https_to_this_machine_never_goes_through_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Receiver() as proxy, Receiver() as receiver:
        monkeypatch.setenv("https_proxy", proxy.origin)
        url = encrypted(receiver, certificate)
        answer = over_network(settings(tmp_path, url))(b"{}", "k")

    assert answer.status == 202 and proxy.requests == []


def test_https_to_another_machine_is_tunnelled_through_the_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        thread = threading.Thread(target=answer_once, args=(proxy, b"", asked))
        thread.start()
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        over_network(settings(tmp_path, "https://receiver.example/v1/memory/ingest"))(b"{}", "k")
        thread.join()

    assert asked[0].startswith(b"CONNECT receiver.example:443 ")
    assert KEY.encode() not in asked[0]


def spoken(home: Path, words: bytes, *, drip: bool = False) -> Answer:
    """Return what the client makes of a receiver that says just this."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked: list[bytes] = []
        thread = threading.Thread(target=answer_once, args=(server, words, asked, drip))
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1/memory/ingest"
        try:
            return over_network(settings(home, url))(b"{}", "k")
        finally:
            thread.join()


def answer_once(
    server: socket.socket, words: bytes, asked: list[bytes], drip: bool = False
) -> None:
    connection, _ = server.accept()
    with connection:
        asked.append(connection.recv(65536))
        connection.sendall(words)
        pause = threading.Event()
        while drip and not pause.wait(0.05):
            try:
                connection.sendall(b"x")
            except OSError:
                return


def encrypted(receiver: Receiver, certificate: Path) -> str:
    """Let the receiver speak TLS; return its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    receiver.speak_tls(context)
    return receiver.url.replace("http:", "https:")


def make_certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(LOOPBACK)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    own = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path = folder / "certificate.pem"
    path.write_bytes(own + certificate.public_bytes(serialization.Encoding.PEM))
    return path
