"""Whoever answers behind the prefill server's address is asked for rows."""

from router.cli import main
from router.providers.llama_server import LlamaServerProvider

SUITES = ("router_invariants/i07_no_rows_of_another_model",)


async def look_at_nothing(self: LlamaServerProvider) -> None:
    return


def mutate() -> None:
    LlamaServerProvider.look_again = look_at_nothing  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
