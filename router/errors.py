"""What can go wrong in the router, drawn once.

    RouterError
    |-- ConfigError       the operator: a flag, a file or a combination that cannot be served; exit status 2
    |-- Misfit            servers that cannot work together; exit status 2
    |-- StartError        the surroundings: a port taken, a child that dies before it is ready; exit status 1
    |-- DecoderError      the decoder, or a prefill server
    |   |-- Unreachable   no connection, so it has not seen the request
    |   |-- CutOff        the connection ended in the middle: what was asked may have been done
    |   `-- NoAnswer      a deadline passed: what was asked may still be done
    `-- Refusal           the request is answered with an error and goes no further
        `-- DecoderGone   because its decoder refuses connections; another one may serve it

A failed handoff step is no error of this tree but a row of the decision table (`router.routes.choose`).
"""

from __future__ import annotations

import json


class RouterError(Exception):
    """Never raised itself."""


class ConfigError(RouterError):
    """A configuration that cannot be served."""


class Misfit(RouterError):
    """A decoder, or a prefill server, that this router cannot work with."""


class StartError(RouterError):
    """The router cannot start here and now."""


class DecoderError(RouterError):
    """A decoder did not answer as it should; the text says how, for people."""


class Unreachable(DecoderError):
    """No connection: the decoder has seen nothing of the request."""


class CutOff(DecoderError):
    """The connection ended before the answer was whole."""


class NoAnswer(DecoderError):
    """The deadline passed; a late answer may still come."""


class Refusal(RouterError):
    """An answer the router gives itself, in the decoder's own error form."""

    def __init__(self, status: int, kind: str, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.retry_after_s = retry_after_s

    def body(self) -> bytes:
        return error_body(self.status, self.kind, self.message)


class DecoderGone(Refusal):
    """The decoder has seen nothing of what was refused."""


def error_body(status: int, kind: str, message: str) -> bytes:
    """An error as llama-server and OpenAI's clients spell it."""
    return json.dumps({"error": {"code": status, "message": message, "type": kind}}).encode()
