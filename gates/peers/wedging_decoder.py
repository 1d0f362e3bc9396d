"""A decoder whose work can die while its `/health` stays green. Standard library alone.

    python -m gates.peers.wedging_decoder [TIMES]

Its reply is one sentence, TIMES times.
SIGUSR1: whatever goes through the queue of work (completions, `/slots`, slot actions) is not answered any more, what
is told about the server is. SIGUSR2: it works again.
"""

from __future__ import annotations

import http.server
import json
import signal
import sys
import threading
from typing import Any

works = threading.Event()
works.set()
AT_MOST_S = 60.0
TOLD: dict[str, Any] = {
    "/health": {"status": "ok"},
    "/props": {"total_slots": 1, "default_generation_settings": {"n_ctx": 2048}, "model_path": "wedging"},
    "/v1/models": {"object": "list", "data": [{"id": "wedging", "object": "model"}]},
}
REPLY: dict[str, Any] = {
    "id": "1", "object": "text_completion", "model": "wedging", "usage": {"completion_tokens": 1},
    "choices": [{"index": 0, "text": "from the wedging decoder", "finish_reason": "length"}],
    "timings": {"cache_n": 0, "prompt_n": 5, "predicted_n": 1},
}  # fmt: skip


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path in TOLD:
            self._answer(200, TOLD[self.path])
        elif self.path == "/slots":
            works.wait(AT_MOST_S)
            self._answer(200, [{"id": 0, "is_processing": False}])
        else:
            self._answer(404, {"error": {"code": 404, "message": "no such thing", "type": "not_found_error"}})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        works.wait(AT_MOST_S)
        if self.path == "/v1/completions":
            self._answer(200, REPLY)
        else:
            error = {"code": 501, "message": "no slot actions", "type": "not_supported_error"}
            self._answer(501, {"error": error})

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that left in the middle."""


def main(times: str = "1") -> None:
    REPLY["choices"][0]["text"] *= int(times)
    signal.signal(signal.SIGUSR1, lambda *_: works.clear())
    signal.signal(signal.SIGUSR2, lambda *_: works.set())
    server = Server(("127.0.0.1", 0), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
