"""Progress: a line that moves on a terminal, one at either end elsewhere."""

import io
import threading

from harness.models.progress import MIB, Progress


class Screen(io.StringIO):
    """A terminal that says when a text has come."""

    def __init__(self, awaited=""):
        super().__init__()
        self.awaited, self.seen = awaited, threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        n_chars = super().write(text)
        if self.awaited in text:
            self.seen.set()
        return n_chars


def test_on_a_terminal_the_line_moves():
    screen = Screen()
    with Progress("weights", 2 * MIB, out=screen) as progress:
        progress.advance(MIB)
        progress.advance(1)
        progress.advance(MIB - 1)
    assert screen.getvalue() == "\rweights:  50% of 2 MB\rweights: 100% of 2 MB\n"


def test_elsewhere_it_is_one_line_at_either_end():
    out = io.StringIO()
    with Progress("weights", 2 * MIB, out=out) as progress:
        progress.advance(MIB)
    assert out.getvalue() == "weights: 2 MB ...\nweights: done\n"


def test_what_somebody_else_downloads_is_followed(tmp_path):
    screen = Screen(" 50%")
    progress = Progress("weights", 2 * MIB, out=screen)
    with progress, progress.growing(tmp_path):
        (tmp_path / "pip-unpack").mkdir()
        (tmp_path / "pip-unpack" / "weights.whl").write_bytes(bytes(MIB))
        assert screen.seen.wait(30), screen.getvalue()
