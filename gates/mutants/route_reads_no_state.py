"""State is sent on as it comes: whose it is and whether it is whole is not looked at on its way."""

from router.cli import main
from router.engines.transfer import Inspection, Known

SUITES = ("hydra_router/bad_state", "hydra_router/form_v1", "hydra_router/other_prompt")


async def head(self: Inspection, tokens: tuple[int, ...]) -> Known:
    return Known(len(tokens), len(tokens))


async def chunk(self: Inspection) -> bytes:
    data = await self._source.chunk()
    self._hash.update(data)
    return data


def mutate() -> None:
    Inspection.head = head  # type: ignore[method-assign]
    Inspection._next = chunk  # type: ignore[method-assign]
    Inspection._close = lambda self: None  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
