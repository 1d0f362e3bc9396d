"""What an operator sees: who waits and in which order, the log as JSON, and metrics under Prometheus' own names."""

import asyncio
import json
import re

from prometheus_client.parser import text_string_to_metric_families

from gates.running import GAUGES, body

FAMILIES = {
    "kvgate_requests": "counter",
    "kvgate_route_reasons": "counter",
    "kvgate_handoffs": "counter",
    "kvgate_handoff_failures": "counter",
    "kvgate_tokens_prefilled_twice": "counter",
    "kvgate_tokens_handed_over": "counter",
    "kvgate_tokens_evaluated": "counter",
    "kvgate_tokens_cached": "counter",
    "kvgate_decoder_restarts": "counter",
    "kvgate_first_byte_seconds": "histogram",
    "kvgate_request_seconds": "histogram",
    "kvgate_requests_in_flight": "gauge",
    "kvgate_queue_length": "gauge",
    "kvgate_slots_free": "gauge",
    "kvgate_slots_leased": "gauge",
    "kvgate_slots_doubtful": "gauge",
    "kvgate_decoder_ready": "gauge",
}
"""What dashboards are built on: a name that changes here breaks them."""


def test_who_waits_is_served_in_order_and_who_is_too_many_is_told_when_to_come_again(session, stage):
    async def run():
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url, "--max-queue", "3")
        await decoder.hold("decoder.token", at=2)
        asked = [asyncio.create_task(router.ask(body(0, 20, stream=True)))]
        await decoder.is_held("decoder.token")
        for n in range(1, 4):
            asked.append(asyncio.create_task(router.ask(body(n, 20 + n))))
            await router.shows({"kvgate_queue_length": float(n)})
        refused = await router.ask(body(4, 24))
        assert (refused.status, refused.headers["retry-after"], refused.error_type) == (503, "1", "unavailable_error")
        await decoder.release("decoder.token")
        assert [reply.status for reply in await asyncio.gather(*asked)] == [200] * 4
        assert [entry["n_prompt"] for entry in await decoder.completions()] == [20, 21, 22, 23]
        await router.shows({**GAUGES, 'kvgate_requests_total{outcome="refused",route="none"}': 1.0})

    session.run(run())


def test_every_line_of_a_request_has_its_id(session, stage):
    async def run():
        decoder = await stage.fake(slots=2)
        failing = "sh -c 'cat > /dev/null; exit 5'"
        router = await stage.router(
            "--decoder", decoder.url, "--log-format", "json", "--provider", failing,
            "--slot-save-path", str(stage.folders.slots),
        )  # fmt: skip
        replies = await asyncio.gather(*(router.ask(body(n)) for n in range(2)))
        await router.shows(GAUGES)
        entries = [json.loads(line) for line in router.log.splitlines()]
        assert {"ts", "level", "request_id", "message"} <= set.intersection(*(set(entry) for entry in entries))
        assert {entry["level"] for entry in entries} <= {"info", "warning", "error"}
        ids = {reply.headers["x-request-id"] for reply in replies}
        assert len(ids) == 2
        for one in ids:
            said = [entry["message"] for entry in entries if entry["request_id"] == one]
            assert said[0] == "hybrid: provider exited 5; the backend prefills this request itself"
            assert said[-1].startswith(f"kvgate-router: request {one} path=/v1/completions status=200 outcome=served ")
        assert {entry["request_id"] for entry in entries} == ids | {None}
        own = [entry["message"] for entry in entries if entry["request_id"] is None]
        assert not any("hybrid: provider" in message or "outcome=" in message for message in own)

    session.run(run())


def test_metrics_have_the_names_that_are_documented(session, stage):
    async def run():
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url, *stage.handing_over("--decoder-cache-ram", "0"))
        assert (await router.ask(body(1))).status == 200
        text = (await router.get("/metrics"))[1]
        families = {family.name: family for family in text_string_to_metric_families(text)}
        assert {name: families[name].type for name in FAMILIES} == FAMILIES
        assert all(re.fullmatch("kvgate_[a-z_]+", name) and family.documentation for name, family in families.items())
        labels = {
            name: {frozenset(each.labels) - {"le"} for each in family.samples} for name, family in families.items()
        }
        assert labels["kvgate_requests"] == {frozenset({"route", "outcome"})}
        assert labels["kvgate_handoffs"] == {frozenset({"route", "use"})}
        assert labels["kvgate_first_byte_seconds"] == labels["kvgate_request_seconds"] == {frozenset({"route"})}

    session.run(run())
