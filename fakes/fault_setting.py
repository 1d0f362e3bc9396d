"""A fault's setting as people write it: `NAME[=VALUE]` with limits behind it, into a fault that is armed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fakes.fault import Armed, Fault, FaultError, Limit, When, one_of, whole_number
from fakes.near import near

_LIMITS = ("only", "first", "every", "p", "seed", "op", "slot", "path", "stream", "text", "scope")
_LIMIT = re.compile(rf",({'|'.join(_LIMITS)})=([^,]*)$")
_LIKE_A_LIMIT = re.compile(r",(\w+)=")


def parse_setting(text: str, catalogue: Mapping[str, Fault]) -> Armed:
    """`NAME[=VALUE]` and limits behind it (`,only=2,p=0.3,seed=7,op=PREFILL,slot=0`) as an armed fault.

    FaultError says what is wrong with it.
    """
    limits: dict[str, str] = {}
    rest = text
    while (found := _LIMIT.search(rest)) is not None:
        if limits.setdefault(found[1], found[2]) != found[2]:
            raise FaultError(f"{text!r} says {found[1]} twice")
        rest = rest[: found.start()]
    name, equals, value = rest.partition("=")
    fault = catalogue.get(name)
    if fault is None:
        known = catalogue.get(name.partition(",")[0])
        raise _no_limit(known, rest) or FaultError(f"no fault is called {name!r}{near(name, catalogue)}")
    _refuse_what_never_comes(fault, limits)
    try:
        read = read_value(fault, value if equals else None)
    except FaultError as error:
        raise _no_limit(fault, rest) or error from None
    return Armed(fault, read, _limit(text, limits))


def _no_limit(fault: Fault | None, text: str) -> FaultError | None:
    """Where a known fault's text goes on as with a limit, but there is none of that name."""
    unknown = [name for name in _LIKE_A_LIMIT.findall(text) if name not in _LIMITS]
    if fault is None or not unknown:
        return None
    hint = near(unknown[0], _LIMITS)
    if fault.value is not None and "did you mean" not in hint:
        return None  # its value may have commas of its own
    return FaultError(f"fault {fault.name} has no limit {unknown[0]!r}{hint}")


def _refuse_what_never_comes(fault: Fault, limits: Mapping[str, str]) -> None:
    """FaultError: a limit asks for something that no step at this point has, so the fault could never fire."""
    lacking: tuple[str, ...] = () if fault.point.meets_a_request else ("path", "stream", "text", "scope")
    if fault.point.who != "engine" and lacking:
        lacking += ("op", "slot")
    asked = [name for name in limits if name in lacking]
    if asked:
        raise FaultError(f"fault {fault.name} meets no request at {fault.point.value}, so {asked[0]}= would never hold")


def read_when(texts: Mapping[str, str]) -> When:
    """Which steps are meant, out of texts. FaultError: an unknown name, or a text that cannot be read."""
    unknown = [name for name in texts if name not in _WHEN]
    if unknown:
        raise FaultError(f"no step has a {unknown[0]!r}{near(unknown[0], _WHEN)}")
    slot = whole_number(0, 1 << 20)(texts["slot"]) if "slot" in texts else None
    stream = one_of("yes", "no")(texts["stream"]) == "yes" if "stream" in texts else None
    return When(texts.get("op"), slot, texts.get("path"), stream, texts.get("text"), texts.get("scope"))


def read_value(fault: Fault, text: str | None) -> Any:
    """The value of a fault out of its text, None where it was left out."""
    if fault.value is None:
        if text not in (None, "1"):
            raise FaultError(f"fault {fault.name} takes no value, it was given {text!r}")
        return None
    if text is None:
        if fault.value.default is None:
            raise FaultError(f"fault {fault.name} needs a value: {fault.value.means}")
        return fault.value.default
    try:
        return fault.value.read(text)
    except FaultError as error:
        raise FaultError(f"fault {fault.name}: {error}") from None


_WHEN = ("op", "slot", "path", "stream", "text", "scope")


def _limit(text: str, limits: Mapping[str, str]) -> Limit:
    def number(name: str, low: int, high: int) -> int | None:
        return whole_number(low, high)(limits[name]) if name in limits else None

    try:
        only, first, every = (number(name, 1, 1 << 40) for name in ("only", "first", "every"))
        seed = number("seed", 0, 1 << 62) or 0
        when = read_when({name: value for name, value in limits.items() if name in _WHEN})
    except FaultError as error:
        raise FaultError(f"fault {text}: {error}") from None
    p = None
    if "p" in limits:
        if not re.fullmatch(r"0|1|[01]?\.\d{1,17}", limits["p"]) or float(limits["p"]) > 1:
            raise FaultError(f"fault {text}: {limits['p']!r} is no probability from 0 to 1")
        p = float(limits["p"])
    return Limit(only, p, seed, first, every, when)
