"""A provider that hands over the state of another prompt and claims that all is well.

It has a real llama-server prefill the prompt's tokens backwards and save that slot to the file that was asked for.
Written from the provider contract with the standard library alone.

    python -m gates.peers.foreign_state_file PREFILL_URL
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


def main(prefill_url: str) -> None:
    asked = json.loads(sys.stdin.readline())
    other = list(reversed(asked["tokens"]))
    post(f"{prefill_url}/completion", {"prompt": other, "n_predict": 1, "id_slot": 0, "cache_prompt": False})
    saved = post(f"{prefill_url}/slots/0?action=save", {"filename": os.path.basename(asked["state_file"])})
    print(json.dumps({"n_tokens": len(asked["tokens"]), "saved": saved["n_saved"]}))


if __name__ == "__main__":
    main(sys.argv[1])
