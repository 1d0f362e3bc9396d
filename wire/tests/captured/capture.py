"""Remakes the captured bytes from a running llama-server: `capture.py --url URL --slot-save-path DIR --origin TEXT`.

The server must have two slots and have been started with `--parallel 2 --cache-ram 0 --slot-save-path DIR`. Small
prompts keep the files small. Every file gets a line beside it that says which server, command and request made it.
"""

from __future__ import annotations

import argparse
import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

HERE = Path(__file__).parent

CHAT = {"messages": [{"role": "user", "content": "Name a river."}], "max_tokens": 3, "temperature": 0, "stream": True}
STREAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "completion.sse": ("/completion", {"prompt": "The otter counts", "n_predict": 3, "temperature": 0, "stream": True}),
    "chat.sse": ("/v1/chat/completions", CHAT),
    "chat_usage.sse": ("/v1/chat/completions", CHAT | {"stream_options": {"include_usage": True}}),
}
SAVES: dict[str, dict[str, Any]] = {
    "slot0.bin": {"prompt": "The", "n_predict": 1, "temperature": 0, "id_slot": 0},
    "slot1.bin": {"prompt": "The river", "n_predict": 1, "temperature": 0, "id_slot": 1},
}


class Server:
    """Asks one server and writes down what it answered."""

    def __init__(self, url: str, save_path: Path, origin: str) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._save_path = save_path
        self._origin = origin

    def ask(self, path: str, body: dict[str, Any]) -> bytes:
        connection = http.client.HTTPConnection(*self._address, timeout=60)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            reply = connection.getresponse()
            data = reply.read()
        finally:
            connection.close()
        if reply.status != 200:
            raise SystemExit(f"POST {path} answered {reply.status}: {data[:300]!r}")
        return data

    def keep(self, name: str, data: bytes, request: str) -> None:
        (HERE / name).write_bytes(data)
        (HERE / f"{name}.origin").write_text(f"{self._origin}; {request}\n")
        print(f"{name}: {len(data)} bytes")

    def streams(self) -> None:
        for name, (path, body) in STREAMS.items():
            self.keep(name, self.ask(path, body), f"POST {path} {json.dumps(body)}, the body without its chunk marks")

    def saves(self) -> None:
        for slot in (0, 1):
            self.ask(f"/slots/{slot}?action=erase", {})
        self._save("empty.bin", 0, "a slot just erased")
        for name, body in SAVES.items():
            self.ask("/completion", body)
            self._save(name, body["id_slot"], f"after POST /completion {json.dumps(body)}")

    def _save(self, name: str, slot: int, after: str) -> None:
        self.ask(f"/slots/{slot}?action=save", {"filename": name})
        written = self._save_path / name
        self.keep(name, written.read_bytes(), f"POST /slots/{slot}?action=save, {after}")
        written.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--slot-save-path", type=Path, required=True)
    parser.add_argument("--origin", required=True, help="server, version and command, as the origin lines give them")
    options = parser.parse_args()
    server = Server(options.url, options.slot_save_path, options.origin)
    server.streams()
    server.saves()


if __name__ == "__main__":
    main()
