"""A client's own id_slot is used, and its headers choose the route."""

from typing import Any

from router import request_body
from router.cli import main
from router.dispatch import Dispatcher
from router.request_body import ClientRequest

SUITES = ("router_invariants/i45_no_field_of_a_client_chooses_a_slot",)


class Trusting(dict[str, Any]):
    """A body whose id_slot nobody looks at."""

    def get(self, name: str, default: Any = None) -> Any:
        return default if name == "id_slot" else super().get(name, default)


def mutate() -> None:
    honest, loads = Dispatcher.serve, request_body.json.loads
    request_body.json.loads = lambda *raw, **how: loads(*raw, **how, object_pairs_hook=Trusting)

    async def serve(self: Dispatcher, request: ClientRequest, client: Any, exchange: Any) -> Any:
        self._planner._has_provider = client.headers.get("X-KVGate-Route") != "plain"
        return await honest(self, request, client, exchange)

    Dispatcher.serve = serve  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
