"""Models of the Hugging Face hub: can it be reached, and bring one here. Knows no torch.

What is on this disk already is used without asking the network. Only weights in safetensors and the
small files around them travel.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, cast
from urllib.request import Request, urlopen

import huggingface_hub
from httpx2 import HTTPError
from huggingface_hub import HfApi, constants
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    XetDownloadError,
)
from tqdm.auto import tqdm

from core.models.checkpoint import inspect_folder
from core.models.errors import ModelError
from core.models.sources import Hub, Progress, Weights

FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-*-of-*.safetensors",
)
_REACH = 1.0  # seconds to wait for a sign of the hub
_ANSWER = 10.0  # seconds to wait for the answer to one question
_SPARE = 2**30  # bytes to leave free on the disk


class _Library(Protocol):
    """`huggingface_hub`, with the types that it leaves open."""

    def snapshot_download(
        self,
        repo_id: str,
        *,
        revision: str | None,
        allow_patterns: list[str],
        local_files_only: bool,
        tqdm_class: type[object] | None,
    ) -> str: ...


def is_reachable(seconds: float = _REACH) -> bool:
    """Tell whether the hub answers within `seconds`; never where offline mode is set."""
    if huggingface_hub.is_offline_mode():
        return False
    answered = threading.Event()

    def ask() -> None:
        question = Request(constants.ENDPOINT, method="HEAD")
        with suppress(OSError), urlopen(question, timeout=seconds):
            answered.set()

    # a name look-up cannot be given a time limit: leave it behind in a thread
    threading.Thread(target=ask, daemon=True).start()
    return answered.wait(seconds)


def find_downloaded(source: Hub) -> Weights | None:
    """Return the model if it is complete on this disk."""
    try:
        folder = _snapshot(source, local_files_only=True)
        inspect_folder(folder)
    except (OSError, HFValidationError, ModelError):
        return None
    return Weights(source.repo, folder, revision=folder.name)


def download(source: Hub, progress: Progress) -> Weights:
    """Bring a model here; an interrupted download goes on where it ended.

    Raises ModelError where the hub, the model, the revision or the disk does not allow it.
    """
    with _in_words(source):
        _check(source)
        folder = _snapshot(source, meter=_meter(source.repo, progress))
    return Weights(source.repo, folder, revision=folder.name)


def _check(source: Hub) -> None:
    """Look at the list of files before any of them travels."""
    info = HfApi().model_info(
        source.repo, revision=source.revision, files_metadata=True, timeout=_ANSWER
    )
    sizes = {
        f.rfilename: f.size or 0
        for f in info.siblings or ()
        if f.rfilename.startswith("model") and f.rfilename.endswith(".safetensors")
    }
    if not sizes:
        raise ModelError(f"{source.repo} has no model.safetensors: only safetensors are read.")
    _check_disk(sum(sizes.values()))


def _check_disk(need: int) -> None:
    place = Path(constants.HF_HUB_CACHE)
    place.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(place).free
    if need + _SPARE > free:
        raise ModelError(
            f"The model has {need / 1e9:.1f} GB and the disk of {place} has {free / 1e9:.1f} GB "
            "free: make room or set HF_HOME to another disk."
        )


def _snapshot(
    source: Hub, local_files_only: bool = False, meter: type[object] | None = None
) -> Path:
    return Path(
        cast(_Library, huggingface_hub).snapshot_download(
            source.repo,
            revision=source.revision,
            allow_patterns=list(FILES),
            local_files_only=local_files_only,
            tqdm_class=meter,
        )
    )


def _meter(repo: str, progress: Progress) -> type[object]:
    """Return a progress bar that calls `progress` where others draw."""
    most = 0

    class Meter(tqdm):
        monitor_interval = 0  # no thread that redraws

        def update(self, n: float | None = 1) -> bool | None:
            nonlocal most
            super().update(n)
            if self.unit == "B":  # the other bar counts files; two bars count the same bytes
                most = max(most, int(self.n))
                progress(most, int(self.total or 0), f"Downloading {repo} from the hub")

        def display(self, msg: str | None = None, pos: int | None = None) -> None:
            """Draw nothing. To raise here would leave the lock of all bars taken."""

        def clear(self, nolock: bool = False) -> None:
            """Nothing was drawn."""

    return Meter


@contextmanager
def _in_words(source: Hub) -> Generator[None]:
    name = source.repo
    try:
        yield
    except GatedRepoError as error:
        raise ModelError(
            f"{name} asks for its licence to be accepted: do so on its page, then `hf auth login`."
        ) from error
    except RevisionNotFoundError as error:
        raise ModelError(f"{name} has no revision {source.revision!r}.") from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise ModelError(
            f"The hub shows no model {name!r}: check the spelling, or sign in if it is private."
        ) from error
    except OfflineModeIsEnabled as error:
        raise ModelError(f"{name} is not on this disk and HF_HUB_OFFLINE is set.") from error
    except HfHubHTTPError as error:
        raise ModelError(f"The hub refused {name}: {error.response.status_code}.") from error
    except (OSError, HTTPError, XetDownloadError) as error:
        raise ModelError(f"{name} could not be downloaded: {_cause(error)}.") from error


def _cause(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or "the hub cannot be reached from here"
