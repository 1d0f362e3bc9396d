"""Records laid down by hand, for tests of checks. No run is needed to test a judge."""

from pathlib import Path

from harness import marked_yaml
from harness.checks.shape import CheckShape
from harness.record import Event, Exchange, Exit, FileEvent, Journal, Log, Plain, Record, Reply, Timings
from harness.shapes import Place

PROMPT = tuple(range(100, 130))
IDS = (7, 8, 9, 10)


def check(text):
    """A check from the YAML that an author would write."""
    return CheckShape().parse(marked_yaml.parse(text, "x.yaml"), Place("x.yaml"))


def reply(**changes):
    values = {
        "timings": Timings(1_000_000_000, 1_010_000_000, (1_010_000_000, 1_012_000_000, 1_020_000_000), 1_030_000_000),
        "status": 200,
        "headers": {"x-kvgate-route": "shared"},
        "text": "a b c d",
        "finish_reason": "length",
        "usage": {"completion_tokens": 4, "prompt_tokens": 30},
        "server_timings": {"prompt_n": 1, "cache_n": 29},
    }
    return Reply(**values | changes)


def exchange(own=None, plain_ids=IDS, name="1", prompt=PROMPT):
    own = own or reply()
    plain = None if plain_ids is None else Plain(prompt, reply(), plain_ids)
    return Exchange(name, 4, prompt, own, plain, "client.jsonl:1")


def event(line, name, t_ns=None, **fields):
    return Event(line, 1_000_000_000 + line if t_ns is None else t_ns, name, {"event": name, **fields})


def completion(line=3, **changes):
    values = {"id_slot": 0, "prompt_tokens": list(PROMPT), "predicted": list(IDS), "prompt_n": 1, "cache_n": 29}
    return event(line, "completion", **values | {"status": 200} | changes)


def journal(*events, incomplete="", name="decoder"):
    return Journal(Path(f"{name}.jsonl"), tuple(events), incomplete)


def log(*lines, incomplete=""):
    return Log(Path("build.log"), lines, incomplete)


GOOD = Record(
    exchanges=(exchange(),),
    logs={"build": log("kvgate-router: listening", "hybrid: share answered 400: no; the state-file route is used")},
    journals={
        "decoder": journal(
            event(1, "start", kv_inode=[5, 6]),
            event(2, "share", slot=0, share_id="s1", n_tokens=30, status=200, connected=True),
            event(3, "adopt", share_id="s1", tokens=list(PROMPT), status=200),
            completion(4),
            event(5, "end", faults={}),
        ),
        "provider": journal(event(1, "start", t_ns=1_000_000_002, tokens=list(PROMPT)), name="provider"),
    },
    files=(FileEvent(5, "slot-save", "a.bin", "created"),),
    exits={"build": Exit(0, asked=True)},
    metrics='# HELP x y\nkv_total{route="shared"} 1\n',
    slots=[{"id": 0, "is_processing": False}],
)

EMPTY = Record(
    exchanges=(),
    logs={"build": log()},
    journals={"decoder": journal(event(1, "end", faults={})), "provider": journal(name="provider")},
    files=(),
    exits={"build": Exit(0, asked=True)},
    metrics="",
    slots=[],
)

MISSING = Record()
