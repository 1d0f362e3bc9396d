"""Section 3: API keys."""

from __future__ import annotations

from harness.conform.clause import Clause, expect, probed
from harness.conform.setting import KEYS, Setting
from harness.conform.target import Target
from harness.conform.wire_client import Answer, Ask, get

_ONE, _OTHER = KEYS


async def _with(t: Target, ask: Ask, **headers: str) -> Answer:
    t.setting, own = Setting((), headers={name.replace("_", "-"): value for name, value in headers.items()}), t.setting
    try:
        return await t.ask(ask)
    finally:
        t.setting = own


async def _status(t: Target, status: int, ask: Ask | None = None, **headers: str) -> None:
    expect((await _with(t, ask or get("/props"), **headers)).status, status, "the status")


async def bearer(t: Target) -> None:
    """`Authorization: Bearer KEY` opens."""
    await _status(t, 200, Authorization=f"Bearer {_ONE}")


async def any_key(t: Target) -> None:
    """Every key of the list opens."""
    await _status(t, 200, Authorization=f"Bearer {_OTHER}")


async def bare(t: Target) -> None:
    """The bare key in Authorization opens."""
    await _status(t, 200, Authorization=_ONE)


async def x_api_key(t: Target) -> None:
    """`X-Api-Key: KEY` opens when there is no Authorization."""
    await _status(t, 200, X_Api_Key=_ONE)


async def x_api_key_beside(t: Target) -> None:
    """X-Api-Key does not count beside a wrong Authorization."""
    await _status(t, 401, Authorization="Bearer wrong", X_Api_Key=_ONE)


async def lower_case(t: Target) -> None:
    """`bearer` in lower case does not open."""
    await _status(t, 401, Authorization=f"bearer {_ONE}")


async def without(t: Target) -> None:
    """Without a key it is 401 `Invalid API Key`, keys in that order, and a close."""
    answer = await _with(t, get("/props"))
    expect(answer.status, 401, "the status")
    expect(answer.json, {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}})
    expect(list(answer.json["error"]), ["message", "type", "code"], "the keys of the error")
    expect(answer.header("Connection"), "close", "Connection")


async def wrong(t: Target) -> None:
    """A wrong key is 401."""
    await _status(t, 401, Authorization="Bearer first-ke")


async def unknown_route(t: Target) -> None:
    """An unknown route without a key is 401, not 404."""
    await _status(t, 401, get("/nowhere"))


async def unknown_with_key(t: Target) -> None:
    """An unknown route with a key is 404."""
    await _status(t, 404, get("/nowhere"), Authorization=f"Bearer {_ONE}")


async def models(t: Target) -> None:
    """/v1/models needs a key."""
    await _status(t, 401, get("/v1/models"))


async def health(t: Target) -> None:
    """/health needs no key."""
    await _status(t, 200, get("/health"))


async def v1_health(t: Target) -> None:
    """/v1/health needs no key."""
    await _status(t, 200, get("/v1/health"))


async def options(t: Target) -> None:
    """OPTIONS needs no key."""
    await _status(t, 200, Ask("OPTIONS", "/props"))


CLAUSES: tuple[Clause, ...] = probed(
    "3",
    bearer,
    any_key,
    bare,
    x_api_key,
    x_api_key_beside,
    lower_case,
    without,
    wrong,
    unknown_route,
    unknown_with_key,
    models,
    health,
    v1_health,
    options,
    setting="keys",
)
