"""Encryption to a real server: required, missing, and with a certificate that nobody signed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from memory_fabric.sharing.server.connect import connect
from memory_fabric.sharing.team.errors import BadAddress
from team.postgres import ANN, SUPERUSER, Cluster

WORD = "-".join(("open", "sesame", "three"))


@pytest.fixture
def own_certificate(postgres: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Switch encryption on in the server; yield its certificate, which it signed itself."""
    certificate = Path(postgres.data_folder, "server.crt")
    key = Path(postgres.data_folder, "server.key")
    made, made_key = self_signed("db.example")
    certificate.write_bytes(made)
    key.write_bytes(made_key)
    for path in (certificate, key):
        if postgres.account:
            os.chown(path, postgres.account.pw_uid, postgres.account.pw_gid)
        path.chmod(0o600)
    with closing(postgres.connect(SUPERUSER)) as superuser:
        superuser.execute(f"ALTER ROLE {ANN} PASSWORD '{WORD}'".encode())
    switch_encryption(postgres, "on")
    monkeypatch.setenv("PGPASSWORD", WORD)
    yield certificate
    switch_encryption(postgres, "off")


def switch_encryption(postgres: Cluster, wanted: str) -> None:
    """Switch encryption on or off, and wait until new connections have it so."""
    with closing(postgres.connect(SUPERUSER)) as superuser:
        superuser.execute(f"ALTER SYSTEM SET ssl = {wanted}".encode())
        superuser.execute("SELECT pg_reload_conf()")
    now = ""
    while now != wanted:
        with closing(postgres.connect(SUPERUSER)) as superuser:
            now = str((superuser.execute("SHOW ssl").fetchone() or [""])[0])


def self_signed(host: str) -> tuple[bytes, bytes]:
    """Return a certificate for a host, and its key, both PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return certificate.public_bytes(pem), key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_a_server_without_encryption_is_refused_if_encryption_is_required(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", WORD)

    with pytest.raises(BadAddress, match="offers no encryption") as refused:
        connect(postgres.tcp_dsn(ANN) + " sslmode=require")

    assert "--insecure" in refused.value.remedy


def test_the_connection_is_encrypted_if_encryption_is_required(
    postgres: Cluster, own_certificate: Path
) -> None:
    with closing(connect(postgres.tcp_dsn(ANN) + " sslmode=require")) as connection:
        assert connection.pgconn.ssl_in_use


def test_the_servers_certificate_is_verified_if_the_address_requests_it(
    postgres: Cluster, own_certificate: Path, tmp_path: Path
) -> None:
    root = tmp_path / "root.crt"
    root.write_bytes(self_signed("another.example")[0])
    asked = f"{postgres.tcp_dsn(ANN)} sslmode=verify-ca sslrootcert="

    with pytest.raises(BadAddress, match="not trusted") as refused:
        connect(f"{asked}{root}")
    with pytest.raises(BadAddress, match="not trusted"):
        connect(f"{asked}{tmp_path}/missing.crt")
    root.write_bytes(own_certificate.read_bytes())
    with closing(connect(f"{asked}{root}")) as connection:
        assert connection.pgconn.ssl_in_use
    with pytest.raises(BadAddress, match="not trusted"):
        connect(f"{asked}{root}".replace("verify-ca", "verify-full"))

    assert "root.crt" in refused.value.remedy
