"""Models of the hub, against a hub on this machine: what travels, what is refused, what is kept."""

from __future__ import annotations

import socket
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from huggingface_hub import constants
from safetensors.torch import save_file

from core.models import hub
from core.models.errors import ModelError
from core.models.hub import download, find_downloaded
from core.models.loading import LoadOptions, load
from core.models.sources import Hub, silent
from tests import saved_models as made
from tests.fake_hub import COMMIT, FakeHub, serving

REPO = "someone/tiny"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[FakeHub]:
    """A hub with one model, an empty cache, and no other hub."""
    folder = made.save(tmp_path / "served", made.llama(320))
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    (folder / "modeling.py").write_text("raise SystemExit('code of the model ran')")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with serving(FakeHub(REPO, folder)) as served:
        monkeypatch.setattr(constants, "ENDPOINT", served.address)
        pattern = f"{served.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", pattern)
        yield served


def test_a_model_travels_once_without_pickles_and_code(fake: FakeHub) -> None:
    assert find_downloaded(Hub(REPO)) is None
    reports: list[tuple[int, int, str]] = []
    weights = download(Hub(REPO), lambda *report: reports.append(report))
    assert weights.revision == COMMIT
    names = {file.name for file in weights.folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert not names & {"pytorch_model.bin", "modeling.py"}
    fake.asked.clear()
    kept = load(REPO, LoadOptions(device="cpu", dtype="float32"))
    assert kept.card.id == REPO
    assert kept.card.revision == COMMIT
    assert fake.asked == []


def test_progress_grows_to_all_bytes(fake: FakeHub) -> None:
    reports: list[tuple[int, int, str]] = []
    weights = download(Hub(REPO), lambda *report: reports.append(report))
    done = [report[0] for report in reports]
    assert done == sorted(done)
    sizes = [file.stat().st_size for file in weights.folder.iterdir()]
    assert reports[-1] == (sum(sizes), sum(sizes), f"Downloading {REPO} from the hub")


def test_what_progress_raises_cancels_and_the_next_try_completes(fake: FakeHub) -> None:
    def cancel(done: int, total: int, sentence: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(Hub(REPO), cancel)
    assert find_downloaded(Hub(REPO)) is None
    assert download(Hub(REPO), silent).folder.is_dir()


def test_an_incomplete_download_does_not_count(fake: FakeHub) -> None:
    folder = download(Hub(REPO), silent).folder
    (folder / "model.safetensors").unlink()
    assert find_downloaded(Hub(REPO)) is None


def test_a_revision_is_met_or_named(fake: FakeHub) -> None:
    assert download(Hub(REPO, COMMIT), silent).revision == COMMIT
    with pytest.raises(ModelError, match=r"has no revision 'nowhere'\."):
        download(Hub(REPO, "nowhere"), silent)


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        ((404, "RepoNotFound"), "The hub shows no model 'someone/tiny': check the spelling"),
        ((401, "RepoNotFound"), "The hub shows no model 'someone/tiny'"),
        ((403, "GatedRepo"), "asks for its licence to be accepted"),
        ((503, ""), "The hub refused someone/tiny: 503."),
    ],
)
def test_a_refusal_is_one_sentence(fake: FakeHub, refusal: tuple[int, str], sentence: str) -> None:
    fake.refusal = refusal
    with pytest.raises(ModelError, match=sentence):
        download(Hub(REPO), silent)


def test_a_model_without_safetensors_is_refused_before_it_travels(fake: FakeHub) -> None:
    (fake.folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="only safetensors are read"):
        download(Hub(REPO), silent)
    assert not any("resolve" in path for path in fake.asked)


def test_a_model_larger_than_the_disk_is_refused_before_it_travels(
    fake: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_SPARE", 10**18)
    with pytest.raises(ModelError, match="make room or set HF_HOME"):
        download(Hub(REPO), silent)
    assert not any("resolve" in path for path in fake.asked)


def test_without_network_the_sentence_says_so(
    fake: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    with pytest.raises(ModelError, match=r"could not be downloaded: the hub cannot be reached"):
        download(Hub(REPO), silent)


def test_offline_mode_asks_nothing(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert not hub.is_reachable()
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE is set"):
        load(REPO)
    assert fake.asked == []


def test_local_files_only_asks_nothing(fake: FakeHub) -> None:
    with pytest.raises(ModelError, match="the network may not be used"):
        load(REPO, LoadOptions(local_files_only=True))
    assert fake.asked == []


def test_a_hub_that_answers_is_reachable(fake: FakeHub) -> None:
    assert hub.is_reachable()


def test_a_silent_hub_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{deaf.getsockname()[1]}")
        start = time.monotonic()
        assert not hub.is_reachable(0.2)
        assert time.monotonic() - start < 1


def test_a_model_in_several_files_travels_whole(fake: FakeHub) -> None:
    model = made.llama(320)
    (fake.folder / "model.safetensors").unlink()
    model.save_pretrained(fake.folder, max_shard_size="20KB")
    save_file({}, fake.folder / "consolidated.safetensors")
    names = {file.name for file in download(Hub(REPO), silent).folder.iterdir()}
    assert "model.safetensors.index.json" in names
    assert "consolidated.safetensors" not in names
    assert load(REPO, LoadOptions(device="cpu")).card.parameters == sum(
        parameter.numel() for parameter in model.parameters()
    )
