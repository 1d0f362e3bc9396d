"""An engine whose RPC port does not serve a connection as it should."""

from __future__ import annotations

from dataclasses import replace

from fakes.engine.steps import Accept, Admission, Arrival
from fakes.fault import Fault, Value, one_of, whole_number
from fakes.fault_reports import RPC_ENGINE
from fakes.point import Point


def refuse_connect(step: Accept) -> Accept:
    """The connection is reset as soon as it is there (F01).

    Nothing is claimed. A correct router tries again a few times, then takes another engine or the HTTP side, and
    leaks no slot.
    """
    return replace(step, arrival=Arrival.RESET)


def accept_silence(step: Accept) -> Accept:
    """The connection is accepted and whatever it says is never answered (F02).

    The engine claims to be there. A correct router gives up at the request's own deadline, drops the connection, and
    takes another engine.
    """
    return replace(step, arrival=Arrival.IGNORE)


def pool_exhausted(step: Accept, how: str) -> Accept:
    """All workers are taken: the connection waits without a word, or is closed on arrival (F03).

    The engine claims to be there, or nothing at all; that others keep it busy it does not say. A correct router gives
    up at its deadline and backs off; the engine's health is not at stake.
    """
    return replace(step, arrival=Arrival(how))


def idle_close(step: Accept, milliseconds: int) -> Accept:
    """A connection that says nothing for a moment is closed (F04).

    Nothing is claimed, and nothing was asked. A correct router opens a new one without a word and sends the request
    once.
    """
    return replace(step, idle_s=milliseconds / 1000)


def wrong_magic_close(step: Admission) -> Admission:
    """The connection is closed behind a request's head, as behind a wrong magic: no answer, nothing done (F14).

    The engine claims, without a word, that it was spoken to wrongly. A correct router does not send the same request
    for ever.
    """
    return replace(step, answered=False)


FAULTS = (
    Fault("engine-refuse-connect", Point.ENGINE_ACCEPT, refuse_connect, reports=("sgl-project/sglang#29482",)),
    Fault(
        "engine-accept-silence",
        Point.ENGINE_ACCEPT,
        accept_silence,
        reports=("ddvnguyen/llama.cpp#77", "vllm-project/vllm-ascend#14123"),
    ),
    Fault(
        "engine-pool-exhausted",
        Point.ENGINE_ACCEPT,
        pool_exhausted,
        Value(one_of("wait", "close"), "wait", "what"),
        reports=("LMCache/LMCache#4209",),
    ),
    Fault(
        "engine-idle-close",
        Point.ENGINE_ACCEPT,
        idle_close,
        Value(whole_number(1, 3_600_000), 200, "ms of silence"),
        reports=("sgl-project/sglang#34570",),
    ),
    Fault("engine-wrong-magic-close", Point.ENGINE_ADMIT, wrong_magic_close, reports=(RPC_ENGINE,)),
)
