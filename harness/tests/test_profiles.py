from harness.profiles import KVGATE_ROUTER, ReadyLine


def test_a_router_is_where_it_says_itself_and_not_where_its_decoder_does():
    ready = KVGATE_ROUTER.ready
    assert isinstance(ready, ReadyLine)
    assert ready.pattern.search("decoder: 0.00.025 I srv  llama_server: listening on http://127.0.0.1:4711") is None
    assert ready.pattern.search("provider: listening on http://127.0.0.1:4711") is None
    for line in ("kvgate-router: listening on http://127.0.0.1:8000", "listening on http://127.0.0.1:8000"):
        found = ready.pattern.search(line)
        assert found is not None
        assert found["url"] == "http://127.0.0.1:8000"
    assert (
        ready.pattern.search("decoder: listening on http://x\nkvgate-router: listening on http://y")["url"]
        == "http://y"
    )
