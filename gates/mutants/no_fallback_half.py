"""A decoder that cannot share its KV prefills the prompt itself, and a plain fallback is forwarded unpinned."""

from dataclasses import replace

from router.cli import main
from router.routes import choose, plain

SUITES = ("hybrid_kvshare_route/refused",)


def mutate() -> None:
    for pair, row in choose.TABLE.items():
        if row.next is choose.Next.STATE_FILE:
            choose.TABLE[pair] = replace(row, next=choose.Next.PLAIN)
    pinned = plain.fields_for

    def unpinned_fallbacks(slot: int, *, in_doubt: bool, fell_back: bool, cache_prompt: object) -> dict[str, object]:
        if fell_back:
            return {}
        return pinned(slot, in_doubt=in_doubt, fell_back=fell_back, cache_prompt=cache_prompt)

    plain.fields_for = unpinned_fallbacks


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
