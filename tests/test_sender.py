"""The sender: each item arrives, whatever the receiver, the network or a kill does meanwhile."""

from __future__ import annotations

import ipaddress
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from memory_fabric import __version__, sender
from memory_fabric.config import Settings
from memory_fabric.forwarding import ENTRY
from memory_fabric.sender import Answer, delay_after, deliver, over_network, send_now
from memory_fabric.store import files, spool, switches
from receiver import Receiver, Says

LOOPBACK = ipaddress.IPv4Address("127.0.0.1")
NOW_S = 1_800_000_000.0
HERE, THERE = "http://127.0.0.1:9/v1/memory/ingest", "http://127.0.0.1:8/v1/memory/ingest"
KEY = "-".join(("a", "plain", "key"))
PLUGIN = Path(__file__).parents[1] / "plugin"
DOWN = Answer(0, "Nothing listens at 127.0.0.1:9.", "Start the receiver.")


class Time(sender.Clock):
    """A clock that moves only where somebody waits."""

    def __init__(self) -> None:
        self.at, self.waited = NOW_S, list[float]()

    def now(self) -> float:
        return self.at

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.at += seconds

    def chance(self) -> float:
        return 1.0


class Post:
    """A receiver without a network: what came, and what is answered by the time of asking."""

    def __init__(self, answer: Callable[[dict[str, Any]], Answer] = lambda body: Answer(202)):
        self.answer, self.keys, self.asked = answer, list[str](), 0

    def __call__(self, body: bytes, key: str) -> Answer:
        self.asked += 1
        answer = self.answer(json.loads(body))
        if answer.status == 202:
            self.keys.append(key)
        return answer


def settings(home: Path, url: str = HERE, key: str = KEY) -> Settings:
    return Settings(str(home), str(home), forward_url=url, forward_key=key)


def put(home: Path, *keys: str, to: str = HERE, place: str = "", at_s: float = NOW_S) -> None:
    for number, key in enumerate(keys):
        body = {"session_summary": f"text of {key}", "idempotency_key": key}
        assert spool.add(str(home), to, place, body, at_s + number / 1000)


def left(home: Path) -> list[str]:
    return [item.key for item in spool.waiting(str(home))]


def backlog(home: Path, url: str = HERE) -> spool.Backlog:
    return spool.backlog(str(home), url)


class TestDelivering:
    def test_everything_arrives_once_in_order_and_nothing_is_left(self, tmp_path: Path) -> None:
        put(tmp_path, "a", "b", "c")
        post = Post()

        deliver(settings(tmp_path), post, Time())

        assert post.keys == ["a", "b", "c"] and left(tmp_path) == []
        assert backlog(tmp_path).last_success == "2027-01-15T08:00:00.000Z"

    def test_a_receiver_that_is_down_for_an_hour_loses_nothing(self, tmp_path: Path) -> None:
        clock = Time()
        up_s = NOW_S + 3600
        post = Post(lambda body: Answer(202) if clock.at >= up_s else DOWN)
        kept: list[str] = []
        while clock.at < up_s + 1800:  # a turn ends every two minutes
            kept.append(f"turn{len(kept)}")
            put(tmp_path, kept[-1], at_s=clock.at)
            if spool.is_due(str(tmp_path), HERE, clock.at):
                deliver(settings(tmp_path), post, clock)
            clock.at += 120

        assert post.keys == kept
        assert left(tmp_path) == []
        assert post.asked - len(kept) < 20  # it was not pestered meanwhile
        assert max(clock.waited) <= sender.PATIENCE_S

    @pytest.mark.parametrize("status", [301, 302, 307, 401, 403, 404, 405, 408, 429, 500, 503, 0])
    def test_what_may_pass_leaves_the_item_where_it_is(self, tmp_path: Path, status: int) -> None:
        put(tmp_path, "a")

        deliver(settings(tmp_path), Post(lambda body: Answer(status, "No.", "Do so.")), Time())

        assert left(tmp_path) == ["a"] and spool.rejected(str(tmp_path)) == []
        found = backlog(tmp_path)
        assert (found.last_error, found.remedy) == ("No.", "Do so.")
        assert found.error_at and found.next_at > found.error_at

    @pytest.mark.parametrize("status", [400, 409, 413, 422])
    def test_what_is_refused_for_good_lies_aside_and_the_rest_goes_on(
        self, tmp_path: Path, status: int
    ) -> None:
        put(tmp_path, "a", "b")

        def answer(body: dict[str, Any]) -> Answer:
            return Answer(202 if body["idempotency_key"] == "b" else status, "No.", text="why")

        deliver(settings(tmp_path), Post(answer), Time())

        assert left(tmp_path) == []
        [aside] = spool.rejected(str(tmp_path))
        kept = spool.read(aside)
        assert aside.key == "a" and kept["body"]["session_summary"] == "text of a"
        assert (kept["answer"]["status"], kept["answer"]["text"]) == (status, "why")

    def test_one_item_that_the_receiver_stumbles_over_does_not_hold_up_the_others(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, "bad", "b", "c")

        def answer(body: dict[str, Any]) -> Answer:
            return Answer(500 if body["idempotency_key"] == "bad" else 202, "It failed (500).")

        post = Post(answer)
        deliver(settings(tmp_path), post, Time())

        assert post.keys == ["b", "c"] and left(tmp_path) == ["bad"]

    def test_a_receiver_that_is_down_is_asked_once_a_round(self, tmp_path: Path) -> None:
        put(tmp_path, *"abcdefgh")
        post = Post(lambda body: DOWN)

        send_now(settings(tmp_path), post, Time())

        assert post.asked == 1

    def test_delays_grow_to_a_limit_by_chance_and_never_undercut_the_receiver(
        self,
    ) -> None:
        grown = [delay_after(n, 0, 1.0) for n in range(1, 12)]

        assert grown[:4] == [2, 4, 8, 16] and grown[-1] == sender.LAST_DELAY_S
        assert delay_after(3, 0, 0.0) == 4
        assert delay_after(1, 77, 0.0) == 77
        assert delay_after(1, 1e9, 1.0) == spool.MAX_WAIT_S
        assert delay_after(10_000, 0, 1.0) == sender.LAST_DELAY_S

    def test_it_ends_when_the_next_try_is_far_off(self, tmp_path: Path) -> None:
        put(tmp_path, "a")
        clock = Time()

        deliver(settings(tmp_path), Post(lambda body: Answer(429, retry_after_s=300)), clock)

        assert clock.waited == []
        assert not spool.is_due(str(tmp_path), HERE, NOW_S + 299)
        assert spool.is_due(str(tmp_path), HERE, NOW_S + 300)

    def test_it_ends_though_the_receiver_fails_in_turns_for_ever(self, tmp_path: Path) -> None:
        put(tmp_path, *(f"k{n}" for n in range(400)))
        clock, turns = Time(), iter(range(10_000))
        post = Post(lambda body: Answer(202) if next(turns) % 2 else DOWN)

        deliver(settings(tmp_path), post, clock)

        assert clock.at - NOW_S <= sender.LIFE_S
        assert 0 < len(left(tmp_path)) < 400

    def test_what_comes_while_it_sends_is_sent_too(self, tmp_path: Path) -> None:
        put(tmp_path, "a")

        def answer(body: dict[str, Any]) -> Answer:
            if body["idempotency_key"] == "a":
                put(tmp_path, "b", at_s=NOW_S + 1)
            return Answer(202)

        post = Post(answer)
        deliver(settings(tmp_path), post, Time())

        assert post.keys == ["a", "b"]

    def test_an_item_for_another_receiver_stays(self, tmp_path: Path) -> None:
        put(tmp_path, "theirs", to=THERE)
        put(tmp_path, "ours", at_s=NOW_S + 1)
        post = Post()

        deliver(settings(tmp_path), post, Time())

        assert post.keys == ["ours"] and left(tmp_path) == ["theirs"]

    @pytest.mark.parametrize("place", ["shop-1", switches.EVERYWHERE])
    def test_what_was_switched_off_meanwhile_is_not_sent_until_it_is_on_again(
        self, tmp_path: Path, place: str
    ) -> None:
        put(tmp_path, "a", place="shop-1")
        switches.turn(str(tmp_path), place, ["write"], on=False)
        post = Post()

        deliver(settings(tmp_path), post, Time())
        assert post.asked == 0 and left(tmp_path) == ["a"]

        switches.turn(str(tmp_path), place, ["write"], on=True)
        deliver(settings(tmp_path), post, Time())
        assert post.keys == ["a"]

    def test_a_damaged_item_is_set_aside_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        put(tmp_path, "a", "b")
        Path(spool.waiting(str(tmp_path))[0].path).write_text("{half", "utf-8")
        post = Post()

        deliver(settings(tmp_path), post, Time())

        assert post.keys == ["b"] and left(tmp_path) == []
        assert len(spool.rejected(str(tmp_path))) == 1

    def test_another_sender_at_work_is_left_alone(self, tmp_path: Path) -> None:
        put(tmp_path, "a")
        post = Post()

        with files.Locked(str(tmp_path / "forward" / sender.LOCK)):
            deliver(settings(tmp_path), post, Time())

        assert post.asked == 0

    def test_a_home_that_goes_while_it_sends_does_not_come_back(self, tmp_path: Path) -> None:
        home = tmp_path / "home"
        put(home, "a")

        def answer(body: dict[str, Any]) -> Answer:
            shutil.rmtree(home)
            return DOWN

        deliver(settings(home), Post(answer), Time())

        assert not home.exists()


class TestOverTheNetwork:
    def test_the_body_goes_as_it_lies_with_key_and_idempotency_key(self, tmp_path: Path) -> None:
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

    def test_without_a_key_none_is_sent(self, tmp_path: Path) -> None:
        with Receiver() as receiver:
            over_network(settings(tmp_path, receiver.url, key=""))(b"{}", "k")

        assert "authorization" not in receiver.requests[0].headers

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_a_redirect_is_not_followed(self, tmp_path: Path, status: int) -> None:
        with Receiver() as other, Receiver() as receiver:
            receiver.answers = [Says(status, (("Location", other.url),))]
            answer = over_network(settings(tmp_path, receiver.url))(b"{}", "k")

        assert answer.status == status and "redirect" in answer.told
        assert other.requests == []

    @pytest.mark.parametrize(
        ("stated", "seconds"),
        [("120", 120), ("Fri, 01 Jan 2100 00:00:00 GMT", 7e8), ("soon", 0), ("-5", 0), ("", 0)],
    )
    def test_the_receiver_says_when_to_come_again(
        self, tmp_path: Path, stated: str, seconds: float
    ) -> None:
        with Receiver(Says(429, (("Retry-After", stated),))) as receiver:
            answer = over_network(settings(tmp_path, receiver.url))(b"{}", "k")

        assert answer.retry_after_s == seconds or answer.retry_after_s > seconds > 120

    def test_an_answer_without_end_is_read_in_part_and_redacted(self, tmp_path: Path) -> None:
        secret = "ghp_" + "A1b2C3d4E5f6" * 3
        with Receiver(
            Says(422, body=f"{secret} is wrong ".encode() + b"x" * 5_000_000)
        ) as receiver:
            answer = over_network(settings(tmp_path, receiver.url))(b"{}", "k")

        assert answer.status == 422
        assert len(answer.text) <= sender.MAX_ANSWER_CHARS and secret not in answer.text

    def test_nobody_listening_is_said_so(self, tmp_path: Path) -> None:
        with Receiver() as receiver:
            url = receiver.url
        answer = over_network(settings(tmp_path, url))(b"{}", "k")

        assert answer.status == 0 and "Nothing listens at 127.0.0.1" in answer.told
        assert answer.remedy

    def test_an_answer_that_is_no_http_is_no_success(self, tmp_path: Path) -> None:
        answer = spoken(tmp_path, b"SSH-2.0-server\r\n\r\n")

        assert answer.status == 0 and "could not be reached" in answer.told

    def test_a_receiver_that_drips_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sender, "TOTAL_S", 0.5)

        answer = spoken(tmp_path, b"HTTP/1.1 200 OK\r\nX-Slow: ", drip=True)

        assert answer.status == 0 and "did not answer in time" in answer.told

    def test_a_certificate_that_nobody_signed_is_not_trusted(self, tmp_path: Path) -> None:
        certificate = make_certificate(tmp_path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        with Receiver() as receiver:
            receiver.speak_tls(context)
            url = receiver.url.replace("http:", "https:")
            answer = over_network(settings(tmp_path, url))(b"{}", "k")

        assert answer.status == 0 and "certificate" in answer.told
        assert "SSL_CERT_FILE" in answer.remedy
        assert receiver.requests == []

    def test_a_signed_certificate_is_enough(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        certificate = make_certificate(tmp_path)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        with Receiver() as receiver:
            receiver.speak_tls(context)
            url = receiver.url.replace("http:", "https:")
            answer = over_network(settings(tmp_path, url))(b"{}", "k")

        assert answer.status == 202, answer.told

    def test_plain_http_never_goes_through_a_proxy(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Receiver() as proxy, Receiver() as receiver:
            for name in ("http_proxy", "https_proxy", "all_proxy"):
                monkeypatch.setenv(name, proxy.origin)
            answer = over_network(settings(tmp_path, receiver.url))(b"{}", "k")

        assert answer.status == 202 and proxy.requests == []

    def test_https_to_another_machine_goes_through_the_proxy_as_a_tunnel(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[bytes] = []
        with socket.create_server(("127.0.0.1", 0)) as proxy:
            thread = threading.Thread(target=answer_once, args=(proxy, b"", asked))
            thread.start()
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
            over_network(settings(tmp_path, "https://receiver.example/v1/memory/ingest"))(
                b"{}", "k"
            )
            thread.join()

        assert asked[0].startswith(b"CONNECT receiver.example:443 ")
        assert KEY.encode() not in asked[0]


class TestAsAProcess:
    def test_it_sends_what_waits_and_ends(self, tmp_path: Path) -> None:
        with Receiver() as receiver:
            put(tmp_path, "a", "b", to=receiver.url)
            assert start(tmp_path, receiver).wait(60) == 0

        assert [r.key for r in receiver.requests] == ["a", "b"]
        assert left(tmp_path) == []

    def test_two_at_once_send_each_item_once(self, tmp_path: Path) -> None:
        keys = [f"k{number:02}" for number in range(40)]
        with Receiver() as receiver:
            put(tmp_path, *keys, to=receiver.url)
            for process in [start(tmp_path, receiver) for _ in range(4)]:
                assert process.wait(60) == 0

        assert [r.key for r in receiver.requests] == keys
        assert left(tmp_path) == []

    def test_killed_while_the_receiver_answers_it_sends_again_under_the_same_key(
        self, tmp_path: Path
    ) -> None:
        with Receiver() as receiver:
            put(tmp_path, "a", to=receiver.url)
            started: list[subprocess.Popen[bytes]] = []
            receiver.answers = [Says(before=lambda: started[0].kill())]
            started.append(start(tmp_path, receiver))
            assert started[0].wait(60) == -signal.SIGKILL
            assert left(tmp_path) == ["a"]
            assert start(tmp_path, receiver).wait(60) == 0

        assert [r.key for r in receiver.requests] == ["a", "a"]
        assert left(tmp_path) == []

    def test_killed_at_any_step_nothing_is_lost(self, tmp_path: Path) -> None:
        """Each step that touches a file, a lock or the network is the last one once."""
        step, survived = 0, False
        with Receiver() as receiver:
            while not survived:
                step += 1
                assert step < 200
                home = tmp_path / f"home{step}"
                put(home, f"a{step}", f"b{step}", to=receiver.url)
                survived = start(home, receiver, die_at=step).wait(60) == 0
                assert start(home, receiver).wait(60) == 0
                assert left(home) == [] and spool.rejected(str(home)) == []
                arrived = [r.key for r in receiver.requests if r.key.endswith(f"{step}")]
                assert {f"a{step}", f"b{step}"} <= set(arrived)

        assert step > 10

    @pytest.mark.parametrize("variables", [{"CI": "true"}, {"MEMORY_FABRIC": "off"}])
    def test_switched_off_it_sends_nothing(self, tmp_path: Path, variables: dict[str, str]) -> None:
        with Receiver() as receiver:
            put(tmp_path, "a", to=receiver.url)
            assert start(tmp_path, receiver, variables=variables).wait(60) == 0

        assert receiver.requests == [] and left(tmp_path) == ["a"]


# The process dies, as by kill -9, at the n-th of these events.
DYING = """
import os, sys
seen, die_at = 0, int(os.environ["DIE_AT"])
STEPS = ("open", "os.rename", "os.remove", "os.listdir", "fcntl.flock", "socket.connect")
def watch(event, arguments):
    global seen
    named = event != "open" or "forward" in str(arguments[0])
    if event in STEPS and named:
        seen += 1
        if seen == die_at:
            os.kill(os.getpid(), 9)
sys.addaudithook(watch)
"""


def start(
    home: Path, receiver: Receiver, *, die_at: int = 0, variables: Mapping[str, str] = {}
) -> subprocess.Popen[bytes]:
    """The sender, as a hook starts it."""
    environ = {
        "HOME": str(home),
        "MEMORY_FABRIC_HOME": str(home),
        "MEMORY_FABRIC_FORWARD_URL": receiver.url,
        "DIE_AT": str(die_at),
        **variables,
    }
    entry = DYING + ENTRY.replace("; ", "\n") if die_at else ENTRY
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", entry, str(PLUGIN)], env=environ)


def spoken(home: Path, words: bytes, *, drip: bool = False) -> Answer:
    """What is made of a receiver that says just this."""
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
