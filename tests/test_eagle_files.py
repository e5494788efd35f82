"""Published checkpoints of EAGLE and EAGLE-3: every layout is read and drafts, and what goes wrong
silently elsewhere is one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from core.decode import Decoder, start, step
from core.dice import SeededDice
from core.drafters.model import ModelDrafter
from core.extras import FeatureExtras
from core.heads.checkpoint import Checkpoint
from core.heads.eagle import read_eagle
from core.heads.eagle3 import Variant
from core.heads.eagle3_files import read_eagle3
from core.heads.llama_config import layer_shape
from core.heads.pairs import Pairs
from core.heads.shelf import Shelf
from core.heads.target import TargetWeights
from core.laws import Law
from core.models.base import FINAL
from core.shapes.eagle2 import ExpandRerank
from core.verify.rejection import RecursiveRejection
from tests.made_heads import (
    LISTED,
    Config,
    Tensors,
    draft_ids,
    eagle3_parts,
    eagle_parts,
    speculators_parts,
    written,
)
from tests.tiny import slow_logits, tiny, wrapped
from tests.toy_heads import some_rows

LAYERS = 8
TARGET = wrapped(tiny("llama", layers=LAYERS))
WEIGHTS = TargetWeights.of(TARGET)
USUAL = (2, 4, 5)

LAYOUTS: Mapping[str, Callable[[], tuple[Config, Tensors]]] = {
    "EAGLE": lambda: eagle_parts(WEIGHTS),
    "EAGLE without bias": lambda: eagle_parts(WEIGHTS, bias=False),
    "EAGLE of Qwen2": lambda: eagle_parts(WEIGHTS, qkv_bias=True),
    "EAGLE, trimmed": lambda: trimmed(*eagle_parts(WEIGHTS)),
    "EAGLE-3, midlayer": lambda: eagle3_parts(WEIGHTS),
    "EAGLE-3, layers.0": lambda: eagle3_parts(WEIGHTS, prefix="layers.0."),
    "EAGLE-3, whole vocabulary": lambda: whole(*eagle3_parts(WEIGHTS, count=23)),
    "speculators": lambda: speculators_parts(WEIGHTS),
    "speculators, plain": lambda: speculators_parts(WEIGHTS, Variant()),
    "speculators, norm of all": lambda: speculators_parts(WEIGHTS, Variant(before="all")),
    "speculators, norm of each": lambda: speculators_parts(
        WEIGHTS, Variant(before="each", hands_on_normed=True)
    ),
    "speculators of Qwen3": lambda: speculators_parts(
        WEIGHTS, Variant(qk_normed=True, qkv_bias=True)
    ),
}


def trimmed(config: Config, tensors: Tensors) -> tuple[Config, Tensors]:
    return config, tensors | {"token_map": draft_ids(WEIGHTS, 9)}


def whole(config: Config, tensors: Tensors) -> tuple[Config, Tensors]:
    return config, {name: t for name, t in tensors.items() if name not in ("d2t", "t2d")}


def reader(config: Config) -> Callable[[Path, TargetWeights], Pairs]:
    return read_eagle if config["architectures"] == ["LlamaForCausalLM"] else read_eagle3


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_read_and_drafts_three_rounds_of_the_target_s_own_text(
    layout: str, tmp_path: Path
) -> None:
    config, tensors = LAYOUTS[layout]()
    head = reader(config)(written(tmp_path / "head", config, tensors), WEIGHTS)
    assert head.taps == ((FINAL,) if layout.startswith("EAGLE") and "3" not in layout else USUAL)
    drafter = ModelDrafter(head.open, ExpandRerank(3, 8, 2), "head", taps=head.taps)
    decoder = Decoder(drafter, RecursiveRejection())
    state = start([5, 9, 2, 7], TARGET, decoder, Law(0), 30)
    rounds = [made for _ in range(4) for made in step([state], SeededDice(0), lambda: 0.0)]
    assert [made.drafted for made in rounds] == [0, 7, 7, 7]
    drafted = {token for made in rounds for token in made.nodes.token[1:]}
    assert drafted <= set(head.vocabulary.ids.tolist())
    assert all(isinstance(extra, FeatureExtras) for extra in rounds[1].extras[-1:])
    for place in range(4, len(state.tokens)):
        best = slow_logits(tiny("llama", layers=LAYERS), state.tokens[:place])[-1].argmax()
        assert state.tokens[place] == int(best)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_was_written_is_what_is_read(layout: str, tmp_path: Path) -> None:
    config, tensors = LAYOUTS[layout]()
    head = reader(config)(written(tmp_path / "head", config, tensors), WEIGHTS)
    found = {n.replace("midlayer.", "layers.0."): t for n, t in head.head.state_dict().items()}
    apart = {"embed_tokens.weight", "lm_head.weight", "d2t", "t2d", "token_map"}
    expected = {n.replace("midlayer.", "layers.0."): t for n, t in tensors.items()}
    assert found.keys() == expected.keys() - apart
    for name, tensor in found.items():
        assert torch.equal(tensor, expected[name])
    rows = tensors.get("lm_head.weight", WEIGHTS.head[head.vocabulary.ids])
    assert torch.equal(head.rows, rows)


def test_weights_may_come_in_pickled_files_of_tensors(tmp_path: Path) -> None:
    config, tensors = eagle_parts(WEIGHTS)
    folder = written(tmp_path / "head", config, tensors)
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    assert read_eagle(folder, WEIGHTS).taps == (FINAL,)


def test_d2t_is_a_list_of_offsets_and_its_order_does_not_matter(tmp_path: Path) -> None:
    config, tensors = eagle3_parts(WEIGHTS)
    head = read_eagle3(written(tmp_path / "a", config, tensors), WEIGHTS)
    assert head.vocabulary.ids.tolist() == draft_ids(WEIGHTS, 9).tolist()
    mixed = torch.randperm(9, generator=torch.Generator().manual_seed(0))
    tensors["d2t"] = draft_ids(WEIGHTS, 9)[mixed] - torch.arange(9)
    tensors["lm_head.weight"] = tensors["lm_head.weight"][mixed]
    other = read_eagle3(written(tmp_path / "b", config, tensors), WEIGHTS)
    assert torch.equal(other.vocabulary.ids, head.vocabulary.ids)
    assert torch.equal(other.rows, head.rows)


class TestAuxiliaryLayers:
    """Lists of layers that mean inputs, and lists that mean outputs."""

    def taps(self, folder: Path, **more: object) -> tuple[int, ...]:
        config, tensors = eagle3_parts(WEIGHTS)
        return read_eagle3(written(folder / "head", config | more, tensors), WEIGHTS).taps

    def nested(self, *layers: object) -> Config:
        return {"eagle_config": {LISTED: list(layers), "use_aux_hidden_state": True}}

    def test_without_a_list_they_are_the_published_ones(self, tmp_path: Path) -> None:
        assert self.taps(tmp_path) == USUAL
        assert self.taps(tmp_path, **{LISTED: None}) == USUAL

    def test_a_list_at_the_top_is_one_of_inputs(self, tmp_path: Path) -> None:
        assert self.taps(tmp_path, **{LISTED: [1, 3, 6]}) == (1, 3, 6)
        assert self.taps(tmp_path, **{LISTED: [2, 4, 5]}) == USUAL
        assert self.taps(tmp_path, **{LISTED: [0, 3, 8]}) == (0, 3, 8)

    def test_a_nested_list_that_begins_with_one_is_one_of_outputs(self, tmp_path: Path) -> None:
        assert self.taps(tmp_path, **self.nested(1, 3, 6)) == (2, 4, 7)
        assert self.taps(tmp_path, **self.nested(2, 4, 5)) == USUAL

    def test_the_published_list_less_one_is_one_of_outputs_wherever_it_stands(
        self, tmp_path: Path
    ) -> None:
        assert self.taps(tmp_path, **{LISTED: [1, 3, 4]}) == USUAL
        assert self.taps(tmp_path, **self.nested(1, 3, 4)) == USUAL

    @pytest.mark.parametrize("layers", [[2, 4, 9], [-1, 2, 3], [1, 3, 8]])
    def test_layers_that_the_target_has_not_are_told(
        self, tmp_path: Path, layers: list[int]
    ) -> None:
        with pytest.raises(ValueError, match="and the target has 8"):
            self.taps(tmp_path, **self.nested(*layers))

    @pytest.mark.parametrize("layers", [[], "2", [2, "4", 5], [True, 4, 5], [1] * 17, [1.5]])
    def test_lists_of_anything_else_are_told(self, tmp_path: Path, layers: object) -> None:
        with pytest.raises(ValueError, match="should be a list of 1 to 16 whole numbers"):
            self.taps(tmp_path, **{LISTED: layers})

    def test_as_many_layers_are_fused_as_are_listed(self, tmp_path: Path) -> None:
        config, tensors = eagle3_parts(WEIGHTS, Variant(taps=2))
        folder = written(tmp_path / "head", config | {LISTED: [3, 7]}, tensors)
        assert read_eagle3(folder, WEIGHTS).taps == (3, 7)
        with pytest.raises(ValueError, match=r"fc\.weight has 16 x 32, and 16 x 48 are needed"):
            read_eagle3(written(tmp_path / "head", config, tensors), WEIGHTS)


Change = Callable[[Config, Tensors], None]


def drop(*names: str) -> Change:
    def change(config: Config, tensors: Tensors) -> None:
        for name in names:
            config.pop(name, None)
            tensors.pop(name, None)

    return change


def put(name: str, value: object) -> Change:
    def change(config: Config, tensors: Tensors) -> None:
        if isinstance(value, Tensor):
            tensors[name] = value
        else:
            config[name] = value

    return change


OF_EAGLE: Mapping[str, tuple[Change, str]] = {
    "no fc": (drop("fc.weight"), r"has no fc\.weight"),
    "no norm": (
        drop("layers.0.post_attention_layernorm.weight"),
        r"has no layers\.0\.post_attention_layernorm\.weight",
    ),
    "a norm too many": (put("layers.0.input_layernorm.weight", torch.ones(16)), "does not know"),
    "of another width": (put("hidden_size", 32), "features have 32 numbers"),
    "fc of another shape": (put("fc.weight", torch.ones(16, 16)), r"fc\.weight has 16 x 16"),
    "an inner size that lies": (put("intermediate_size", 10**9), "are needed"),
    "heads that lie": (put("num_attention_heads", 8), "are needed"),
    "odd groups": (put("num_key_value_heads", 3), "equal groups"),
    "two layers": (put("num_hidden_layers", 2), "has 2 layers"),
    "bias that is not there": (drop("fc.bias"), ""),
    "bias that should not be": (put("bias", False), r"config\.json and fc\.bias disagree"),
    "another activation": (put("hidden_act", "gelu"), "silu are read"),
    "stretched positions": (
        put("rope_scaling", {"type": "yarn", "factor": 2.0}),
        "linear and llama3 are read",
    ),
    "a wild theta": (put("rope_theta", -1), "rope_theta -1"),
    "a token map that repeats": (put("token_map", torch.tensor([1, 1, 2])), "each once"),
    "a token map beyond": (put("token_map", torch.tensor([1, 40])), "of the target's 23"),
    "not finite": (put("fc.bias", torch.full((16,), torch.nan)), "finite numbers"),
}


@pytest.mark.parametrize("case", OF_EAGLE)
def test_a_wrong_eagle_head_is_one_sentence(case: str, tmp_path: Path) -> None:
    config, tensors = eagle_parts(WEIGHTS)
    change, sentence = OF_EAGLE[case]
    change(config, tensors)
    folder = written(tmp_path / "head", config, tensors)
    if not sentence:
        assert read_eagle(folder, WEIGHTS)
        return
    with pytest.raises(ValueError, match=sentence) as caught:
        read_eagle(folder, WEIGHTS)
    assert is_sentence(str(caught.value))


def is_sentence(text: str) -> bool:
    return len(text) < 400 and text.endswith(".") and "\n" not in text


OF_EAGLE3: Mapping[str, tuple[Change, str]] = {
    "no d2t": (drop("d2t"), "it has no d2t"),
    "neither map": (drop("d2t", "t2d"), "it has no d2t"),
    "d2t of ids, not of offsets": (put("d2t", draft_ids(WEIGHTS, 9)), "target's 23 only"),
    "maps that disagree": (put("t2d", torch.ones(23, dtype=torch.bool)), "d2t and t2d"),
    "a short t2d": (put("t2d", torch.ones(9, dtype=torch.bool)), "d2t and t2d"),
    "d2t of another length": (put("d2t", torch.zeros(8, dtype=torch.long)), "d2t has 8"),
    "a d2t that repeats": (put("d2t", -torch.arange(9)), "each once"),
    "no head": (drop("lm_head.weight"), r"has no lm_head\.weight"),
    "a head of another width": (put("lm_head.weight", torch.ones(9, 8)), "9 x 8"),
    "a head of another height": (put("lm_head.weight", torch.ones(8, 16)), "has 8 rows"),
    "no layer": (drop("midlayer.hidden_norm.weight"), r"midlayer\.hidden_norm\.weight"),
    "another family": (put("speculators_model_type", "dflash"), "checkpoint of dflash"),
    "two norms": (
        lambda config, tensors: config.update(norm_before_fc=True, fc_norm=True),
        "one is allowed",
    ),
    "a norm that is not there": (put("norm_before_fc", True), r"has no input_norm\.weight"),
    "a word for a flag": (put("norm_output", "yes"), "true or false"),
    "an own embedding that is not there": (put("embed_requires_grad", True), "embed_tokens"),
    "q for one input": (
        put("midlayer.self_attn.q_proj.weight", torch.ones(16, 16)),
        "16 x 16, and 16 x 32",
    ),
}


@pytest.mark.parametrize("case", OF_EAGLE3)
def test_a_wrong_eagle3_head_is_one_sentence(case: str, tmp_path: Path) -> None:
    config, tensors = eagle3_parts(WEIGHTS)
    change, sentence = OF_EAGLE3[case]
    change(config, tensors)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_eagle3(written(tmp_path / "head", config, tensors), WEIGHTS)
    assert is_sentence(str(caught.value))


def test_an_embedding_that_was_trained_is_used_and_any_other_is_the_target_s(
    tmp_path: Path,
) -> None:
    config, tensors = speculators_parts(WEIGHTS)
    table = some_rows(23, 16, 3).float()
    tensors["embed_tokens.weight"] = table
    kept = read_eagle3(written(tmp_path / "a", config, tensors), WEIGHTS)
    assert torch.equal(kept.embedding, WEIGHTS.embedding)
    config["embed_requires_grad"] = True
    own = read_eagle3(written(tmp_path / "b", config, tensors), WEIGHTS)
    assert torch.equal(own.embedding, table)
    tensors["embed_tokens.weight"] = table[:20]
    with pytest.raises(ValueError, match="it embeds 20 tokens"):
        read_eagle3(written(tmp_path / "c", config, tensors), WEIGHTS)


@pytest.mark.parametrize(
    "scaling",
    [
        {"rope_type": "linear", "factor": 4.0},
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    ],
)
def test_stretched_positions_are_those_of_transformers(scaling: Config) -> None:
    target = replace(WEIGHTS, shape=replace(WEIGHTS.shape, head_dim=16, heads=1, groups=1))
    settings = {"head_dim": 16, "num_attention_heads": 1, "rope_theta": 100.0}
    found = layer_shape(Checkpoint("a", "b", settings | {"rope_scaling": scaling}, {}), target)
    other = layer_shape(
        Checkpoint("a", "b", settings | {"rope_parameters": scaling | {"rope_theta": 100.0}}, {}),
        target,
    )
    assert found == other
    config = LlamaConfig(
        hidden_size=16,
        num_attention_heads=1,
        head_dim=16,
        max_position_embeddings=512,
        rope_parameters=scaling | {"rope_theta": 100.0},
    )
    kind = str(scaling["rope_type"])
    expected, factor = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"))
    assert factor == 1
    torch.testing.assert_close(torch.tensor(found.frequencies), expected)


@pytest.mark.parametrize("kind", ["eagle", "eagle3"])
def test_the_shelf_finds_what_is_shipped_and_what_is_named(kind: str, tmp_path: Path) -> None:
    parts = eagle_parts(WEIGHTS) if kind == "eagle" else eagle3_parts(WEIGHTS)
    own = written(tmp_path / f"{kind}-tiny", *parts)
    shelf = Shelf(TARGET, tmp_path)
    assert shelf(kind) is shelf(kind)
    assert shelf(kind, str(own)) is not shelf(kind)
    with pytest.raises(ValueError, match="was trained for tiny"):
        Shelf(TARGET, tmp_path / "none")(kind)
