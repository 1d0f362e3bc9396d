"""The player, the settings, and the catalogue as a whole."""

import re
import subprocess
import sys

import pytest

from fakes.catalogue import catalogue, faults_of
from fakes.fault import Armed, Fault, FaultError, Limit, Player, Value, whole_number
from fakes.fault_list import main
from fakes.fault_setting import parse_setting, read_value
from fakes.point import Point
from fakes.settings import armed_faults
from fakes.tests.running import REPOSITORY
from fakes.tests.stage import Kept

BUMP = Fault("bump", Point.REPLY, lambda step: step + 1)
ADD = Fault("add", Point.REPLY, lambda step, k: step + k, Value(whole_number(0, 9), 1, "how much"))
KNOWN = {"bump": BUMP, "add": ADD}


def player(*armed: Armed) -> tuple[Player, Kept]:
    journal = Kept()
    return Player(journal, armed), journal


def test_a_fault_fires_at_its_point_only():
    one, journal = player(Armed(BUMP))
    assert one.at(Point.STARTED, 1) == 1
    assert one.at(Point.REPLY, 1) == 2
    assert one.counts() == {"bump": {"reached": 1, "fired": 1}}
    assert journal.of("fault") == [
        {"event": "fault", "name": "bump", "point": "decoder.reply", "reached": 1, "fired": 1}
    ]


def test_only_the_nth_time():
    one, _ = player(Armed(BUMP, limit=Limit(only=2)))
    assert [one.at(Point.REPLY, 1) for _ in range(3)] == [1, 2, 1]
    assert one.counts() == {"bump": {"reached": 3, "fired": 1}}


def test_a_probability_is_drawn_from_the_seed_alone():
    def draws(seed):
        one, _ = player(Armed(BUMP, limit=Limit(p=0.5, seed=seed)))
        return [one.at(Point.REPLY, 1) for _ in range(64)]

    assert draws(7) == draws(7)
    assert draws(7) != draws(8)
    assert 16 <= draws(7).count(2) <= 48


def test_a_fault_without_effect_says_so_and_counts_as_not_fired():
    one, journal = player(Armed(ADD, 0))
    assert one.at(Point.REPLY, 1) == 1
    assert one.counts() == {"add": {"reached": 1, "fired": 0}}
    assert [entry["event"] for entry in journal.entries] == ["fault_no_effect"]


def test_two_faults_at_one_point_are_played_one_after_the_other():
    one, _ = player(Armed(BUMP), Armed(ADD, 5))
    assert one.at(Point.REPLY, 1) == 7


def test_a_setting_with_a_value_and_limits():
    armed = parse_setting("add=3,only=2,seed=7,p=0.25", KNOWN)
    assert (armed.fault, armed.value, armed.limit) == (ADD, 3, Limit(2, 0.25, 7))
    assert parse_setting("add", KNOWN).value == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("bum", "no fault is called 'bum'; did you mean bump?"),
        ("", "no fault is called ''"),
        ("bump=2", "takes no value"),
        ("add=x", "'x' is no whole number from 0 to 9"),
        ("add=10", "no whole number"),
        ("add=1,only=0", "no whole number from 1"),
        ("add=1,p=2", "no probability"),
        ("add=1,p=nan", "no probability"),
        ("add=1,only=1,only=2", "says only twice"),
    ],
)
def test_a_bad_setting_says_what_is_wrong(text, why):
    with pytest.raises(FaultError, match=re.escape(why)):
        parse_setting(text, KNOWN)


def names(who, flags=(), **environ):
    return {one.fault.name: one.value for one in armed_faults(who, flags, environ)}


def test_each_fake_takes_its_own_faults_out_of_one_environment():
    environ = {"FAKE_KVSHARE_REFUSE": "1", "FAKE_KVSHARE_SHORT": "2", "FAKE_FAULTS": "restore-refuse; provider-exit=7"}
    assert names("decoder", **environ) == {"kvshare-refuse": None, "restore-refuse": None}
    assert names("provider", **environ) == {"kvshare-short": 2, "provider-exit": 7}


def test_a_variable_that_is_empty_or_0_sets_nothing():
    assert names("decoder", FAKE_KVSHARE_REFUSE="0", FAKE_RESTORE_REFUSE="") == {}
    assert names("decoder", FAKE_JOURNAL="/tmp/j", FAKE_CONTROL="/tmp/c", OTHER="1") == {}


@pytest.mark.parametrize(
    ("flags", "environ", "why"),
    [
        ((), {"FAKE_KVSHARE_REFUS": "1"}, "no fault is set by FAKE_KVSHARE_REFUS; did you mean FAKE_KVSHARE_REFUSE"),
        (("provider-exit",), {}, "fault provider-exit is played by a provider, not by a decoder"),
        (("kvshare-refse",), {}, "did you mean kvshare-refuse"),
        ((), {"FAKE_FAULTS": "nonsense"}, "no fault is called 'nonsense'"),
        ((), {"FAKE_KVSHARE_REFUSE": "yes"}, "takes no value"),
    ],
)
def test_what_nobody_plays_is_an_error(flags, environ, why):
    with pytest.raises(FaultError, match=re.escape(why)):
        armed_faults("decoder", flags, environ)


def test_a_default_is_what_its_own_text_reads_as():
    for fault in catalogue().values():
        if fault.value is not None and fault.value.default is not None:
            assert read_value(fault, str(fault.value.default)) == fault.value.default


def test_a_value_that_has_no_default_cannot_be_left_out():
    with pytest.raises(FaultError, match="fault tls-expired needs a value: a PEM file"):
        parse_setting("tls-expired", catalogue())


def test_who_plays_what():
    assert faults_of("decoder").keys() & faults_of("provider").keys() == set()
    assert {"kvshare-refuse", "restore-empty"} <= faults_of("decoder").keys()


def test_the_catalogue_at_a_shell(capsys):
    assert main([]) == 0
    assert "kvshare-short" in capsys.readouterr().out
    assert main(["--explain", "kvshare-refuse"]) == 0
    assert "FAKE_KVSHARE_REFUSE" in capsys.readouterr().out
    assert main(["--explain", "kvshare-refus"]) == 2
    assert "did you mean kvshare-refuse" in capsys.readouterr().err
    assert main(["--explain", "tls-expired"]) == 0
    assert "cannot be left out" in capsys.readouterr().out
    assert main(["providr"]) == 2
    assert "no fake is called 'providr'; did you mean provider?" in capsys.readouterr().err
    assert main(["provider"]) == 0
    assert capsys.readouterr().out.count("\n") == len(faults_of("provider")) + 1
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: kvgate faults")
    assert main(["--what"]) == 2
    assert capsys.readouterr().err.startswith("usage: kvgate faults")


def test_a_reader_that_has_seen_enough_is_no_error():
    command = f"{sys.executable} -m fakes.faults | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, cwd=REPOSITORY)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("fault ")
