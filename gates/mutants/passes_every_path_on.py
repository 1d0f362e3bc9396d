"""A path that the router does not know is passed on to the decoder."""

from aiohttp import web
from aiohttp.web_request import BaseRequest

from router.cli import main
from router.server import Front

SUITES = ("router_invariants/i44_there_is_no_side_door",)


def mutate() -> None:
    honest = Front.handle

    async def handle(self: Front, client: BaseRequest) -> web.StreamResponse:
        response = await honest(self, client)
        if response.status != 404:
            return response
        decoder = self._decoders.ready()[0].client
        answer = await decoder._call(client.method, client.path_qs, await client.read() or None, 5.0)
        return web.Response(status=answer.status, body=answer.body)

    Front.handle = handle  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
