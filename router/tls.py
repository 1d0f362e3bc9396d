"""TLS contexts: of the listener, and of the connections to decoders."""

from __future__ import annotations

import ssl
from pathlib import Path

from router.config import Tls
from router.errors import ConfigError


def server_context(tls: Tls) -> ssl.SSLContext:
    """ConfigError: a file that is no certificate, no key, or not the key of the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(tls.cert, tls.key, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(f"--tls-cert {tls.cert} and --tls-key {tls.key}: {error}") from None
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted")


def client_context(authorities: Path) -> ssl.SSLContext:
    """Trusts `authorities` alone. ConfigError: no certificate in the file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(authorities)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(f"--decoder-ca {authorities}: {error}") from None
    return context
