"""A provider of another make: rows from a second llama-server's saved slot, copied into the lent region.

Written from the provider contract, the region's layout and the save file's form with the standard library alone, so
that one adopt is seen between two programs that share no code.

    python -m gates.peers.copying_provider PREFILL_URL SLOT_SAVE_DIR
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import sys
import time
import urllib.request


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


def saved_slot(url: str, folder: str, tokens: list[int]) -> bytes:
    """The save file of a slot that holds exactly these tokens."""
    name = f"peer-{os.getpid()}"
    post(f"{url}/completion", {"prompt": tokens, "n_predict": 0, "id_slot": 0, "cache_prompt": False})
    try:
        saved = post(f"{url}/slots/0?action=save", {"filename": name})["n_saved"]
        if saved != len(tokens):
            raise SystemExit(f"{saved} tokens saved, not {len(tokens)}")
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))


def rows_by_tensor(file: bytes) -> dict[str, tuple[int, bytes]]:
    """`cache_k_l0` and so on: the size of a row and the rows, from a save file of plain attention."""
    magic, version, n_words = struct.unpack_from("<4sII", file)
    assert (magic, version) == (b"qsgg", 4)
    at = 12 + 4 * n_words
    (n_stream,) = struct.unpack_from("<I", file, at)
    at += 4
    found = {}
    for _ in range(n_stream):
        (n_cells,) = struct.unpack_from("<I", file, at)
        at += 4 + 12 * n_cells
        if n_cells == 0:
            continue
        v_trans, n_layer, _, _ = struct.unpack_from("<IIII", file, at)
        assert not v_trans
        at += 16
        for kind in "kv":
            for layer in range(n_layer):
                _, row_bytes = struct.unpack_from("<iQ", file, at)
                at += 12
                found[f"cache_{kind}_l{layer}"] = row_bytes, file[at : at + row_bytes * n_cells]
                at += row_bytes * n_cells
    assert at == len(file)
    return found


def layout_hash(tensors: list[dict]) -> str:
    """FNV-1a 64 over one `name:type:row_bytes:n_cells` line for each tensor."""
    text = "".join(f"{t['name']}:{t['type']}:{t['row_bytes']}:{t['n_cells']}\n" for t in tensors)
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def write(asked: dict, rows: dict[str, tuple[int, bytes]]) -> None:
    first, n_tokens = asked["cells"]["first"], len(asked["tokens"])
    assert n_tokens <= asked["cells"]["count"]
    for number, region in enumerate(asked["regions"]):
        own = [tensor for tensor in asked["tensors"] if tensor["region"] == number]
        assert layout_hash(own) == region["layout"]
        assert os.fstat(region["fd"]).st_size == region["offset"] + region["size"]
        with mmap.mmap(region["fd"], region["offset"] + region["size"]) as memory:
            for tensor in own:
                row_bytes, taken = rows.pop(tensor["name"])
                assert row_bytes == tensor["row_bytes"]
                at = region["offset"] + tensor["offset"] + first * row_bytes
                memory[at : at + len(taken)] = taken
    assert not rows


def main(prefill_url: str, folder: str) -> None:
    asked = json.loads(sys.stdin.readline())
    assert asked["v"] == 1
    assert asked["route"] == "shared"
    begin = time.monotonic()
    write(asked, rows_by_tensor(saved_slot(prefill_url, folder, asked["tokens"])))
    print(json.dumps({"n_tokens": len(asked["tokens"]), "prefill_ms": (time.monotonic() - begin) * 1e3}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
