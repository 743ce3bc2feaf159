"""The keys of the server: the key of this run, single-use keys, and permanent keys."""

import sys
import time
from collections.abc import Callable
from hmac import compare_digest, digest
from secrets import token_bytes, token_urlsafe

from memory_fabric.errors import FabricError
from memory_fabric.servers.http import kept_keys
from memory_fabric.servers.http.kept_keys import KeptKey

KEY_BYTES = 32
# The delay until a new or dropped key counts; each check reads the disk.
LOOK_EVERY_S = 1.0
# The holder of a request without a key, and of one with the key of this run.
NOBODY, START = "", "start"


class Keys:
    """The key of this run, single-use keys, and the permanent keys in `home` as they are now.

    A browser is opened with a single-use key, since other users can read it in the list of
    processes. With `strict`, or once a permanent key was seen, ingest needs a key until the end:
    dropping the last one must not open it to all. Raises StoreUnavailable if the file of keys
    cannot be read.
    """

    def __init__(
        self, home: str, *, strict: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.lasting = token_urlsafe(KEY_BYTES)
        self._secret = token_bytes(KEY_BYTES)
        self._once: list[str] = []
        self._home, self._clock, self._strict = home, clock, strict
        self._stamp = kept_keys.stamp(home)
        self._know(kept_keys.kept(home))
        self._looked_at = clock()

    def once(self) -> str:
        """Return a new single-use key."""
        self._once.append(token_urlsafe(KEY_BYTES))
        return self._once[-1]

    @property
    def are_needed(self) -> bool:
        """True if ingest requests must carry an API key."""
        self._look()
        self._strict = self._strict or bool(self._kept)
        return self._strict

    @property
    def has_kept(self) -> bool:
        """True if there is a permanent key."""
        self._look()
        return bool(self._kept)

    def holder(self, given: str) -> str:
        """Return the name of the key; NOBODY if it is not valid.

        It is compared with every key in constant time: how long that takes tells nothing of them.
        """
        self._look()
        hashed = kept_keys.digest_of(given)
        found = NOBODY
        for one in self._kept:
            if compare_digest(one.digest, hashed):
                found = one.digest
        if _same(given, self.lasting):
            found = START
        return found

    def opener(self, given: str) -> str:
        """Like `holder`, also for a key that opens once and now has: it stands for the start's."""
        used = [key for key in self._once if _same(given, key)]
        self._once = [key for key in self._once if key not in used]
        return START if used else self.holder(given)

    def cookie(self, holder: str) -> str:
        """Return a browser cookie for this holder, valid as long as the key and this server; it is
        not a key itself.
        """
        return self._cookies[holder]

    def holder_by_cookie(self, given: str) -> str:
        """Return the holder of a cookie, in constant time like `holder`; NOBODY if invalid."""
        self._look()
        found = NOBODY
        for one, cookie in self._cookies.items():
            if _same(given, cookie):
                found = one
        return found

    def is_good(self, holder: str) -> bool:
        """Return True unless the holder's key was deleted meanwhile."""
        self._look()
        return holder == NOBODY or holder in self._cookies

    def _know(self, kept: tuple[KeptKey, ...]) -> None:
        self._kept = kept
        holders = (START, *(one.digest for one in kept))
        self._cookies = {
            one: digest(self._secret, one.encode("utf-8", "replace"), "sha256").hex()
            for one in holders
        }

    def _look(self) -> None:
        """Follow the file of kept keys; one that cannot be read leaves what was known."""
        now = self._clock()
        if now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        stamp = kept_keys.stamp(self._home)
        if stamp == self._stamp:
            return
        try:
            kept = kept_keys.kept(self._home)
        except FabricError as error:
            print(f"memory-fabric: {error}", file=sys.stderr)  # noqa: T201
        else:
            self._strict = self._strict or bool(self._kept)
            self._know(kept)
        self._stamp = stamp


def _same(given: str, key: str) -> bool:
    return compare_digest(given.encode(), key.encode())
