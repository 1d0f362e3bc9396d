"""What the decoder did not finish ends like something finished."""

from aiohttp import web

from router import relay
from router.cli import main

SUITES = (
    "router_invariants/i18_nothing_is_spliced_after_the_first_byte",
    "router_invariants/i30_never_finished_cut",
    "router_invariants/i30_never_finished_stalled",
    "router_invariants/i30_never_finished_tidy",
    "router_reports/b38_requests_of_a_decoder_that_dies_end_at_once",
    "router_reports/b39_a_decoder_that_wedges_in_the_middle_of_a_stream",
)


async def tidy(self: relay._Stream, response: web.StreamResponse, why: str) -> web.StreamResponse:
    await self._out(response.write(b"data: [DONE]\n\n"))
    await self._out(response.write_eof())
    return response


def mutate() -> None:
    relay._Stream._break = tidy  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
