"""A request's id is the client's, where it sends one."""

from types import SimpleNamespace

from aiohttp import web
from aiohttp.web_request import BaseRequest

from router import server
from router.cli import main

SUITES = ("router_reports/b42_names_that_lead_elsewhere_lead_nowhere",)


def mutate() -> None:
    honest, own = server.Front._serve, server.secrets

    async def serve(self: server.Front, endpoint: server.Endpoint, client: BaseRequest) -> web.StreamResponse:
        wanted = client.headers.get("X-Request-Id")
        server.secrets = SimpleNamespace(token_hex=lambda n: wanted or own.token_hex(n))
        return await honest(self, endpoint, client)

    server.Front._serve = serve  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
