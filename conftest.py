"""Options and hooks of kvgate's pytest side; everything else is imported by name from `harness`."""

pytest_plugins = ["harness.pytest_plugin"]
