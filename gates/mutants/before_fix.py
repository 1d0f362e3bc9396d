"""The build before the fix, both halves: a refused share is not followed by the state-file route, plain fallbacks go
out as they came, and the shared route takes the region on the provider's exit alone.
"""

from gates.mutants import claim_half, no_fallback_half
from router.cli import main

SUITES = ("hybrid_kvshare_route/refused", "hybrid_kvshare_route/short")


def mutate() -> None:
    no_fallback_half.mutate()
    claim_half.mutate()


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
