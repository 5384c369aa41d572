"""Real identity providers on loopback, run by Node: oidc-provider and samlp."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from accounts.models import Account
from accounts.sso.models import EmailDomain, IdentityProvider
from accounts.sso.secrets import seal_client_secret
from finops.lib import clock
from tests.conformance.node import NODE
from tests.servers import free_port

ROOT: Final = Path(__file__).resolve().parents[3]
HERE: Final = Path(__file__).resolve().parent
REDIRECT_URI: Final = "http://127.0.0.1:8000/auth/sso/callback/"
CLIENT_SECRET: Final = "client-secret-of-tests"


class Server:
    """A provider that runs. `certificate` is of SAML."""

    def __init__(self, url: str, certificate: str = "") -> None:
        self.url, self.certificate = url, certificate

    def set_next_sign_in(self, person: dict[str, Any], **wrong: Any) -> None:
        """Who signs in next, and what of the answer is wrong."""
        httpx.post(f"{self.url}/control", json={"person": person, "wrong": wrong}).raise_for_status()

    def sign(self, claims: dict[str, Any], by: str = "provider", **header: Any) -> str:
        """An identity assertion (ID-JAG), signed with the provider's key unless `by` says otherwise."""
        answer = httpx.post(f"{self.url}/sign", json={"claims": claims, "by": by, "header": header})
        return answer.raise_for_status().text


@contextmanager
def _node(script: str, *arguments: str) -> Iterator[None]:
    process = subprocess.Popen(
        [NODE, "--no-deprecation", HERE / script, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def oidc_server(redirect_uri: str = REDIRECT_URI) -> Iterator[Server]:
    port = free_port()
    with _node("oidc_server.js", str(port), redirect_uri):
        yield Server(f"http://127.0.0.1:{port}")


@contextmanager
def saml_server(folder: Path) -> Iterator[Server]:
    port = free_port()
    certificate = write_certificate(folder, "saml")
    with _node("saml_server.cjs", str(port), str(folder / "saml.key"), str(folder / "saml.crt")):
        yield Server(f"http://127.0.0.1:{port}", certificate)


def write_certificate(folder: Path, name: str, days: int = 30) -> str:
    """`name`.key and `name`.crt in the folder; the certificate, PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=60))
        .not_valid_after(now + timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (folder / f"{name}.crt").write_bytes(pem)
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return pem.decode()


def add_oidc(account: Account | None, server: Server, *domains: str, **fields: Any) -> IdentityProvider:
    provider = IdentityProvider(
        account=account,
        protocol="oidc",
        name=fields.pop("name", "Acme OIDC"),
        issuer=server.url,
        client_id="console",
        **fields,
    )
    seal_client_secret(provider, CLIENT_SECRET)
    provider.full_clean()
    provider.save()
    return with_domains(provider, *domains)


def add_saml(account: Account | None, server: Server, *domains: str, **fields: Any) -> IdentityProvider:
    provider = IdentityProvider(
        account=account,
        protocol="saml",
        name=fields.pop("name", "Acme SAML"),
        issuer=f"{server.url}/metadata",
        sign_on_url=f"{server.url}/sign-on",
        certificates=server.certificate,
        **fields,
    )
    provider.full_clean()
    provider.save()
    return with_domains(provider, *domains)


def with_domains(provider: IdentityProvider, *domains: str) -> IdentityProvider:
    for domain in domains:
        EmailDomain.objects.create(
            provider=provider, domain=domain, record=f"record of {domain}", verified_at=clock.now()
        )
    return provider
