#!/usr/bin/env python3
"""A small router of another make, standard library alone: it stands for yours.

It knows one way to hand a prompt over: a prefill command is given a state file's path and the prompt's tokens, and the
decoder restores that file. Nothing of it comes from kvgate but the contract with the prefill command
(docs/protocols.md); its flags, its log and its address are its own, and `other-router.yaml` says what they are.

    router.py --listen PORT --backend URL [--state-dir DIR --prefill 'CMD ...']
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

PREFILL_TIMEOUT_S = 60


class HandoffFailed(Exception):
    """The prompt's rows are not in the slot; the message says why."""


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """The JSON that a server answers. HandoffFailed for anything but 200."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            answer: dict[str, Any] = json.load(reply)
            return answer
    except urllib.error.HTTPError as error:
        told = error.read(200).decode(errors="replace")
        raise HandoffFailed(f"{url} answered {error.code}: {told}") from None


def slots_of(backend: str) -> int:
    """How many slots the decoder has: a state file says it, and fits only a server that has as many."""
    with urllib.request.urlopen(f"{backend}/props", timeout=10) as reply:
        return int(json.load(reply)["total_slots"])


def prompt_tokens(backend: str, body: dict[str, Any]) -> list[int]:
    text = post(f"{backend}/apply-template", body)["prompt"] if "messages" in body else body["prompt"]
    answer = post(f"{backend}/tokenize", {"content": text, "add_special": True, "parse_special": True})
    return list(answer["tokens"])


def prefill(command: list[str], tokens: list[int], state_file: str, slots: int) -> None:
    """Runs the prefill command, and believes it only if it says that it has done all of it."""
    asked = {"v": 1, "route": "state-file", "tokens": tokens, "n_past": 0, "n_stream": slots, "state_file": state_file}
    done = subprocess.run(
        command, input=json.dumps(asked) + "\n", capture_output=True, text=True, timeout=PREFILL_TIMEOUT_S
    )
    if done.returncode != 0:
        raise HandoffFailed(f"the prefill ended with {done.returncode}")
    check_claim(done.stdout, len(tokens))


def check_claim(output: str, asked: int) -> None:
    """The last line of the output says how many tokens were prefilled."""
    lines = output.strip().splitlines()
    claimed = json.loads(lines[-1]).get("n_tokens") if lines else None
    if claimed != asked:
        raise HandoffFailed(f"the prefill did {claimed} of {asked} tokens")


def restore(backend: str, slot: int, name: str, count: int) -> None:
    """The decoder reads the file into the slot."""
    answer = post(f"{backend}/slots/{slot}?action=restore", {"filename": name})
    if answer.get("n_restored") != count:
        raise HandoffFailed(f"the decoder restored {answer.get('n_restored')} of {count} tokens")


class Router:
    """One slot, one request at a time: that is all this example needs."""

    slot = 0

    def __init__(self, backend: str, state_dir: str | None, command: list[str]) -> None:
        self.backend, self.state_dir, self.command = backend.rstrip("/"), state_dir, command
        self.one_at_a_time = Lock()

    def hand_over(self, body: dict[str, Any]) -> None:
        """Gets the prompt's rows into the slot, or says why not; then the decoder prefills them itself."""
        if self.state_dir is None or not self.command:
            return
        name = f"{secrets.token_hex(8)}.bin"
        path = os.path.join(self.state_dir, name)
        try:
            tokens = prompt_tokens(self.backend, body)
            prefill(self.command, tokens, path, slots_of(self.backend))
            restore(self.backend, self.slot, name, len(tokens))
            say(f"handed over {len(tokens)} tokens")
        except (HandoffFailed, ValueError, subprocess.TimeoutExpired) as error:
            say(f"not handed over: {error}")
        finally:
            if os.path.exists(path):
                os.unlink(path)


def say(text: str) -> None:
    print(f"other-router: {text}", file=sys.stderr, flush=True)


def handler(router: Router) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200 if self.path == "/ready" else 404, b"{}")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with router.one_at_a_time:
                router.hand_over(body)
                self.forward(body | {"id_slot": router.slot, "cache_prompt": True})

        def forward(self, body: dict[str, Any]) -> None:
            url, content = router.backend + self.path, json.dumps(body).encode()
            request = urllib.request.Request(url, content, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=600) as reply:
                    self.answer(reply.status, reply.read(), reply.headers["Content-Type"])
            except urllib.error.HTTPError as error:
                self.answer(error.code, error.read())

        def answer(self, status: int, content: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Its own lines are all it says."""

    return Handler


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", type=int, required=True, metavar="PORT")
    parser.add_argument("--backend", required=True, metavar="URL")
    parser.add_argument("--state-dir", metavar="DIR")
    parser.add_argument("--prefill", default="", metavar="'CMD ...'")
    asked = parser.parse_args()
    router = Router(asked.backend, asked.state_dir, shlex.split(asked.prefill))
    server = ThreadingHTTPServer(("127.0.0.1", asked.listen), handler(router))
    signal.signal(signal.SIGTERM, lambda *_: Thread(target=server.shutdown).start())
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
