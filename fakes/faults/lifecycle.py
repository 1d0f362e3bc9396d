"""A decoder process that comes late, ends, stands still, does not end, or comes back as something else."""

from __future__ import annotations

import signal
from dataclasses import replace

from fakes.fault import Fault, FaultError, Value, one_of, whole_number
from fakes.point import Point
from fakes.steps import Decision, Die, Freeze, GivingUp, Load, Ready, Restart, Stopping

_SIGNALS = {"kill": signal.SIGKILL, "segv": signal.SIGSEGV, "abrt": signal.SIGABRT}


def load_slow(step: Load, milliseconds: int) -> Load:
    """Loading takes so long; until then every call is answered 503 `Loading model`.

    The decoder says plainly that it is not ready. A correct router is not healthy either, sends nothing, and serves as
    soon as the decoder is there.
    """
    return replace(step, seconds=milliseconds / 1000)


def load_never(step: Load) -> Load:
    """Loading never ends: every call is answered 503 `Loading model`, for ever.

    The decoder claims to be on its way. A correct router waits so long and no longer, says what it waits for, and
    remains not ready.
    """
    return replace(step, seconds=None)


def load_dies(step: Load, status: int) -> Load:
    """The process ends while it loads, with that exit status.

    The decoder claims nothing; its port is gone. A correct router that started it says with which status it ended,
    tries again with longer and longer pauses, and stays not ready meanwhile.
    """
    return replace(step, die=Die(None, status))


def die_ready(step: Ready, milliseconds: int) -> Ready:
    """The process is killed so long after it was ready, whatever it is doing.

    The decoder was ready once. A correct router does not go on listing it as ready: what is in flight fails at once and
    openly, and the next request finds another one or a fresh one.
    """
    return replace(step, dies_after_s=milliseconds / 1000)


def die_request(_: Decision, how: str) -> Decision:
    """The request is read whole, then the process dies: by a signal, or with the exit status given.

    Nothing was done, which nobody can know. A correct router answers the client in time with an error that names it,
    and does not send a completion on to the next decoder as if nothing had happened.
    """
    return Die(None, int(how)) if how.isdecimal() else Die(_SIGNALS[how])


def frozen(_: Decision) -> Decision:
    """The request is read whole, then the process is stopped by SIGSTOP; its port still takes connections.

    The process claims nothing; the kernel goes on accepting for it. A correct router gives up at its deadlines, calls
    the decoder not ready although it can be connected to, and when it has to end a decoder of its own it kills it.
    """
    return Freeze()


def term_ignored(step: Stopping) -> Stopping:
    """SIGTERM and SIGINT change nothing: the process goes on serving.

    The decoder claims to be well, whatever it was told. A correct router that started it waits as long as it says,
    then kills it, and leaves nothing behind.
    """
    return replace(step, seconds=None)


def term_slow(step: Stopping, milliseconds: int) -> Stopping:
    """After SIGTERM the process takes so long until it ends; it goes on serving meanwhile.

    The decoder claims nothing but that it still serves. A correct router gives it that time where it is within the
    limit, and sends it nothing new.
    """
    return replace(step, seconds=milliseconds / 1000)


def back_empty(_: Decision, milliseconds: int) -> Decision:
    """Connections are reset, the port is closed for so long, then the decoder is back with empty slots and new memory.

    The new process claims nothing about the old one's slots. A correct router fails what was in flight openly and
    takes no slot for warm that another process had filled.
    """
    return Restart(gone_s=milliseconds / 1000)


def back_as_other(_: Decision, model: str) -> Decision:
    """Connections are reset, the port is closed for a moment, then the decoder is back with another model.

    `/props` and every answer name the new model; nothing else tells. A correct router asks again after it lost the
    decoder, and hands no rows of the old model over to the new one.
    """
    return Restart(model=model)


def not_cancelled(step: GivingUp) -> GivingUp:
    """A client leaves and the work for it goes on to its end, with its slot busy.

    The decoder does not notice. A correct router lets nothing depend on the slot being free at once: it waits for it,
    within its deadline, or takes another.
    """
    return replace(step, gives_up=False)


def _how(text: str) -> str:
    if text.isdecimal() and text != "1":
        return str(whole_number(0, 255)(text))
    return one_of(*_SIGNALS)(text)


def _model(text: str) -> str:
    if text == "1":
        return "toy:seed=2"
    if not text.startswith("toy"):
        raise FaultError(f"{text!r} is no toy model, as in toy:seed=2")
    return text


_MS = whole_number(0, 3_600_000)
FAULTS = (
    Fault("load-slow", Point.LOAD, load_slow, Value(_MS, 1000, "ms it takes"), ("mostlygeek/llama-swap#946",)),
    Fault("load-never", Point.LOAD, load_never, reports=("llm-d/llm-d-router#2427", "ollama/ollama#15950")),
    Fault(
        "load-dies",
        Point.LOAD,
        load_dies,
        Value(whole_number(0, 255), 1, "exit status"),
        ("ollama/ollama#17516", "mostlygeek/llama-swap#138"),
    ),
    Fault(
        "die-after-ready",
        Point.READY,
        die_ready,
        Value(_MS, 0, "ms after it was ready"),
        ("ollama/ollama#17516", "ai-dynamo/dynamo#13088"),
    ),
    Fault(
        "die-on-request",
        Point.REQUEST,
        die_request,
        Value(_how, "kill", "kill, segv, abrt, or an exit status other than 1"),
        ("ollama/ollama#17516", "ggml-org/llama.cpp#14434"),
    ),
    Fault("process-frozen", Point.REQUEST, frozen, reports=("ai-dynamo/dynamo#13088", "ggml-org/llama.cpp#27388")),
    Fault("term-ignored", Point.STOPPING, term_ignored, reports=("ggml-org/llama.cpp#27388",)),
    Fault(
        "term-slow",
        Point.STOPPING,
        term_slow,
        Value(_MS, 1000, "ms it takes to end"),
        ("mostlygeek/llama-swap#138",),
    ),
    Fault(
        "back-empty",
        Point.REQUEST,
        back_empty,
        Value(_MS, 50, "ms without a port"),
        ("ollama/ollama#17516", "ggml-org/llama.cpp#26676"),
    ),
    Fault(
        "back-as-other-model",
        Point.REQUEST,
        back_as_other,
        Value(_model, "toy:seed=2", "the model it comes back as"),
        ("ddvnguyen/hydra_vortex#470",),
    ),
    Fault("not-cancelled", Point.GONE, not_cancelled, reports=("ggml-org/llama.cpp#24496",)),
)
