"""The socket of the server: an address, or a Unix socket that only its owner can use."""

import errno
import ipaddress
import os
import socket
import stat

from memory_fabric.errors import BadInput, CannotListen

LOCALHOST = "127.0.0.1"
WAITING = 256
# A local socket accepts at once or not at all.
KNOCK_S = 1.0


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach the address. Raises BadInput if invalid."""
    return _address(host).is_loopback


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens on an address. Raises BadInput, CannotListen."""
    address = str(_address(host))
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # Named as TCP: else asyncio lets the second part of an answer wait for the first one's receipt.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror}"
        raise CannotListen(
            f"Port {port} of {address} {why}.", remedy="Say --port 0 for any that is free."
        ) from error
    return listener


class SocketFile:
    """A Unix socket that listens; `close` removes its file, if that is still ours.

    A socket that nobody answers on is replaced. Raises CannotListen for one where somebody does,
    and for any other file in its place.
    """

    def __init__(self, path: str) -> None:
        if not hasattr(socket, "AF_UNIX"):
            raise CannotListen(
                "This system has no Unix sockets for Python.", remedy="Name a --port instead."
            )
        self.path = os.path.abspath(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._make_room()
            self._bind()
            self.socket.listen(WAITING)
            self._file: tuple[int, int] | None = _identity(self.path)
        except OSError as error:
            self.socket.close()
            # A path of more than a hundred bytes is no OSError with a number.
            why = error.strerror or str(error)
            raise CannotListen(f"{self.path} cannot be listened on: {why}.") from error
        except BaseException:
            self.socket.close()
            raise

    def close(self) -> None:
        """Remove the file, but only once: later it may be another server's."""
        if self._file is not None and _identity(self.path) == self._file:
            os.unlink(self.path)
        self._file = None

    def _bind(self) -> None:
        # From its first moment it is for its owner only.
        before = os.umask(0o177)
        try:
            self.socket.bind(self.path)
        finally:
            os.umask(before)

    def _make_room(self) -> None:
        try:
            mode = os.lstat(self.path).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(mode):
            raise CannotListen(
                f"{self.path} exists and is not a socket.",
                remedy="Name another path with --socket.",
            )
        if _answers(self.path):
            raise CannotListen(
                f"Another server listens on {self.path}.",
                remedy="End it, or name another path with --socket.",
            )
        os.unlink(self.path)


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        knocking.settimeout(KNOCK_S)
        try:
            knocking.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # the socket's server is busy, or another user's
    return True


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address(LOCALHOST if host.lower() == "localhost" else host.strip("[]"))
    except ValueError as error:
        raise BadInput(
            "--host",
            f"{host} is not an IP address.",
            remedy="127.0.0.1, ::1 and localhost are of this machine alone; "
            "names are for --allow-host.",
        ) from error
