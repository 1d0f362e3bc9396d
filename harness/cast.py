"""The processes of one run: started, signalled, started again, ended, and what each wrote.

Whatever happens in between, everything that was started is ended, and every pipe read to its end.
"""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass, field, replace

from harness.build_process import free_port, rpc_address, start_build, wait_ready
from harness.deadline import within
from harness.decoders import Decoder, Engine, start_decoder, start_engine
from harness.errors import HarnessError
from harness.hydra_client import HydraClient
from harness.interventions import Send, Start
from harness.left_behind import Descriptors, descriptors, descriptors_left, end_strays, files_left
from harness.models import is_known, model_file
from harness.plan import (
    Addresses,
    Folders,
    Options,
    base_env,
    build_argv,
    build_env,
    decoder_wrapper,
    model_of,
    needs_port,
)
from harness.processes import ENDED_AS_ASKED, Process, Tails, ended_how
from harness.profiles import Build
from harness.record import Exit, Journal, Log, read_journal, read_log
from harness.scenario import DecoderSpec, Kind, Scenario
from harness.session import Session
from harness.steps.engine_act import EngineAt
from harness.steps.engine_spec import On
from harness.steps.spec import Restart

_END_S = 10.0
_AS_IT_WAS = Restart()


@dataclass(slots=True)
class Cast:
    """All processes of one run.

    `findings` are what the build left or did beside the checks, `errors` why the run cannot be trusted. `argvs` and
    `envs` are how each process was started.
    """

    session: Session
    scenario: Scenario
    build: Build
    folders: Folders
    options: Options
    findings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    argvs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    envs: dict[str, dict[str, str]] = field(default_factory=dict)
    exits: dict[str, Exit] = field(default_factory=dict)
    decoders: dict[str, Decoder] = field(default_factory=dict)
    url: str = ""
    """Of the build, once it was ready."""
    _engines: dict[str, Engine] = field(default_factory=dict)
    _process: Process | None = None
    _rpc: tuple[str, int] | None = None
    _before: Descriptors = field(default_factory=lambda: Descriptors({}))
    _former: list[tuple[str, Process]] = field(default_factory=list)
    _signalled: dict[str, set[int]] = field(default_factory=dict)

    def _processes(self) -> list[Process]:
        own = [self._process] if self._process is not None else []
        return [*own, *self._beside().values()]

    def _beside(self) -> dict[str, Process]:
        """The decoders and engines beside the build, by name."""
        decoders = {who: decoder.process for who, decoder in self.decoders.items()}
        return decoders | {who: engine.process for who, engine in self._engines.items()}

    def tails(self) -> str:
        """The last lines of every process."""
        return Tails(tuple(self._processes()))()

    @property
    def urls(self) -> dict[str, str]:
        """Where each process that serves can be reached."""
        decoders = {who: decoder.url for who, decoder in self.decoders.items()}
        return decoders | ({"build": self.url} if self.url else {})

    @property
    def pids(self) -> dict[str, int]:
        """The process behind each name."""
        own = {"build": self._process.pid} if self._process is not None else {}
        return own | {who: process.pid for who, process in self._beside().items()}

    # -- starting

    async def start(self) -> None:
        """Everything that the scenario wants before its first request."""
        if self.scenario.under_test is Kind.ROUTER and not self.scenario.router.own_decoder:
            for who, decoder in self.scenario.decoders.items():
                await self._start_decoder(who, decoder)
        if self.scenario.prefill is not None:
            await self._start_decoder("prefill", self.scenario.prefill)
        for who, spec in self.scenario.fake_engines.items():
            engine = await start_engine(self.session, spec, who, self.folders, self.scenario.seed)
            self._engines[who] = engine
            self.argvs[who] = engine.process.argv
        await self._start_build()

    async def _start_decoder(self, who: str, spec: DecoderSpec) -> None:
        decoder = await start_decoder(self.session, spec, who, self.folders, self.options, self.scenario.seed)
        self.decoders[who] = decoder
        self.argvs[who] = decoder.process.argv

    async def _start_build(self, restart: Restart = _AS_IT_WAS) -> None:
        if self.scenario.router.own_decoder:
            wrapper = self.folders.scratch / "llama-server"
            wrapper.write_text(decoder_wrapper(self.options))
            wrapper.chmod(0o700)
        self._write_files()
        addresses = await self._addresses(restart.model)
        argv = [*build_argv(self.scenario, self.build, self.folders, addresses, self.options), *restart.args]
        env = build_env(self.scenario, self.build, self.folders, addresses, self.options)
        self.argvs["build"] = tuple(argv)
        base = base_env("build", self.folders)
        self.envs["build"] = {name: value for name, value in env.items() if base.get(name) != value}
        ready = self.build.profile.ready
        nth = self._nth("build")
        log = f"build-{nth}.log" if nth > 1 else "build.log"
        self._process = await start_build(self.session.guardian, argv, env, ready, self.folders, log)
        self.url = await wait_ready(self._process, ready, addresses.port, self.options.ready_s)
        if self.scenario.under_test is Kind.ENGINE:
            self._rpc = await rpc_address(self._process, ready, addresses.rpc_port)

    def _write_files(self) -> None:
        """The files that the build's flags name."""
        if self.scenario.router.files:
            self.folders.files.mkdir(mode=0o700, exist_ok=True)
        for name, text in self.scenario.router.files.items():
            path = self.folders.files / name
            path.write_text(text)
            path.chmod(0o600)

    def engine_addresses(self) -> dict[On, EngineAt]:
        """Where steps reach the engine under test, and the one beside it."""
        found = {} if self._rpc is None else {On.BUILD: EngineAt(HydraClient(*self._rpc), self.url)}
        if "peer" in self._engines:
            host, _, port = self._engines["peer"].rpc.rpartition(":")
            found[On.PEER] = EngineAt(HydraClient(host, int(port)), self._engines["peer"].url)
        return found

    async def _addresses(self, model: str = "") -> Addresses:
        decoder, prefill = self.decoders.get("decoder"), self.decoders.get("prefill")
        urls = [self.decoders[who].url for who in self.scenario.decoders if who in self.decoders]
        engines = {who: (engine.url, engine.rpc) for who, engine in self._engines.items()}
        prefill_engine, decode_engine = (engines.get(who, ("", "")) for who in ("engine_prefill", "engine_decode"))
        return Addresses(
            decoder_url=decoder.url if decoder is not None else decode_engine[0],
            engine_prefill_url=prefill_engine[0],
            engine_prefill_rpc=prefill_engine[1],
            engine_decode_rpc=decode_engine[1],
            more_decoder_urls=tuple(urls[1:]),
            prefill_url=prefill.url if prefill is not None else "",
            port=free_port() if needs_port(self.build) else 0,
            rpc_port=free_port() if needs_port(self.build) else 0,
            model=decoder.model if decoder is not None else await self._model(model),
        )

    async def _model(self, other: str) -> str:
        """What the build is given as its model: a known model's file, or what was said as it stands."""
        named = other or model_of(self.scenario, self.options)
        if self.scenario.under_test is not Kind.DECODER or not is_known(named):
            return named
        return str(await asyncio.to_thread(model_file, named, download=self.options.real))

    # -- while it runs

    async def restart(self, how: Restart = _AS_IT_WAS) -> str:
        """The build ended and started afresh; where it listens."""
        assert self._process is not None
        await self._end_build(self._process)
        await self._process.read_to_end()
        self._process.output.close()
        self._former.append(("build", self._process))
        await self._start_build(how)
        self.count_descriptors()
        return self.url

    async def send(self, who: str, act: Send) -> None:
        """A process of the build's or the build's own child is found by the journal that it keeps."""
        process = self._process if who == "build" else self._beside().get(who)
        if process is not None:
            process.send(act.number)
        else:
            pid = self._pid_in_journal(who)
            os.kill(pid, act.number)
        self._signalled.setdefault(who, set()).add(process.pid if process is not None else pid)
        if act.number is signal.SIGKILL and who == "build":
            self._children_go_too()
        if act.number is signal.SIGKILL and process is not None:
            await within(_END_S, f"the end of {who}", asyncio.shield(process.exited))

    def _children_go_too(self) -> None:
        """What a build had started ends with it, and cannot write the end of its journal."""
        for who in ("decoder", "provider"):
            if who not in self.decoders:
                journal = read_journal(self.folders.evidence / f"{who}.jsonl", ended=False)
                pids = {event.fields.get("pid") for event in journal.events if event.event == "start"}
                self._signalled.setdefault(who, set()).update(pid for pid in pids if isinstance(pid, int))

    def _pid_in_journal(self, who: str) -> int:
        journal = read_journal(self.folders.evidence / f"{who}.jsonl", ended=False)
        pids = [event.fields.get("pid") for event in journal.events if event.event == "start"]
        if not pids or not isinstance(pids[-1], int):
            raise HarnessError(f"there is no {who} to send a signal to: its journal names none")
        return pids[-1]

    async def start_again(self, who: str, act: Start) -> None:
        """A decoder at its old address, or the build, after its end."""
        process = self._process if who == "build" else self._beside().get(who)
        if process is None:
            raise HarnessError(f"the {who} is not the harness's to start")
        await within(_END_S, f"the end of {who}, before it is started again", asyncio.shield(process.exited))
        if who == "build":
            # Its decoder ended with it, and may not have come to tidy up.
            (self.folders.scratch / "decoder.sock").unlink(missing_ok=True)
            await self.restart()
            return
        former, nth = self.decoders[who], self._nth(who) + 1
        spec = self.scenario.prefill if who == "prefill" else self.scenario.decoders[who]
        assert spec is not None
        spec = replace(spec, faults=act.faults)
        port = int(former.url.rpartition(":")[2])
        await process.read_to_end()
        process.output.close()
        self._former.append((who, process))
        (self.folders.scratch / f"{who}.sock").unlink(missing_ok=True)
        started = await start_decoder(
            self.session, spec, who, self.folders, self.options, self.scenario.seed, again=(nth, port)
        )
        self.decoders[who] = started

    def _nth(self, who: str) -> int:
        """Which start of `who` the one that runs is, or the next one of the build."""
        former = sum(1 for each, _ in self._former if each == who)
        return former + 1

    def count_descriptors(self) -> None:
        """Those of the build from here on are its requests'."""
        assert self._process is not None
        self._before = descriptors(self._process.pid)

    async def find_descriptors(self) -> None:
        """What the build holds more than at the count is a finding."""
        assert self._process is not None
        if self._process.running:
            self.findings += await descriptors_left(self._process.pid, self._before)

    # -- ending

    async def end(self) -> None:
        """All of it, and whatever it had started itself."""
        if self._process is not None:
            await self._end_build(self._process)
        for who, process in self._beside().items():
            await self._end_decoder(who, process)
        strays = await end_strays(self.session.guardian, self.session.own_pids)
        self.findings += [f"{stray} was left" for stray in strays.build]
        self.errors += [f"{stray} of our own was left" for stray in strays.own]
        for process in self._processes():
            await process.read_to_end()
            process.output.close()
        self.findings += [f"{left} was left" for left in files_left(self.folders)]
        if not self.url:
            self.findings.clear()  # a build that was never ready was cut off by us in the middle of its start

    async def _end_build(self, process: Process) -> None:
        how = self.exits["build"] = await process.end()
        if not how.asked and self.url and "build" not in self._signalled:
            told = ended_how(how.status) if how.status is not None else "ended"
            self.findings.append(f"the build {told} before it was asked to end")
        elif how.killed:
            self.findings.append(f"the build (pid {process.pid}) did not end when asked to, and was killed")
        elif how.status is not None and how.status not in ENDED_AS_ASKED and "build" not in self._signalled:
            self.findings.append(f"the build {ended_how(how.status)} when it was asked to end")

    async def _end_decoder(self, who: str, process: Process) -> None:
        if process.pid in self._signalled.get(who, ()):
            process.send(signal.SIGCONT)
        how = self.exits[who] = await process.end()
        if not how.asked and how.status is not None and process.pid not in self._signalled.get(who, ()):
            self.errors.append(f"the {who} {ended_how(how.status)} before it was asked to end")
        elif how.killed:
            self.errors.append(f"the {who} did not end when asked to, and was killed")

    # -- what they wrote

    def logs(self, *, so_far: bool = False) -> dict[str, Log]:
        """`so_far`: of processes that still run, for a look at them that waits for more."""
        numbered: dict[str, int] = {}
        named: dict[str, Process | None] = {}
        for who, process in self._former:
            numbered[who] = numbered.get(who, 0) + 1
            named[f"{who}-{numbered[who]}"] = process
        named |= {"build": self._process, **self._beside()}
        return {
            who: read_log(process.output.path, "" if so_far else process.output.incomplete, process.output.stamps)
            for who, process in named.items()
            if process is not None
        }

    def journals(self, *, so_far: bool = False) -> dict[str, Journal]:
        found = self._read_journals()
        return {who: replace(journal, incomplete="") for who, journal in found.items()} if so_far else found

    def _read_journals(self) -> dict[str, Journal]:
        found = {
            who: read_journal(self.folders.evidence / f"{who}.jsonl", killed=self._killed(who))
            for who, decoder in self.decoders.items()
            if decoder.journaled
        }
        for who in (*self._engines, *(("engine",) if self.scenario.under_test is Kind.ENGINE else ())):
            found[who] = read_journal(self.folders.evidence / f"{who}.jsonl")
        if self.scenario.router.own_decoder:
            path = self.folders.evidence / "decoder.jsonl"
            found["decoder"] = read_journal(path, killed=self._killed("decoder"))
        if self.scenario.provider is not None:
            path = self.folders.evidence / "provider.jsonl"
            found["provider"] = read_journal(path, ended=False, killed=self._killed("provider"))
        return found

    def _killed(self, who: str) -> frozenset[int]:
        return frozenset(self._signalled.get(who, ()))
