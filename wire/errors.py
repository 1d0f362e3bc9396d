"""Whose fault a wire error is.

    WireError
    |-- LocalWireError     we were about to send what the protocol does not allow, or used a codec wrongly
    `-- RemoteWireError    the peer sent it

Any other exception out of a codec is a bug in the codec. A message carries the numbers: what was read,
what was allowed.
"""

from __future__ import annotations


class WireError(Exception):
    """Never raised itself: catch it to catch both sides."""


class LocalWireError(WireError):
    """We were about to send what the protocol does not allow."""


class RemoteWireError(WireError):
    """The peer sent what the protocol does not allow."""
