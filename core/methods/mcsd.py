"""Multi-candidate speculative decoding: draft several candidates per step, check the whole tree in
one pass, and let the next candidate stand in where one fails.

The k-config says how many candidates follow each node, level by level. Siblings are verified by
recursive rejection, matched to how they were drawn: what a failed candidate leaves of the target's
law is what the next one is tested against. The naive rule instead draws one token from the target
and looks for it among the candidates.

Yang, Huang, Dai, Chen: Multi-Candidate Speculative Decoding, arXiv 2401.06706.

The code's default k-config is (4, 2, 2), 28 nodes, drawn without replacement.

Deviations, all of them repairs: a rule and a drawing that do not fit are refused, since they would
bend the law of the text. At draft temperature 0 the candidates are the likeliest tokens, which are
fixed, and the rule for fixed ones applies; the public code verifies them as if drawn, which is
lossy while the target samples. At temperature 0 there are several candidates with either drawing;
the code falls back to one with replacement. A token drawn twice is one node, tried twice. The
drafter is chosen as in speculative sampling; the paper tunes small models of their own for it.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from core.decode import Decoder
from core.drafters.choice import DraftModelConfig, model_drafter
from core.registry import Models, Parts, method
from core.shapes.levels import K_CONFIG, Levels, node_count
from core.shapes.widths import Widths
from core.tree import Sampling
from core.verify.base import Verifier
from core.verify.membership import NaiveMembership
from core.verify.rejection import WITH_REPLACEMENT, WITHOUT_REPLACEMENT

Rule = Literal["distinct", "independent", "naive"]

_KINDS = {"distinct": Sampling.DISTINCT, "independent": Sampling.INDEPENDENT}
_RULES: Mapping[Rule, tuple[Verifier, Sampling]] = {  # and the drawing that fits
    "distinct": (WITHOUT_REPLACEMENT, Sampling.DISTINCT),
    "independent": (WITH_REPLACEMENT, Sampling.INDEPENDENT),
    "naive": (NaiveMembership(), Sampling.DISTINCT),
}


class Config(DraftModelConfig):
    tree: Widths = Field(
        K_CONFIG,
        title="k-config",
        description="Candidates after every node, level by level",
    )
    rule: Rule = Field(
        "distinct",
        title="Rule",
        description="distinct, independent: recursive rejection of candidates drawn without, with "
        "replacement; naive: the target draws, and its token is looked for among them",
    )
    drawing: Literal["fitting", "distinct", "independent"] = Field(
        "fitting",
        title="Drawing",
        description="fitting: as the rule needs it; a drawing that would bend the law of the text "
        "is refused",
    )

    def most_nodes(self) -> int:
        return node_count(self.tree)


@method(
    "mcsd",
    name="Multi-candidate speculative decoding",
    paper="Yang et al. 2024",
    url="https://arxiv.org/abs/2401.06706",
    year=2024,
    family="draft-centric: tree and graph",
    lossless=True,
    config=Config,
    parts=Parts("skip", "k_config", "rejection"),
    toy={"tree": [2, 1], "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    rule, fitting = _RULES[config.rule]
    shape = Levels(config.tree, _KINDS.get(config.drawing, fitting))
    return Decoder(model_drafter(config, models, shape), rule)
