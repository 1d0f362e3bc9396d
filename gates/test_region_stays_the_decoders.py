"""The region is the decoder's own memory, handed on and never looked into: seen from outside, in the middle of it."""

import asyncio
import json
import os
from pathlib import Path

from gates.attended import attended
from harness.deadline import until
from harness.left_behind import regions_mapped

HELD = """\
scenario: a provider that holds the region for a while
under_test: router
provider: {faults: [provider-hang]}
router: {kv_share: true, args: [--provider-timeout, "4"]}
requests:
  - {prompt: {tokens: 30}}
checks:
  it is answered:
    reply: {status: 200}
"""


def inodes(pid):
    """The inodes of the memory descriptors that a process holds."""
    folder = f"/proc/{pid}/fd"
    held = [os.path.join(folder, name) for name in os.listdir(folder)]
    return {os.stat(each).st_ino for each in held if os.readlink(each).startswith("/memfd:")}


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_text()


def test_three_processes_one_region_and_the_router_never_maps_it(session, tmp_path):
    seen = {}

    async def attend(run, asking):
        task = asyncio.create_task(asking)
        path = run.folders.evidence / "provider.jsonl"

        async def hanging():
            lines = path.read_text().splitlines() if path.exists() else []
            entries = [json.loads(line) for line in lines if line.endswith("}")]
            return entries if any(entry["event"] == "hangs" for entry in entries) else None

        entries = await until(20, "the provider to hang with the region in its hands", hanging)
        provider, router = entries[0]["pid"], run.cast.pids["build"]
        seen.update(router=router, provider=provider, given=entries[0]["fds"])
        seen.update(router_holds=inodes(router), router_maps=regions_mapped(router))
        seen.update(provider_holds=inodes(provider), command=command_of(router))
        await task

    record = attended(session, tmp_path, HELD, attend)
    start = record.journals["decoder"].events[0].fields
    given = {each["inode"] for each in seen["given"]}
    assert given
    assert given <= set(start["kv_inodes"])
    assert given <= seen["provider_holds"]
    assert given <= seen["router_holds"], "the look came too early or too late to prove anything"
    assert seen["router_maps"] == []
    assert len({seen["router"], seen["provider"], start["pid"]}) == 3
    assert "kvgate-router" in seen["command"]
    hung = [event.fields for event in record.journals["provider"].events]
    assert hung[-1]["event"] == "end"
    assert record.exchanges[0].reply.status == 200
    assert any("provider" in line and "prefills this request itself" in line for line in record.logs["build"].lines)
