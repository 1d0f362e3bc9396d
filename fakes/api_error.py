"""llama-server's error bodies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    500: "server_error",
    501: "not_supported_error",
    503: "unavailable_error",
}


class ApiError(Exception):
    """An answer that is an error. `early` ones are made before routing and have their keys in another order."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str | None = None,
        early: bool = False,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        kind = _TYPES.get(status, "server_error") if kind is None else kind
        if early:
            self.error: dict[str, Any] = {"message": message, "type": kind, "code": status}
        else:
            self.error = {"code": status, "message": message, "type": kind}
        self.error |= more or {}

    @property
    def body(self) -> bytes:
        return json.dumps({"error": self.error}, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
