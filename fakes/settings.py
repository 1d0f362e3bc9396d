"""The faults a fake starts with: from `--fault`, from `FAKE_FAULTS`, and from one variable for each fault.

A decoder and the provider beside it share one environment, so each takes what it plays and leaves the rest; a
variable that is nobody's is an error, since a mistyped one would make a gate green.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fakes.fault import Armed, FaultError
from fakes.fault_setting import parse_setting, read_value
from fakes.near import near

JOURNAL = "FAKE_JOURNAL"
PROVIDER_JOURNAL = "FAKE_PROVIDER_JOURNAL"
CONTROL = "FAKE_CONTROL"
FAULTS = "FAKE_FAULTS"
MODEL = "FAKE_MODEL"
OWN_VARIABLES = frozenset((JOURNAL, PROVIDER_JOURNAL, CONTROL, FAULTS, MODEL))


def armed_faults(who: str, flags: Iterable[str], environ: Mapping[str, str]) -> list[Armed]:
    """The faults `who` starts with. FaultError: an unknown name or variable, a value that cannot be."""
    variables = {name: value for name, value in environ.items() if name.startswith("FAKE_") and value}
    variables = {name: value for name, value in variables.items() if name not in OWN_VARIABLES or name == FAULTS}
    settings = list(flags)
    if not settings and not variables:
        return []  # the common case, without reading the whole catalogue
    from fakes.catalogue import catalogue

    known = catalogue()
    own = {name: fault for name, fault in known.items() if fault.point.who == who}
    found: list[Armed] = []
    for text in settings:
        one = parse_setting(text, known)
        if one.fault.name not in own:
            raise FaultError(f"fault {one.fault.name} is played by a {one.fault.point.who}, not by a {who}")
        found.append(one)
    listed = [parse_setting(text.strip(), known) for text in variables.pop(FAULTS, "").split(";") if text.strip()]
    found += [one for one in listed if one.fault.name in own]
    by_variable = {fault.variable: fault for fault in known.values()}
    for name, value in sorted(variables.items()):
        fault = by_variable.get(name)
        if fault is None:
            raise FaultError(f"no fault is set by {name}{near(name, {*by_variable, *OWN_VARIABLES})}")
        if fault.name in own and value != "0":
            found.append(Armed(fault, read_value(fault, value)))
    return found
