"""API keys: read from files, compared in constant time, never shown."""

from __future__ import annotations

import hmac
from hashlib import sha256
from pathlib import Path

from router.errors import ConfigError


def read_keys(flag: str, path: Path) -> tuple[str, ...]:
    """The keys of a file, one a line; blank lines and lines that begin with # are none. ConfigError: there is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{flag} {path}: {error}") from None
    keys = tuple(line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if not keys:
        raise ConfigError(f"{flag} {path}: no key in it")
    if any(not key.isascii() or not key.isprintable() or " " in key for key in keys):
        raise ConfigError(f"{flag} {path}: a key is printable ASCII without blanks")
    return keys


class KeyRing:
    """The keys that clients may send. An empty ring lets everybody in."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._digests = tuple(sha256(key.encode()).digest() for key in keys)

    def admits(self, authorization: str | None, x_api_key: str | None) -> bool:
        """Takes the time of all keys, whichever fits. `Authorization` counts before `X-Api-Key`, as in llama-server."""
        if not self._digests:
            return True
        sent = authorization.removeprefix("Bearer ") if authorization is not None else x_api_key
        if sent is None:
            return False
        digest = sha256(sent.encode("utf-8", "surrogateescape")).digest()
        fits = [hmac.compare_digest(digest, known) for known in self._digests]
        return any(fits)
