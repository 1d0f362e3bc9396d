"""The small endpoints, the order of checks before any of them, and control."""

import pytest

from fakes.point import Point
from fakes.tests.stage import Stage


@pytest.fixture
def stage():
    one = Stage()
    yield one
    one.machine.store.close()


def test_while_loading_everything_is_503_before_any_key_is_asked_for():
    stage = Stage("--api-key", "secret")
    stage.machine.loading = True
    for method, path in (("GET", "/health"), ("GET", "/slots"), ("POST", "/completion"), ("GET", "/nowhere")):
        job = stage.start(method, path)
        assert (job.status, job.body) == (
            503,
            {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}},
        )
    assert stage.start("OPTIONS", "/anything").status == 200


def test_health_says_ok_however_busy(stage):
    stage.machine.holds.hold(Point.STARTED)
    jobs = [stage.start("POST", "/completion", {"prompt": "x"}) for _ in range(3)]
    assert not any(job.ended for job in jobs)
    assert stage.get("/health") == stage.get("/v1/health") == (200, {"status": "ok"})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": "Bearer secret"}, 200),
        ({"authorization": "secret"}, 200),
        ({"x_api_key": "secret"}, 200),
        ({"authorization": "bearer secret"}, 401),
        ({"authorization": "Bearer wrong", "x_api_key": "secret"}, 401),
    ],
)
def test_keys(headers, status):
    stage = Stage("--api-key", "other,secret")
    assert stage.get("/props", **headers)[0] == status
    assert stage.get("/health")[0] == 200
    assert stage.get("/nowhere", **headers)[0] == (404 if status == 200 else 401)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/completion"), ("POST", "/health"), ("PUT", "/props"), ("GET", "/slots/0"), ("GET", "/health/")],
)
def test_a_wrong_method_or_path_is_404(stage, method, path):
    job = stage.start(method, path)
    assert (job.status, job.body["error"]["type"]) == (404, "not_found_error")


def test_props_names_slots_and_context(stage):
    body = stage.get("/props")[1]
    assert (body["total_slots"], body["default_generation_settings"]["n_ctx"]) == (2, 1024)
    assert (body["model_path"], body["model_alias"]) == ("toy", "toy")
    assert body["default_generation_settings"]["params"]["temperature"] == 0.800000011920929


def test_an_alias_is_the_name_and_several_are_sorted():
    stage = Stage("-a", "zebra,ant")
    assert stage.get("/v1/models")[1]["data"][0]["id"] == "ant"
    assert stage.complete("x", n_predict=1)["model"] == "ant"


def test_slots_fresh_busy_and_idle_again(stage):
    assert stage.get("/slots")[1][1] == {"id": 1, "n_ctx": 1024, "speculative": False, "is_processing": False}
    stage.machine.holds.hold(Point.TOKEN, at=2)
    job = stage.start("POST", "/completion", {"prompt": [300] * 10, "n_predict": 5})
    busy = stage.get("/slots")[1][1]
    assert (busy["is_processing"], busy["n_prompt_tokens"], busy["n_prompt_tokens_processed"]) == (True, 11, 10)
    assert busy["next_token"][0] == {"has_next_token": True, "has_new_line": False, "n_remain": 3, "n_decoded": 2}
    assert stage.get("/slots?fail_on_no_slot=1")[0] == 200
    stage.machine.holds.release(Point.TOKEN)
    job.go()
    idle = stage.get("/slots")[1][1]
    assert (idle["is_processing"], idle["n_prompt_tokens"], idle["n_prompt_tokens_processed"]) == (False, 14, 0)
    assert not {"stop", "logit_bias", "grammar"} & idle["params"].keys()


def test_no_slot_available(stage):
    stage.machine.holds.hold(Point.STARTED)
    jobs = [stage.start("POST", "/completion", {"prompt": "x"}) for _ in range(2)]
    assert not any(job.ended for job in jobs)
    assert stage.get("/slots?fail_on_no_slot=1")[1]["error"]["message"] == "no slot available"


@pytest.mark.parametrize(("argv", "path"), [(("--no-slots",), "/slots"), ((), "/v1/embeddings")])
def test_what_is_off_is_501(argv, path):
    stage = Stage(*argv)
    status, body = stage.post(path, {}) if path.startswith("/v1") else stage.get(path)
    assert (status, body["error"]["type"]) == (501, "not_supported_error")


def test_tokenize_and_back(stage):
    tokens = stage.post("/tokenize", {"content": "The river"})[1]["tokens"]
    assert stage.post("/detokenize", {"tokens": tokens})[1] == {"content": "The river"}
    with_bos = stage.post("/tokenize", {"content": "The river", "add_special": True})[1]["tokens"]
    assert with_bos == [0, *tokens]
    pieces = stage.post("/tokenize", {"content": "é", "with_pieces": True})[1]["tokens"]
    assert [piece["piece"] for piece in pieces] == [[0xC3], [0xA9]]
    assert stage.post("/tokenize", {"content": [300, " river"]})[1]["tokens"] == [
        300,
        *stage.machine.model.tokenizer.encode(" river"),
    ]
    assert stage.post("/tokenize", {})[1] == {"tokens": []}
    assert stage.post("/detokenize", {"tokens": [99_999]})[0] == 500


def test_a_chat_prompt_is_what_its_template_and_tokens_say(stage):
    chat = {"messages": [{"role": "user", "content": "Name a river."}]}
    prompt = stage.post("/apply-template", chat)[1]["prompt"]
    assert prompt == "<|im_start|>user\nName a river.<|im_end|>\n<|im_start|>assistant\n"
    tokens = stage.post("/tokenize", {"content": prompt, "add_special": True, "parse_special": True})[1]["tokens"]
    stage.post("/v1/chat/completions", chat | {"max_tokens": 1})
    assert stage.journal.of("completion")[0]["prompt_tokens"] == tokens
    assert [entry["event"] for entry in stage.journal.entries] == ["apply_template", "tokenize", "completion"]


def test_metrics_count_tokens_and_average_since_the_last_look(stage):
    stage.complete([300] * 10)
    stage.complete([300] * 10)
    page = stage.get("/metrics")[1].decode()
    assert "llamacpp:prompt_tokens_total 11\n" in page
    assert "llamacpp:prompt_tokens_cached_total 9\n" in page
    assert "llamacpp:tokens_predicted_total 12\n" in page
    assert "llamacpp:predicted_tokens_seconds 0\n" not in page
    assert "llamacpp:predicted_tokens_seconds 0\n" in stage.get("/metrics")[1].decode()


def test_control_sets_clears_and_shows_faults(stage):
    assert stage.control("POST", "/faults", b'{"set": ["kvshare-refuse,only=1"]}')[1]["faults"] == {
        "kvshare-refuse": {"reached": 0, "fired": 0}
    }
    assert stage.share(0, 6).status == 400
    assert stage.control("GET", "/state")[1]["faults"]["kvshare-refuse"]["fired"] == 1
    assert stage.control("POST", "/faults", b'{"clear": ["kvshare-refuse"]}')[1] == {"faults": {}}
    assert stage.share(0, 6).status == 200
    assert stage.control("GET", "/state")[1]["slots"][0]["state"] == "lent"


@pytest.mark.parametrize(
    ("call", "body", "status", "message"),
    [
        ("POST /faults", b'{"set": ["kvshare-refse"]}', 400, "did you mean kvshare-refuse"),
        ("POST /faults", b'{"set": ["provider-exit"]}', 400, "no fault is called 'provider-exit'"),
        ("POST /faults", b'{"clear": ["restore-refuse"]}', 400, "is not set"),
        ("POST /hold", b'{"point": "decoder.tokn"}', 400, "did you mean decoder.token"),
        ("POST /hold", b'{"point": "provider.claim"}', 400, "provider's"),
        ("POST /hold", b"{}", 400, "key 'point' not found"),
        ("GET /stat", b"", 404, "did you mean GET /state"),
    ],
)
def test_control_says_what_is_wrong(stage, call, body, status, message):
    answer = stage.control(*call.split(), body)
    assert answer[0] == status
    assert message in answer[1]["error"]["message"]


def test_control_holds_and_releases(stage):
    stage.control("POST", "/hold", b'{"point": "decoder.started"}')
    job = stage.start("POST", "/completion", {"prompt": "x", "n_predict": 1})
    assert stage.control("GET", "/state")[1]["held"] == {"decoder.started": 1}
    assert stage.control("POST", "/release", b'{"point": "decoder.started"}')[1]["released"] == 1
    job.go()
    assert job.status == 200
    assert [entry["event"] for entry in stage.journal.entries] == ["held", "released", "completion"]


def test_reset_forgets_faults_holds_and_tokens(stage):
    stage.complete("x")
    stage.control("POST", "/faults", b'{"set": ["restore-refuse"]}')
    stage.control("POST", "/hold", b'{"point": "decoder.reply"}')
    stage.control("POST", "/reset")
    state = stage.control("GET", "/state")[1]
    assert (state["faults"], state["held"], [slot["n_tokens"] for slot in state["slots"]]) == ({}, {}, [0, 0])


def test_every_point_is_listed(stage):
    assert stage.control("GET", "/points")[1]["points"] == [point.value for point in Point]


def test_nothing_is_outside_the_prefix():
    prefixed = Stage("--api-prefix", "/below")
    assert prefixed.get("/below/health")[0] == 200
    assert prefixed.get("/health")[0] == 404
    assert prefixed.post("/completion", {"prompt": [400]})[0] == 404
