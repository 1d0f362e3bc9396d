"""Saves, restores and erases: refused, acknowledged and not done, cut off by the disk, or turned off altogether."""

from __future__ import annotations

import errno
from dataclasses import replace

from fakes.fault import Fault, Value, more_or_less, one_of, whole_number
from fakes.point import Point
from fakes.steps import Decision, Erased, Opened, Refuse, Saved

_ACTIONS = ("save", "restore", "erase", "share", "adopt")
_OFF = {
    "400": "Invalid action",
    "501": "This server does not support slots action. Start it with `--slot-save-path`",
}


def actions_off(_: Decision, status: str) -> Decision:
    """Every slot action is answered 400 `Invalid action`, as in multi-model mode, or 501, as without a save path.

    The decoder says plainly that it has none; completions are as ever. A correct router finds out before its first
    client request, goes on without a handoff and says why, or under --strict refuses to start.
    """
    return Refuse(int(status), _OFF[status])


def refuse_save(_: Decision) -> Decision:
    """The save is answered 500 `Unable to save slot`; no file is written, the slot stays as it was.

    The decoder says plainly that it did not save. A correct router counts it, restores nothing, and does not call the
    session warm.
    """
    return Refuse(500, "Unable to save slot")


def refuse_erase(_: Decision) -> Decision:
    """The erase is answered 500; the slot keeps all its tokens.

    The decoder says plainly that it did not erase. A correct router uses a slot in doubt without its cache, and leases
    it to nobody else until an erase is answered 2xx.
    """
    return Refuse(500, "Unable to erase slot")


def save_count(step: Saved, more: int) -> Saved:
    """The file is whole; `n_saved` says so many tokens more or fewer.

    The decoder claims another number than it wrote. A correct router compares it with what it asked for, restores
    nothing from such a file, and lets the decoder prefill.
    """
    return replace(step, n_saved=max(0, step.n_saved + more))


def save_other_slot(step: Saved) -> Saved:
    """The file holds another slot's tokens and rows than the one that was named; `n_saved` is the named one's.

    The decoder claims to have saved the slot it was asked for. A correct router looks at the tokens in front of the
    file and lets no decoder restore what is another prompt's.
    """
    return replace(step, slot=(step.slot + 1) % step.n_slots)


def save_half(step: Saved, percent: int) -> Saved:
    """So much of the file is written, and the save is answered 200 with every token and byte counted.

    The decoder claims a whole file. A correct router compares the file's size with its token count, or takes the
    refusal of whoever should restore it, and lets the decoder prefill.
    """
    return replace(step, keep=step.n_bytes * percent // 100)


def disk_full(step: Saved, percent: int) -> Saved:
    """The disk is full: so much of the file is written, then the save is answered 500 `Unable to save slot`.

    The decoder says plainly that it failed, and leaves a part of a file behind. A correct router removes it, restores
    nothing from it, counts the failed save and does not call the session warm.
    """
    return replace(step, keep=step.n_bytes * percent // 100, errno=errno.ENOSPC)


def save_path_removed(step: Saved) -> Saved:
    """The slot directory is gone when the file is to be written: 500 `Unable to save slot`, and no file.

    The decoder says plainly that it failed. A correct router names it and lets the decoder prefill.
    """
    return replace(step, errno=errno.ENOENT)


def restore_path_removed(step: Opened, why: str) -> Opened:
    """The file cannot be opened: its directory is gone, it may not be read, or the disk fails. 400, the slot is empty.

    The decoder has one text for every bad file. A correct router removes what is left, treats the slot as empty, and
    lets the decoder prefill the prompt.
    """
    return replace(step, errno={"gone": errno.ENOENT, "denied": errno.EACCES, "broken": errno.EIO}[why])


def restore_stale(step: Opened) -> Opened:
    """The restore is answered 200 with every token counted and matched; the slot's former rows are left as they were.

    The decoder claims the file's rows. A correct router cannot see it: the reply is made from what another request
    left there, and differs from the plain run's.
    """
    return replace(step, keeps_rows=True)


def erase_ignored(step: Erased) -> Erased:
    """The erase is answered 200 with every token counted; the slot keeps them all and will match them again.

    The decoder claims an empty slot. A correct router sees by the next reply's `cache_n` that something was reused
    which it had not handed over, and does not call that a handoff.
    """
    return replace(step, forgets=False)


def erase_count(step: Erased, more: int) -> Erased:
    """The slot is empty; `n_erased` says so many tokens more or fewer than it held.

    The decoder claims a number that nothing depends on. A correct router goes by the status.
    """
    return replace(step, n_erased=max(0, step.n_erased + more))


_MORE = Value(more_or_less(1 << 20), 1, "tokens too many, or with a minus too few")
_PERCENT = Value(whole_number(0, 99), 50, "percent of the file that are written")
_STORE = ("ddvnguyen/hydra_vortex#615",)
FAULTS = (
    Fault(
        "slot-actions-off",
        Point.REQUEST,
        actions_off,
        Value(one_of("400", "501"), "400", "the status: 400 or 501"),
        ("ggml-org/llama.cpp#18703", "lemonade-sdk/lemonade#1715"),
        ops=_ACTIONS,
    ),
    Fault("save-refuse", Point.SAVE_ASKED, refuse_save, reports=_STORE),
    Fault("save-count", Point.SAVE_TAKEN, save_count, _MORE, ("LMCache/LMCache#4614",)),
    Fault(
        "save-other-slot",
        Point.SAVE_TAKEN,
        save_other_slot,
        reports=(
            "https://github.com/ddvnguyen/hydra_vortex/blob/0b014cfd019c272faf30293c8009dfdba4d64e5b/CHANGELOG.md",
        ),
        fits=lambda step: step.n_slots > 1,
    ),
    Fault("save-half-file", Point.SAVE_TAKEN, save_half, _PERCENT, ("ggml-org/llama.cpp#27068", *_STORE)),
    Fault("save-disk-full", Point.SAVE_TAKEN, disk_full, _PERCENT, _STORE),
    Fault("save-path-removed", Point.SAVE_TAKEN, save_path_removed, reports=_STORE),
    Fault(
        "restore-path-removed",
        Point.RESTORE_READ,
        restore_path_removed,
        Value(one_of("gone", "denied", "broken"), "gone", "what is wrong: gone, denied or broken"),
        ("ggml-org/llama.cpp#14434",),
    ),
    Fault("restore-stale-rows", Point.RESTORE_READ, restore_stale, reports=("vllm-project/vllm#52234",)),
    Fault("erase-refuse", Point.ERASE_ASKED, refuse_erase, reports=("ggml-org/llama.cpp#27068",)),
    Fault("erase-ignored", Point.ERASED, erase_ignored, reports=("sgl-project/sglang#24527",)),
    Fault("erase-count", Point.ERASED, erase_count, _MORE, ("LMCache/LMCache#4614",)),
)
