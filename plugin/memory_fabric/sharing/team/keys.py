"""The key shared by one user's machines, which proves or encrypts the user's own operations.

A database's administrator can insert any row under any member's name. The user's operations are
therefore authenticated by an HMAC or encrypted by ChaCha20-Poly1305 (RFC 8439), with a key that the
server never receives: 32 random bytes in `team-key`, typed on other machines as 24 words (BIP 39).

Both methods also authenticate an operation's payload version, id, space, machine, kind, key, base
and clock. Its times and author are not authenticated, because the server sets them.
"""

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from memory_fabric import ids
from memory_fabric.errors import BadInput
from memory_fabric.sharing.replica.wire import SEALED, TeamOperation
from memory_fabric.store import files

NAME = "team-key"
KEY_BYTES, WORDS = 32, 24
NONCE_BYTES = 12
# The fields that are encrypted in a sealed operation.
INSIDE = ("kind", "key", "value")
# The key of an operation that announces that a machine has the user's secret: `machine:<id>`.
MACHINE = "machine:"
WORDS_REMEDY = (
    "Run memory-fabric team join DSN --me on the machine that has them: it prints the words."
)


class Key:
    """A user's secret key, and the keys derived from it for proofs, encryption and names."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._proof, self._seal, self._name = (
            hmac.digest(secret, f"memory-fabric team {use}".encode(), "sha256")
            for use in ("proof", "seal", "name")
        )

    @property
    def words(self) -> str:
        """Return the key as the 24 words that the user types on another machine."""
        return str(_mnemonic().to_mnemonic(self._secret))

    @property
    def mark(self) -> str:
        """Return a fingerprint of the secret, eight hex digits, by which messages identify it."""
        return hashlib.sha256(b"mark" + self._secret).hexdigest()[:8]

    def prove(self, operation: TeamOperation, space: str) -> TeamOperation:
        """Return the operation with an HMAC as proof that this user made it."""
        return operation._replace(proof=self._proof_of(operation, space))

    def seal(self, operation: TeamOperation, space: str) -> TeamOperation:
        """Return the operation encrypted. Its `key` field becomes an HMAC, because anyone could
        compute the plain digest of a guessed name.
        """
        inside = {name: getattr(operation, name) for name in INSIDE}
        key = self.sealed_key(operation.key)
        outer = operation._replace(kind=SEALED, key=key, value=None, proof="")
        nonce = os.urandom(NONCE_BYTES)
        hidden = self._cipher().encrypt(nonce, _canonical(inside), _place(outer, space))
        return outer._replace(sealed=base64.b64encode(nonce + hidden).decode())

    def hide(self, text: str, space: str) -> str:
        """Return a text encrypted for a space; only its length remains visible."""
        nonce = os.urandom(NONCE_BYTES)
        hidden = self._cipher().encrypt(nonce, text.encode(), _canonical(["line", space]))
        return base64.b64encode(nonce + hidden).decode()

    def shown(self, hidden: str, space: str) -> str | None:
        """Decrypt a text that `hide` encrypted with this key for this space; None if invalid."""
        from cryptography.exceptions import InvalidTag

        try:
            raw = base64.b64decode(hidden, validate=True)
            nonce, rest = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
            plain: bytes = self._cipher().decrypt(nonce, rest, _canonical(["line", space]))
            return plain.decode()
        except (InvalidTag, ValueError):
            return None

    def sealed_key(self, key: str) -> str:
        """Return the HMAC that replaces the `key` field of an operation when it is encrypted."""
        return f"s:{hmac.new(self._name, key.encode('utf-8', 'replace'), 'sha256').hexdigest()}"

    def verified(self, operation: TeamOperation, space: str) -> TeamOperation | None:
        """Return the operation, decrypted if sealed; None if this key does not authenticate it."""
        if operation.kind != SEALED:
            expected = self._proof_of(operation, space).encode()
            is_proved = hmac.compare_digest(expected, operation.proof.encode("utf-8", "replace"))
            return operation if is_proved else None
        from cryptography.exceptions import InvalidTag

        try:
            raw = base64.b64decode(operation.sealed, validate=True)
            nonce, hidden = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
            inside = json.loads(self._cipher().decrypt(nonce, hidden, _place(operation, space)))
            inner = operation._replace(**{name: inside[name] for name in INSIDE}, sealed="")
        except (InvalidTag, ValueError, KeyError, TypeError):
            return None
        return inner if operation.key == self.sealed_key(inner.key) else None

    def announcement(self, space: str, origin: str) -> TeamOperation:
        """Return an operation by which this machine announces that it has the key."""
        id_, key = ids.id_for(f"machine {space} {origin} {self.mark}"), MACHINE + origin
        value = {"mark": self.mark}
        plain = TeamOperation(id_, origin, SEALED, key, value, made_at=ids.timestamp())
        return self.seal(plain, space)._replace(key=plain.key)

    def fits(self, operation: TeamOperation, space: str) -> bool:
        """Return True if this key authenticates the operation, which may be an announcement."""
        if operation.key.startswith(MACHINE):
            operation = operation._replace(key=self.sealed_key(operation.key))
        return self.verified(operation, space) is not None

    def _proof_of(self, operation: TeamOperation, space: str) -> str:
        text = _place(operation, space) + b"\n" + _canonical(operation.value)
        return hmac.new(self._proof, text, "sha256").hexdigest()

    def _cipher(self) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        return ChaCha20Poly1305(self._seal)


def read(home: str) -> Key | None:
    """Return the key stored in this home, or None. Raises BadInput if the file is damaged."""
    path = os.path.join(home, NAME)
    text = files.read_text(path)
    if text is None:
        return None
    try:
        secret = bytes.fromhex(text.strip())
    except ValueError:
        secret = b""
    if len(secret) != KEY_BYTES:
        text = f"{path} holds no key of {KEY_BYTES} bytes."
        remedy = f"Move it away and give the words of your other machine. {WORDS_REMEDY}"
        raise BadInput(NAME, text, remedy=remedy)
    return Key(secret)


def create(home: str, secret: bytes | None = None) -> Key:
    """Return this home's key; if missing, create it from `secret` or at random. Raises OSError."""
    path = os.path.join(home, NAME)
    with files.Locked(path + ".lock"):
        key = read(home)
        if key is None:
            key = Key(secret or os.urandom(KEY_BYTES))
            files.write_atomic(path, key._secret.hex().encode() + b"\n")
        return key


def take(home: str, words: str) -> Key:
    """Store the key that these words encode. Raises OSError; BadInput if another key is stored."""
    stated = Key(secret_of(words))
    key = create(home, stated._secret)
    if key.mark != stated.mark:
        text = f"This machine has another key ({key.mark}) than these words (mark {stated.mark})."
        remedy = "Give the words of the key that all your machines shall have; to replace the one "
        remedy += f"here, move {os.path.join(home, NAME)} away first."
        raise BadInput("--words", text, remedy=remedy)
    return key


def agreed(
    home: str, words: Callable[[], str], fits: Callable[[Key], bool] | None, command: str
) -> Key:
    """Return this home's key. If it has none: on the user's first machine (`fits` is None), create
    one. On other machines, ask for its words with `words` and store it; `command` printed the words
    on the first machine. Raises OSError; BadInput if `fits` rejects the key, because the other
    machines use another one.
    """
    key, stated = read(home), ""
    if key is None and fits is None:
        return create(home)
    if key is None:
        stated = words()
        key = Key(secret_of(stated))
    if fits is not None and not fits(key):
        text = f"This key (mark {key.mark}) is not the one of your other machines."
        remedy = f"Give the words that memory-fabric {command} printed on the first of them; a "
        remedy += f"file {NAME} in the home of this machine has to be moved away first."
        raise BadInput("--words", text, remedy=remedy)
    return take(home, stated) if stated else key


def secret_of(words: str) -> bytes:
    """Return the 32 bytes that 24 words encode. Raises BadInput, which names an unknown word."""
    stated = words.lower().split()
    mnemonic = _mnemonic()
    unknown = [word for word in stated if word not in mnemonic.wordlist]
    if unknown:
        text = f"The word {unknown[0]!r} (number {stated.index(unknown[0]) + 1}) is in no key."
        raise BadInput("--words", text, remedy=f"Check its spelling. {WORDS_REMEDY}")
    if len(stated) != WORDS:
        text = f"A key has {WORDS} words, these are {len(stated)}."
        raise BadInput("--words", text, remedy=WORDS_REMEDY)
    try:
        return bytes(mnemonic.to_entropy(stated))
    except ValueError:
        text = "These words are no key: by their checksum, one is wrong or two are swapped."
        raise BadInput("--words", text, remedy=f"Compare them one by one. {WORDS_REMEDY}") from None


def _place(operation: TeamOperation, space: str) -> bytes:
    """Encode the space and the fields that are authenticated with a value (key, base, clock …)."""
    o = operation
    return _canonical([o.form, o.op_id, space, o.origin, o.kind, o.key, list(o.base), o.clock])


def _canonical(value: object) -> bytes:
    """Encode a JSON value such that PostgreSQL's jsonb does not change the result."""
    return json.dumps(_numbers_fixed(value), sort_keys=True, separators=(",", ":")).encode()


def _numbers_fixed(value: object) -> object:
    """Convert floats without a fraction to integers, because jsonb may turn 1e2 into 100."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _numbers_fixed(part) for key, part in value.items()}
    return [_numbers_fixed(part) for part in value] if isinstance(value, list | tuple) else value


def _mnemonic() -> Any:
    from mnemonic import Mnemonic

    return Mnemonic("english")
