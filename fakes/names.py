"""Names that nobody can guess."""

from __future__ import annotations

import secrets
from base64 import b64encode


class NameSource:
    """Names of 32 letters and digits that nobody can guess. Chance is fetched in advance: it is a system call."""

    def __init__(self) -> None:
        self._ready: list[str] = []

    def __call__(self) -> str:
        if not self._ready:
            text = b64encode(secrets.token_bytes(24 * 128), b"AB").decode()
            self._ready = [text[at : at + 32] for at in range(0, len(text), 32)]
        return self._ready.pop()
