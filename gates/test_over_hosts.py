"""pytest-xdist's own distribution: two interpreters in folders of their own share one suite's checks."""

import os
import subprocess
import sys
from xml.etree import ElementTree

from gates.commands import AT_MOST_S, ROOT, ROUTER


def test_two_workers_in_folders_of_their_own_run_one_suite(tmp_path):
    workers = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        workers += ["--tx", f"popen//python={sys.executable}//chdir={tmp_path / name}"]
    command = [sys.executable, "-m", "pytest", "-p", "harness.pytest_plugin", "-p", "no:cacheprovider", "-v"]
    command += [*workers, "--dist=loadgroup", f"--kvgate-router={ROUTER}", f"--junitxml={tmp_path / 'kv.xml'}"]
    command += ["--pyargs", "gates.test_hybrid_kvshare_route"]  # a module, since paths differ from host to host
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=tmp_path, env={**env, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=AT_MOST_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[gw0]" in done.stdout
    assert "[gw1]" in done.stdout
    cases = ElementTree.parse(tmp_path / "kv.xml").findall(".//testcase")
    assert len(cases) == 33
