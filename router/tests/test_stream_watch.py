"""Reading along in a stream: any cut gives the same verdict, and nothing it cannot read stops it."""

import pytest

from router.proof import Timings
from router.stream_watch import DoneHeldBack, StreamWatch

FRAMES = (
    b'data: {"choices":[{"text":"a"}]}\n\n'
    b":\n\n"
    b'data: {"choices":[{"text":"\\"timings\\":"}]}\n\n'
    b'data: {"choices":[],"timings":{"cache_n":29,"prompt_n":1}}\n\n'
    b"data: [DONE]\n\n"
)


def watched(raw: bytes, size: int) -> StreamWatch:
    watch = StreamWatch()
    for at in range(0, len(raw), size):
        watch.receive(raw[at : at + size])
    return watch


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_a_whole_stream(size):
    watch = watched(FRAMES, size)
    assert (watch.finished, watch.done, watch.n_events, watch.timings()) == (True, True, 4, Timings(29, 1))


def test_without_the_end_mark_it_is_not_finished():
    for end in range(len(FRAMES) - 1):
        assert not watched(FRAMES[:end], 10_000).finished


def test_the_last_counters_count():
    early = b'data: {"timings":{"cache_n":1,"prompt_n":2}}\n\n'
    assert watched(early + FRAMES, 3).timings() == Timings(29, 1)


def test_a_ping_is_not_the_beginning_of_an_answer():
    assert not watched(b":\n\n:\n\n", 10_000).begun


def test_an_error_frame_is_an_end_with_its_status():
    watch = watched(b'data: {"error":{"code":400,"message":"no"}}\n\n', 10_000)
    assert (watch.finished, watch.done, watch.error_status()) == (True, False, 400)


@pytest.mark.parametrize("code", [b"200", b'"x"', b"null", b"9999"])
def test_an_error_without_a_proper_status_is_a_502(code):
    assert watched(b'data: {"error":{"code":%s}}\n\n' % code, 10_000).error_status() == 502


def test_what_cannot_be_read_blinds_and_does_not_raise():
    watch = watched(b"<html>\n\n" + FRAMES, 10_000)
    assert (watch.blind, watch.begun, watch.finished, watch.timings()) == (True, True, True, None)


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_the_end_mark_is_held_back_and_nothing_else(size):
    held = DoneHeldBack()
    out = b"".join(held.receive(FRAMES[at : at + size]) for at in range(0, len(FRAMES), size))
    assert out == FRAMES.removesuffix(b"data: [DONE]\n\n")
    assert held.held == b"data: [DONE]\n\n"


def test_words_like_the_end_mark_inside_a_frame_go_out():
    held = DoneHeldBack()
    frame = b'data: {"text":"data: [DONE]"}\n\n'
    assert held.receive(frame) == frame
