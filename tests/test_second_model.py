"""The second model: one with a trimmed head scores what its rows say and nothing else, is read as
it was written, and stands in where nobody named one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from app.commands import request as command
from app.lab.orders import models_for
from app.orders import ModelsOrder
from core.decode import start, step
from core.dice import SeededDice
from core.engine import load_engine
from core.heads.vocabulary import DraftVocabulary
from core.laws import Law
from core.models.errors import ModelError
from core.models.hf import HFModel
from core.models.lean import LeanLlama
from core.models.loading import LoadOptions, load
from core.models.second import comes_along, load_second, own_second
from core.models.trimmed import Size, built, head_of, is_trimmed, read_trimmed, write_trimmed
from core.registry import Models, get
from core.run import Request, Run
from core.trace import ModelCard
from core.tree import DraftTree
from tests import saved_models as made
from tests.tiny import slow_logits
from tests.toys import WORLDS

TOKENS, CONTEXT = 320, 64
SIZE = Size(hidden=8, layers=2, heads=2, inner=12, context=CONTEXT, theta=500.0)
IDS = torch.arange(3, TOKENS, 3)
PLAIN = LoadOptions(device="cpu", dtype="float32", local_files_only=True)
CPU = torch.device("cpu")


def small(seed: int = 0) -> torch.nn.Module:
    """Return a model with a trimmed head whose laws are far from flat."""
    torch.manual_seed(seed)
    model = built(SIZE, DraftVocabulary.of(IDS, TOKENS))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape).mul(0.7).bfloat16())
    return model.eval()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target, and a folder of weights that has a second model for it."""
    root = tmp_path_factory.mktemp("shelf")
    made.save(root / "tiny-llama", made.llama(TOKENS))
    write_trimmed(root / "weights" / "fastdraft-tiny-llama", small(), SIZE, "tiny-llama")
    return root


@pytest.fixture
def folder(shelf: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(shelf / "weights" / "fastdraft-tiny-llama", tmp_path / "draft"))


def test_a_trimmed_head_names_its_tokens_and_no_other() -> None:
    model = small()
    hidden = torch.randn((2, 3, SIZE.hidden))
    logits = head_of(model)(hidden)
    assert logits.shape == (2, 3, TOKENS)
    assert torch.equal(logits[..., IDS], head_of(model).rows(hidden))
    others = torch.ones(TOKENS, dtype=torch.bool)
    others[IDS] = False
    assert bool((logits[..., others] == -torch.inf).all())


def test_what_is_written_is_read_back(folder: Path) -> None:
    assert is_trimmed(folder)
    found = read_trimmed(folder, "tiny-llama", TOKENS, torch.float32, CPU)
    mine = small().state_dict()
    assert found.state_dict().keys() == mine.keys()
    assert all(torch.equal(found.state_dict()[name], mine[name]) for name in mine)
    assert torch.equal(head_of(found).vocabulary.ids, IDS)
    assert not any(parameter.requires_grad for parameter in found.parameters())
    stored = load_file(folder / "model.safetensors")
    assert stored["lm_head.weight"].shape == (len(IDS), SIZE.hidden)
    assert {tensor.dtype for name, tensor in stored.items() if name != "token_map"} == {
        torch.bfloat16
    }


def test_its_session_scores_a_tree_as_a_plain_pass_does(folder: Path) -> None:
    model = read_trimmed(folder, "tiny-llama", TOKENS, torch.float32, CPU)
    card = ModelCard(
        id="draft",
        dtype="float32",
        device="cpu",
        parameters=1,
        layers=2,
        vocabulary_size=TOKENS,
        context=CONTEXT,
    )
    session = HFModel(model, card).open([5, 9, 30])
    assert isinstance(session.anatomy, LeanLlama)
    tree = DraftTree((7, 12, 12, 45), (-1, 0, 0, 1))
    scores = session.score(tree)
    for node in range(len(tree)):
        path = [tree.tokens[step] for step in tree.path(node)]
        expected = slow_logits(model, [5, 9, 30, *path])[-1]
        torch.testing.assert_close(scores.logits[node], expected)
    session.keep([0, 1])
    again = session.score(DraftTree.root(45)).logits[0]
    torch.testing.assert_close(again, scores.logits[3])


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing rows": (lambda folder: _drop(folder, "lm_head.weight"), "has no lm_head.weight"),
    "missing map": (lambda folder: _drop(folder, "token_map"), "has no token_map"),
    "missing layer": (
        lambda folder: _edit(folder, num_hidden_layers=3),
        "has no model.layers.2.mlp.down_proj.weight",
    ),
    "more layers": (
        lambda folder: _edit(folder, num_hidden_layers=1),
        "holds tensors that its layout does not know",
    ),
    "endless layers": (lambda folder: _edit(folder, num_hidden_layers=10**9), "1 to 128"),
    "other vocabulary": (
        lambda folder: _edit(folder, vocab_size=99),
        "speaks 99 tokens and the target 320",
    ),
    "other rows": (lambda folder: _edit(folder, draft_vocab_size=7), "token_map has"),
    "odd heads": (lambda folder: _edit(folder, num_attention_heads=3), "share the width equally"),
    "other width": (lambda folder: _edit(folder, intermediate_size=13), "mlp.gate_proj.weight has"),
    "not finite": (lambda folder: _spoil(folder, "model.norm.weight"), "finite numbers"),
    "cut": (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "damaged"),
}


def _edit(folder: Path, **changes: object) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def _drop(folder: Path, name: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file({k: v for k, v in tensors.items() if k != name}, folder / "model.safetensors")


def _spoil(folder: Path, name: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors[name][0] = torch.nan
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize(("damage", "told"), DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_model_is_one_sentence(
    folder: Path, shelf: Path, damage: Callable[[Path], object], told: str
) -> None:
    target = load(str(shelf / "tiny-llama"), PLAIN)
    damage(folder)
    with pytest.raises(ModelError) as caught:
        load_second(str(folder), target, PLAIN)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_named_second_model_speaks_the_target_s_tokens(folder: Path, shelf: Path) -> None:
    target = load(str(shelf / "tiny-llama"), PLAIN)
    second = load_second(str(folder), target, PLAIN)
    assert second.tokenizer is target.tokenizer
    card = second.card
    assert (card.id, card.layers, card.context) == ("draft", 2, CONTEXT)
    assert card.vocabulary_size == target.card.vocabulary_size
    assert card.parameters == sum(p.numel() for p in small().parameters())
    assert card.revision is not None
    assert card.revision.startswith("sha256:")
    assert load_second(str(shelf / "tiny-llama"), target, PLAIN).card == target.card


def test_the_project_s_own_is_taken_for_its_target_alone(shelf: Path, tmp_path: Path) -> None:
    target, weights = load(str(shelf / "tiny-llama"), PLAIN), shelf / "weights"
    found = own_second(target, PLAIN, weights)
    assert found is not None
    assert found.card.id == "fastdraft-tiny-llama"
    assert own_second(target, PLAIN, tmp_path) is None
    made.save(tmp_path / "tiny-llama", made.llama(400), made.byte_level(300))
    other = load(str(tmp_path / "tiny-llama"), PLAIN)  # of that name, with another vocabulary
    assert own_second(other, PLAIN, weights) is None


@pytest.mark.parametrize(
    ("name", "there"), [("x/tiny-llama", True), ("./tiny-llama", True), ("x/other", False)]
)
def test_whether_one_comes_along_is_known_by_the_name(shelf: Path, name: str, there: bool) -> None:
    assert comes_along(name, shelf / "weights") is there


def test_an_engine_without_a_named_draft_takes_the_project_s_own(shelf: Path, folder: Path) -> None:
    target = str(shelf / "tiny-llama")

    def engine(draft: str | None, weights: Path) -> object:
        return load_engine(target, draft, dtype="float32", threads=1, shelf=weights).draft

    assert engine(None, folder.parent) is None
    own, named = engine(None, shelf / "weights"), engine(str(folder), shelf / "weights")
    assert isinstance(own, HFModel)
    assert isinstance(named, HFModel)
    assert (own.card.id, named.card.id) == ("fastdraft-tiny-llama", "draft")


@pytest.mark.parametrize("method", ["fastdraft", "speculative_sampling"])
def test_a_run_with_it_writes_plain_greedy_text_and_names_it(shelf: Path, method: str) -> None:
    engine = load_engine(
        str(shelf / "tiny-llama"), dtype="float32", threads=1, shelf=shelf / "weights"
    )
    texts: list[list[int]] = []
    for key in ("plain", method):
        config = {"drafter": "model"} if key == "speculative_sampling" else {}
        request = Request("the cat", get(key), config, chat=False, max_new_tokens=24)
        run = Run(request, engine, lambda: 0.0, "2026-11-30T00:00:00+00:00")
        rounds = list(run)
        texts.append([token for r in rounds for token in r.outcome.emitted])
    assert texts[0] == texts[1]
    trace = run.trace()
    assert trace.models.draft is not None
    assert trace.models.draft.id == "fastdraft-tiny-llama"
    assert sum(r.drafted for r in rounds) > 0
    order = ModelsOrder(target="x/tiny", draft="x/unused")
    assert models_for(trace, order)[0].draft == ""  # the Lab loads the same one


def test_no_second_model_is_one_sentence() -> None:
    target, _ = WORLDS["different laws"](3).models()
    with pytest.raises(ValueError, match="none comes along for toy: name one as draft model"):
        get("fastdraft").build({}, Models(target))


def test_the_method_is_speculative_sampling_with_a_second_model() -> None:
    target, draft = WORLDS["different laws"](3).models()
    rounds = []
    for key, config in (
        ("fastdraft", {}),
        ("speculative_sampling", {"drafter": "model", "length": 3}),
    ):
        decoder = get(key).build(config, Models(target, draft))
        state = start((0, 1, 0), target, decoder, Law(0.6), 20)
        while state.finished is None:
            step([state], SeededDice(3), lambda: 0.0)
        rounds.append(state.tokens)
    assert rounds[0] == rounds[1]
    method = get("fastdraft")
    assert method.drafts_with_second_model(method.configure({}))


def test_the_command_line_asks_for_a_draft_only_where_none_comes_along(
    monkeypatch: pytest.MonkeyPatch, shelf: Path
) -> None:
    monkeypatch.setattr(
        "core.models.second.comes_along", lambda name: comes_along(name, shelf / "weights")
    )
    check = command._check_second
    for key, settings in (("fastdraft", {}), ("rsd", {"drafter": "model"})):
        method = get(key)
        config = method.configure(settings)
        check(method, config, _arguments("x/tiny-llama"))
        check(method, config, _arguments("x/other", "x/small"))
        with pytest.raises(command.UsageError, match="none comes along for 'x/other': add --draft"):
            check(method, config, _arguments("x/other"))


def _arguments(model: str, draft: str | None = None) -> command.DecodeArguments:
    from argparse import Namespace

    return Namespace(model=model, draft=draft)
