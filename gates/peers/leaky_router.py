"""A router of nobody's making: passes every request on, and leaves something behind each time.

Standard library alone; takes our router's flags and reads two of them.

    python -m gates.peers.leaky_router WHAT serve ... --decoder URL ...
    WHAT: nothing, memfd, file, socket, process, crash, bad end, deaf (does not end when asked to)
"""

from __future__ import annotations

import http.server
import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

KEPT: list[object] = []


def leave(what: str) -> None:
    if what == "memfd":
        KEPT.append(os.memfd_create("region"))
    elif what == "file":
        KEPT.append(tempfile.mkstemp(prefix="state-"))
    elif what == "socket":
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(os.path.join(tempfile.gettempdir(), "s"))
        KEPT.append(listening)
    elif what == "process":
        KEPT.append(subprocess.Popen(["sleep", "600"], start_new_session=True, env={}))


class Handler(http.server.BaseHTTPRequestHandler):
    decoder = ""
    what = ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = urllib.request.Request(self.decoder + self.path, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            answer = reply.read()
        leave(self.what)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if self.what != "crash":  # then its end is the end of the reply, so nobody can be quicker than the crash
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.wfile.flush()
        if self.what == "crash":
            os._exit(7)

    def log_message(self, *_: object) -> None:
        """Silent."""


def main(what: str, flags: list[str]) -> None:
    Handler.what, Handler.decoder = what, flags[flags.index("--decoder") + 1]
    if what == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if what == "bad end":
        signal.signal(signal.SIGTERM, lambda *_: os._exit(9))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
