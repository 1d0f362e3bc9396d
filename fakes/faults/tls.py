"""A decoder behind TLS that shows a certificate which its client must not take.

The file has certificate and key, in that order, in PEM; whoever plays the fault has it made, as for the fake's own.
"""

from __future__ import annotations

import os
from dataclasses import replace

from fakes.fault import Fault, FaultError, Value
from fakes.point import Point
from fakes.steps import Hello


def wrong_name(step: Hello, path: str) -> Hello:
    """In the handshake a certificate of a trusted authority is shown, for another name than the client connects to.

    Somebody claims to be the decoder who is somebody else. A correct router ends the handshake, sends no request and no
    key, and says that the name is wrong; it never goes on without the check.
    """
    return replace(step, certificate=path)


def expired(step: Hello, path: str) -> Hello:
    """In the handshake a certificate of a trusted authority and for the right name is shown that is no longer valid.

    The decoder claims to be who it was. A correct router ends the handshake, sends no request and no key, and says that
    the certificate has expired.
    """
    return replace(step, certificate=path)


def unknown_authority(step: Hello, path: str) -> Hello:
    """In the handshake a certificate for the right name is shown, by an authority that the client was not told of.

    Somebody claims to be the decoder and has nobody to vouch for it. A correct router ends the handshake, sends no
    request and no key, and says that it does not know the authority.
    """
    return replace(step, certificate=path)


def _file(text: str) -> str:
    if not os.path.isfile(text):
        raise FaultError(f"{text!r} is no file; it takes one with a certificate and its key, in PEM")
    return text


_PEM = Value(_file, None, "a PEM file with the certificate and its key")
_WHO_IT_IS = ("https://www.rfc-editor.org/rfc/rfc9110#section-4.3.4",)
_STILL_VALID = ("https://www.rfc-editor.org/rfc/rfc5280#section-6.1.3",)
FAULTS = (
    Fault("tls-wrong-name", Point.HANDSHAKE, wrong_name, _PEM, _WHO_IT_IS),
    Fault("tls-expired", Point.HANDSHAKE, expired, _PEM, _STILL_VALID),
    Fault("tls-unknown-authority", Point.HANDSHAKE, unknown_authority, _PEM, _WHO_IT_IS),
)
