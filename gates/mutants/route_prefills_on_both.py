"""The engine that decodes is asked to prefill the prompt as well, before the state is put into it."""

from router.cli import main
from router.engines.engine import Look
from router.engines.rpc import Session
from router.engines.source import Prefilling
from router.routes.engine import EngineHandoff

SUITES = ("hydra_router/merged",)


def mutate() -> None:
    honest = EngineHandoff._receiver

    async def receiver(self: EngineHandoff, session: Session) -> Look:
        timeouts = self.around.timeouts
        there = Prefilling(self.engine, session, self.slot, self.request, len(self.tokens), self.deadline, timeouts)
        source = await there.prefill()
        while await source.chunk():
            pass
        session.close()
        return await honest(self, session)

    EngineHandoff._receiver = receiver  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
