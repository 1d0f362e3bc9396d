"""Lines: exactly as the contract says as text, the same and more as JSON."""

import io
import json

from router.log import Figures, Log


def test_the_line_of_a_request_whose_handoff_succeeded():
    out = io.StringIO()
    Log(False, out).handed_over(30, Figures(prefill=0.4, restore=2.2, share=0.0), 103.4)
    expected = "hybrid: 30 prompt tokens: prefill 0 ms, restore 2 ms, share 0.000 ms, first byte 103 ms\n"
    assert out.getvalue() == expected


def test_share_has_three_decimals():
    out = io.StringIO()
    Log(False, out).handed_over(30, Figures(share=0.4329), 19)
    assert "share 0.433 ms, first byte 19 ms" in out.getvalue()


def test_json_carries_the_same_text_and_the_requests_id():
    out = io.StringIO()
    Log(True, out).for_request("abc").hybrid("provider exited 3; x")
    value = json.loads(out.getvalue())
    assert (value["message"], value["request_id"], value["level"]) == ("hybrid: provider exited 3; x", "abc", "warning")


def test_a_log_that_nobody_reads_stops_nothing():
    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    Log(False, Broken()).says("still here")
