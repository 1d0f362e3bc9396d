"""Section 9: save, restore and erase."""

from __future__ import annotations

import asyncio
import re
import struct
from typing import Any

from harness.conform.clause import Clause, demand, expect, probed, refused
from harness.conform.match import keys
from harness.conform.own_process import OwnProcess
from harness.conform.setting import OWN
from harness.conform.target import Target
from harness.conform.wire_client import Answer, Ask, get, post

_INVALID = "invalid_request_error"
_CANNOT = "Unable to restore slot: No available space in KV cache or invalid slot save file"


async def _filled(t: Target, name: str, n_prompt: int = 20, n_predict: int = 5) -> list[int]:
    """Slot 0 with a prompt in it, saved."""
    prompt = t.prompt(n_prompt)
    await t.complete(prompt, n_predict, id_slot=0)
    expect((await t.action(0, "save", {"filename": name})).status, 200, "the status of the save")
    return prompt


async def _restore(t: Target, name: str, slot: int = 1) -> Answer:
    return await t.action(slot, "restore", {"filename": name})


def _error(answer: Answer, status: int, message: Any, kind: str = _INVALID) -> None:
    expect(answer.status, status, "the status")
    expect(answer.json["error"], {"code": status, "message": message, "type": kind}, "error")


async def save(t: Target) -> None:
    """A save says id_slot, filename, n_saved, n_written and its time."""
    await t.complete(t.prompt(20), 5, id_slot=0)
    answer = await t.action(0, "save", {"filename": "said.bin"})
    expect(answer.json, keys("id_slot filename n_saved n_written timings"))
    like = {"id_slot": 0, "filename": "said.bin", "n_saved": 24, "n_written": int, "timings": {"save_ms": float}}
    expect(answer.json, like)


async def written(t: Target) -> None:
    """n_written is the size of the file."""
    await t.complete(t.prompt(20), 5, id_slot=0)
    answer = await t.action(0, "save", {"filename": "size.bin"})
    expect(answer.json["n_written"], t.saved("size.bin").stat().st_size, "n_written")


async def grows(t: Target) -> None:
    """A file grows with the tokens in it."""
    sizes = []
    for n_prompt in (10, 40):
        await _filled(t, "grows.bin", n_prompt, 1)
        sizes.append(t.saved("grows.bin").stat().st_size)
    demand(sizes[1] > 2 * sizes[0], f"10 and 40 tokens make {sizes} bytes")


async def restore(t: Target) -> None:
    """A restore says id_slot, filename, n_restored, n_read and its time."""
    await _filled(t, "back.bin")
    answer = await _restore(t, "back.bin")
    expect(answer.json, keys("id_slot filename n_restored n_read timings"))
    like = {"id_slot": 1, "filename": "back.bin", "n_restored": 24, "n_read": int, "timings": {"restore_ms": float}}
    expect(answer.json, like)


async def reused(t: Target) -> None:
    """A prompt that a restored slot holds costs one evaluated token."""
    prompt = await _filled(t, "reused.bin")
    await _restore(t, "reused.bin")
    expect((await t.complete(prompt, 1, id_slot=1))["timings"], {"cache_n": 19, "prompt_n": 1}, "timings")


async def last_changed(t: Target) -> None:
    """From the first token that differs from the restored ones on all is evaluated."""
    prompt = await _filled(t, "changed.bin")
    await _restore(t, "changed.bin")
    changed = [*prompt[:-1], prompt[-1] + 1, *t.prompt(1)]
    expect((await t.complete(changed, 1, id_slot=1))["timings"], {"cache_n": 19, "prompt_n": 2}, "timings")


async def same_tokens(t: Target) -> None:
    """A restored slot answers as the saved one would."""
    prompt = t.prompt(20)
    cold = await t.complete(prompt, 6, id_slot=0, return_tokens=True)
    await t.action(0, "save", {"filename": "same.bin"})
    await t.action(0, "erase")
    await _restore(t, "same.bin")
    warm = await t.complete(prompt, 6, id_slot=1, return_tokens=True)
    expect(warm["tokens"], cold["tokens"], "tokens")


async def unpinned(t: Target) -> None:
    """A restored slot is found by an unpinned prompt."""
    prompt = await _filled(t, "unpinned.bin")
    await t.emptied()
    await _restore(t, "unpinned.bin", 0)
    found = await t.complete(prompt, 1)
    expect(found, {"id_slot": 0, "timings": {"cache_n": 19}})


async def replaces(t: Target) -> None:
    """A restore replaces what the slot held."""
    await _filled(t, "replaces.bin")
    await t.complete(t.prompt(60), 1, id_slot=1)
    await _restore(t, "replaces.bin")
    expect((await t.slot(1))["n_prompt_tokens"], 24, "what the slot holds")


async def erase(t: Target) -> None:
    """An erase says id_slot and n_erased, and ignores its body."""
    await t.complete(t.prompt(20), 5, id_slot=0)
    answer = await t.action(0, "erase", b"no json")
    expect(answer.status, 200, "the status")
    expect(answer.json, keys("id_slot n_erased"))
    expect(answer.json, {"id_slot": 0, "n_erased": 24})


async def erased(t: Target) -> None:
    """After it the slot evaluates everything."""
    prompt = t.prompt(20)
    await t.complete(prompt, 1, id_slot=0)
    await t.action(0, "erase")
    expect((await t.complete(prompt, 1, id_slot=0))["timings"], {"cache_n": 0, "prompt_n": 20}, "timings")


async def erase_twice(t: Target) -> None:
    """A second erase erases nothing."""
    await t.action(0, "erase")
    expect((await t.action(0, "erase")).json, {"n_erased": 0})


async def overwrites(t: Target) -> None:
    """An existing file is overwritten in place."""
    await _filled(t, "over.bin", 40)
    inode = t.saved("over.bin").stat().st_ino
    await _filled(t, "over.bin", 10)
    expect(t.saved("over.bin").stat().st_ino, inode, "the file's inode")
    expect((await _restore(t, "over.bin")).json, {"n_restored": 14})


async def empty_saved(t: Target) -> None:
    """Saving an empty slot works: 40 bytes, none saved."""
    await t.action(0, "erase")
    expect((await t.action(0, "save", {"filename": "none.bin"})).json, {"n_saved": 0, "n_written": 40})


async def empty_restored(t: Target) -> None:
    """Restoring that empties the slot."""
    await t.action(0, "erase")
    await t.action(0, "save", {"filename": "none.bin"})
    await t.complete(t.prompt(20), 1, id_slot=1)
    expect((await _restore(t, "none.bin")).json, {"n_restored": 0})
    expect((await t.slot(1))["n_prompt_tokens"], 0, "what the slot holds")


def _unreadable(says: str, make: Any) -> Clause:
    async def probe(t: Target) -> None:
        await _filled(t, "good.bin")
        path = t.saved("bad.bin")
        path.unlink(missing_ok=True)
        make(path, t.saved("good.bin").read_bytes())
        _error(await _restore(t, "bad.bin"), 400, _CANNOT)

    return Clause("9", says, probe)


async def emptied_by_failure(t: Target) -> None:
    """A restore that fails empties the slot."""
    await t.complete(t.prompt(20), 1, id_slot=1)
    expect((await _restore(t, "missing.bin")).status, 400, "the status")
    expect((await t.slot(1))["n_prompt_tokens"], 0, "what the slot holds")


async def head(t: Target) -> None:
    """A file begins with qsgg, version 4 and the number of words of its tokens."""
    await _filled(t, "head.bin")
    data = t.saved("head.bin").read_bytes()
    expect([*struct.unpack_from("<4sI", data)], lambda seen: seen == [b"qsgg", 4], "magic and version")
    expect(struct.unpack_from("<I", data, 8)[0], 28, "the number of words")


async def payload(t: Target) -> None:
    """The words are -1, 1, the count, the ids, and no media."""
    prompt = await _filled(t, "payload.bin")
    words = struct.unpack_from("<28i", t.saved("payload.bin").read_bytes(), 12)
    expect(list(words[:3]), [-1, 1, 24], "the first words")
    expect(list(words[3:23]), prompt, "the prompt's ids")
    expect(words[27], 0, "the number of media items")


async def cells(t: Target) -> None:
    """Then come the number of streams, one per slot, and the slot's cells with positions 0, 1, 2."""
    await _filled(t, "cells.bin")
    data = t.saved("cells.bin").read_bytes()
    at = 12 + 4 * 28
    expect(struct.unpack_from("<I", data, at)[0], 2, "the number of streams")
    counts = struct.unpack_from("<I", data, at + 4)[0]
    expect(counts, 24, "the cells of the first stream")
    positions = [struct.unpack_from("<iIi", data, at + 8 + 12 * index) for index in range(3)]
    expect([list(each) for each in positions], [[0, 1, 0], [1, 1, 0], [2, 1, 0]], "position, sequences, sequence")


async def old_words(t: Target) -> None:
    """The older form of the words, the bare ids, is read too."""
    prompt = await _filled(t, "new-form.bin")
    data = t.saved("new-form.bin").read_bytes()
    ids = data[12 + 12 : 12 + 12 + 4 * 24]
    t.saved("old-form.bin").write_bytes(data[:8] + struct.pack("<I", 24) + ids + data[12 + 4 * 28 :])
    expect((await _restore(t, "old-form.bin")).json, {"n_restored": 24})
    expect((await t.complete(prompt, 1, id_slot=1))["timings"], {"cache_n": 19, "prompt_n": 1}, "timings")


async def bad_token(t: Target) -> None:
    """A token out of the vocabulary has words of its own."""
    await _filled(t, "token.bin")
    data = bytearray(t.saved("token.bin").read_bytes())
    struct.pack_into("<i", data, 12 + 12, 10_000_000)
    t.saved("token.bin").write_bytes(data)
    _error(await _restore(t, "token.bin"), 400, "Unable to restore slot: Invalid tokens in slot save file")


async def other_streams(own: OwnProcess) -> None:
    """A file of a server with another number of slots is refused."""
    folder = own.path("streams")
    folder.mkdir()
    flags = ("--slot-save-path", str(folder))
    async with own.running((*own.usual(*flags), "-np", "2")) as two:
        await two.target.complete(two.target.prompt(20), 1, id_slot=0)
        await two.target.action(0, "save", {"filename": "two.bin"})
    async with own.running((*own.usual(*flags), "-np", "4", "-c", "1024")) as four:
        _error(await four.target.action(0, "restore", {"filename": "two.bin"}), 400, _CANNOT)


async def other_context(own: OwnProcess) -> None:
    """A file of a server with another context size is taken."""
    folder = own.path("context")
    folder.mkdir()
    flags = ("--slot-save-path", str(folder))
    async with own.running(own.usual(*flags)) as small:
        prompt = small.target.prompt(20)
        await small.target.complete(prompt, 1, id_slot=0)
        await small.target.action(0, "save", {"filename": "small.bin"})
    async with own.running(own.usual(*flags, "-c", "1024")) as large:
        expect((await large.target.action(0, "restore", {"filename": "small.bin"})).json, {"n_restored": 20})
        expect((await large.target.complete(prompt, 1))["timings"], {"cache_n": 19}, "timings")


async def other_type(own: OwnProcess) -> None:
    """A file of a cache of another type is refused."""
    folder = own.path("type")
    folder.mkdir()
    flags = ("--slot-save-path", str(folder), "-fa", "off")
    async with own.running(own.usual(*flags)) as half:
        await half.target.complete(half.target.prompt(20), 1, id_slot=0)
        await half.target.action(0, "save", {"filename": "half.bin"})
    async with own.running(own.usual(*flags, "-ctk", "f32", "-ctv", "f32")) as full:
        _error(await full.target.action(0, "restore", {"filename": "half.bin"}), 400, _CANNOT)


def _waits(action: str, body: dict[str, str] | None) -> Clause:
    async def probe(t: Target) -> None:
        await _filled(t, "waits.bin")
        async with t.working(0) as owner:
            asked = asyncio.create_task(t.action(0, action, body))
            for _ in range(3):
                await owner.chunk()
            demand(not asked.done(), "it was answered while the slot worked")
            owner.close()
            expect((await asked).status, 200, "the status, later")

    return Clause("9", f"A {action} of a busy slot waits, and is not refused", probe)


def _name(name: Any, why: str) -> Clause:
    return refused(
        "9",
        f"A filename {why} is refused",
        post("/slots/0?action=save", {"filename": name}),
        400,
        _INVALID,
        "Invalid filename",
    )


def _good_name(name: str, why: str) -> Clause:
    async def probe(t: Target) -> None:
        expect((await t.action(0, "save", {"filename": name})).status, 200, "the status")
        demand(t.saved(name).is_file(), "there is no such file")

    return Clause("9", f"A filename {why} is taken", probe)


def _id(asked: str, means: int) -> Clause:
    async def probe(t: Target) -> None:
        await t.emptied()
        await t.complete(t.prompt(20), 1, id_slot=means)
        expect((await t.action(asked, "erase")).json, {"n_erased": 20})

    return Clause("9", f"A slot id of {asked} acts on slot {means} of 2", probe)


async def echoes_id(t: Target) -> None:
    """The id that was sent is echoed, wrapped or not."""
    expect((await t.action(7, "erase")).json, {"id_slot": 7})


def _bad(says: str, path: str, body: Any, message: Any) -> Clause:
    return refused("9", says, post(path, body), 400, _INVALID, message)


CLAUSES: tuple[Clause, ...] = (
    *probed("9", save, written, grows, restore, reused, last_changed, same_tokens, unpinned, replaces),
    *probed("9", erase, erased, erase_twice, overwrites, empty_saved, empty_restored),
    _unreadable("A file that is missing cannot be restored", lambda path, good: None),
    _unreadable("A file of junk cannot be restored", lambda path, good: path.write_bytes(b"junk" * 50)),
    _unreadable("A file of no bytes cannot be restored", lambda path, good: path.write_bytes(b"")),
    _unreadable("A file that is cut cannot be restored", lambda path, good: path.write_bytes(good[:-10])),
    _unreadable("A file that is cut in its tokens cannot be restored", lambda path, good: path.write_bytes(good[:40])),
    _unreadable(
        "A file of another version cannot be restored",
        lambda path, good: path.write_bytes(good[:4] + struct.pack("<I", 9) + good[8:]),
    ),
    _unreadable("A file of another magic cannot be restored", lambda path, good: path.write_bytes(b"nope" + good[4:])),
    *probed("9", emptied_by_failure, head, payload, cells, old_words, bad_token),
    *probed("9", other_streams, other_context, other_type, setting=OWN),
    _waits("save", {"filename": "waits.bin"}),
    _waits("restore", {"filename": "waits.bin"}),
    _waits("erase", None),
    _name("", "that is empty"),
    _name("a/b", "with a slash"),
    _name("a\\b", "with a backslash"),
    _name("a:b", "with a colon"),
    _name("a*b", "with a star"),
    _name("a|b", "with a bar"),
    _name("a\nb", "with a control character"),
    _name("..", "that is two dots"),
    _name("a..b", "with two dots inside"),
    _name(".", "that is a dot"),
    _name(" a", "with a leading space"),
    _name("a ", "with a trailing space"),
    _name("a.", "with a trailing dot"),
    _name("a" * 256, "of 256 bytes"),
    _name("\ufffd", "with U+FFFD"),
    _name("a\uff0eb", "with U+FF0E"),
    _name("a\u2215b", "with U+2215"),
    _name("\ufeffa", "with a byte order mark"),
    _good_name("a" * 255, "of 255 bytes"),
    _good_name("a b.bin", "with a space inside"),
    _good_name(".hidden", "with a leading dot"),
    _good_name("Ähre.BIN", "beyond ASCII"),
    _id("0", 0),
    _id("7", 1),
    _id("-1", 1),
    _id("1x", 1),
    *probed("9", echoes_id),
    _bad("No filename is refused", "/slots/0?action=save", {}, re.compile(r"\[json\.exception\.out_of_range\.403\].*")),
    _bad(
        "A filename that is no text is refused",
        "/slots/0?action=restore",
        {"filename": 5},
        re.compile(r".*type must be string, but is number"),
    ),
    _bad("A save whose body is no JSON is refused", "/slots/0?action=save", b"", re.compile(r"\[json\.exception\..*")),
    _bad("An unknown action is refused", "/slots/0?action=frobnicate", {}, "Invalid action"),
    _bad("share is an unknown action", "/slots/0?action=share", {"socket": "/tmp/x", "n_tokens": 4}, "Invalid action"),
    _bad("A slot id that is no number is refused", "/slots/abc?action=erase", {}, "Invalid slot ID"),
    _bad("A slot id beyond an int is refused", "/slots/99999999999?action=erase", {}, "Invalid slot ID"),
    refused("9", "GET /slots/0 is 404", get("/slots/0"), 404, "not_found_error", "File Not Found"),
    refused(
        "9", "PUT /slots/0 is 404", Ask("PUT", "/slots/0?action=erase", b""), 404, "not_found_error", "File Not Found"
    ),
    refused(
        "9",
        "Without --slot-save-path there are no actions",
        post("/slots/0?action=erase", {}),
        501,
        "not_supported_error",
        "This server does not support slots action. Start it with `--slot-save-path`",
        setting="keys",
    ),
)
