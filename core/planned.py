"""The methods that are still to come, so that the catalogue can say so. A method that is registered
leaves this list (`tests/test_catalogue.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from core.registry import Family


@dataclass(frozen=True, slots=True)
class Planned:
    """One method that is not there yet, under the key that it will have."""

    key: str
    name: str
    paper: str
    url: str
    family: Family
    idea: str


PLANNED = (
    Planned(
        "jacobi",
        "Jacobi decoding",
        "Santilli et al. 2023",
        "https://arxiv.org/abs/2305.10427",
        "draft-centric: search",
        "Guess a whole block, correct every place of it at once, and repeat until nothing changes.",
    ),
    Planned(
        "draft_verify",
        "Draft & Verify",
        "Zhang et al. 2023",
        "https://arxiv.org/abs/2309.08168",
        "model-centric: dependent drafter",
        "Draft with the target itself, without those of its sublayers that a search found "
        "dispensable.",
    ),
    Planned(
        "rest",
        "REST",
        "He et al. 2023",
        "https://arxiv.org/abs/2311.08252",
        "draft-centric: search",
        "Look the last words up in a large store of text, and draft the tree of what followed "
        "there.",
    ),
    Planned(
        "cascade",
        "Cascade speculative drafting",
        "Chen et al. 2023",
        "https://arxiv.org/abs/2312.11462",
        "draft-centric: hybrid and adaptive",
        "Let ever smaller drafters draft for each other, and give the late places of a draft to "
        "the cheapest.",
    ),
    Planned(
        "lookahead",
        "Lookahead decoding",
        "Fu et al. 2024",
        "https://arxiv.org/abs/2402.02057",
        "draft-centric: search",
        "Collect n-grams from parallel guesses at later places, and check the fitting ones in the "
        "same pass.",
    ),
    Planned(
        "speculative_streaming",
        "Speculative Streaming",
        "Bhendawade et al. 2024",
        "https://arxiv.org/abs/2402.11131",
        "model-centric: dependent drafter",
        "Teach the target to guess the next tokens in extra streams, so that one pass verifies "
        "and drafts.",
    ),
    Planned(
        "layerskip",
        "LayerSkip",
        "Elhoushi et al. 2024",
        "https://arxiv.org/abs/2404.16710",
        "model-centric: dependent drafter",
        "Train the target so that its early layers can speak for it, then draft with them.",
    ),
    Planned(
        "mlp_speculator",
        "Token and embedding speculator",
        "Wertheimer et al. 2024",
        "https://arxiv.org/abs/2404.19124",
        "model-centric: dependent drafter",
        "A small recurrent head that starts from the target's state and takes in each token that "
        "it drafts.",
    ),
    Planned(
        "s2d",
        "Sorted speculative decoding",
        "Kavehzadeh et al. 2024",
        "https://arxiv.org/abs/2407.01955",
        "model-centric: independent drafter",
        "One drafter that holds smaller ones, and goes deeper only where these are unsure; it "
        "serves targets of several sizes.",
    ),
    Planned(
        "aded",
        "ADED",
        "Liu et al. 2024",
        "https://arxiv.org/abs/2407.12021",
        "draft-centric: tree and graph",
        "Search a tree in a table of trigrams that learns from the text while it is written.",
    ),
    Planned(
        "suffix",
        "Suffix decoding",
        "arXiv 2411.04975",
        "https://arxiv.org/abs/2411.04975",
        "draft-centric: search",
        "Follow the most frequent continuation in suffix trees of this text and of earlier "
        "answers.",
    ),
    Planned(
        "judge",
        "Judge decoding",
        "Bachmann et al. 2025",
        "https://arxiv.org/abs/2501.19309",
        "verification",
        "Let a small trained judge keep tokens that are right though the target would have "
        "written others.",
    ),
    Planned(
        "easyspec",
        "EasySpec",
        "Wu et al. 2025",
        "https://arxiv.org/abs/2502.02493",
        "serving",
        "Run several attention layers of the drafter at once on one input, and repair its cache "
        "once per round.",
    ),
    Planned(
        "slem",
        "String-level exact match",
        "Timor et al. 2025",
        "https://arxiv.org/abs/2502.05202",
        "model-centric: independent drafter",
        "Draft with a model of another vocabulary, and hand the draft over as text.",
    ),
    Planned(
        "tli",
        "Token-level intersection",
        "Timor et al. 2025",
        "https://arxiv.org/abs/2502.05202",
        "model-centric: independent drafter",
        "Draft with a model of another vocabulary, held to the tokens that both have.",
    ),
    Planned(
        "tetris",
        "TETRIS",
        "Wu et al. 2025",
        "https://arxiv.org/abs/2502.15197",
        "serving",
        "Spend the verification capacity of a batch on the drafted tokens that are likeliest to "
        "stay.",
    ),
    Planned(
        "rasd",
        "RASD",
        "Quan et al. 2025",
        "https://arxiv.org/abs/2503.03434",
        "draft-centric: tree and graph",
        "Prune what was retrieved by the drafter's own law, and join it with the drafter's tree.",
    ),
    Planned(
        "consensus",
        "Multi-sample consensus",
        "Li et al. 2025",
        "https://arxiv.org/abs/2503.05330",
        "draft-centric: search",
        "Where many answers to one prompt are written at once, draft what the others have already "
        "said.",
    ),
    Planned(
        "autojudge",
        "AutoJudge",
        "Garipov et al. 2025",
        "https://arxiv.org/abs/2504.20039",
        "verification",
        "Find out which differences change the answer, and train a judge on them without "
        "annotators.",
    ),
    Planned(
        "scylla",
        "Scaling laws (Scylla)",
        "Yan et al. 2025",
        "https://arxiv.org/abs/2505.07858",
        "model-centric: dependent drafter",
        "How the accepted length grows with training text, size of the drafter and batch: a page "
        "of fits rather than a method.",
    ),
    Planned(
        "flash",
        "FLASH",
        "arXiv 2505.12728",
        "https://arxiv.org/abs/2505.12728",
        "model-centric: dependent drafter",
        "For images: compress what the drafter sees of them, and draft several tokens per step.",
    ),
    Planned(
        "aasd",
        "Alignment-augmented decoding",
        "Wang et al. 2025",
        "https://arxiv.org/abs/2505.13204",
        "draft-centric: probability",
        "Add to a retrieved draft what the target preferred when it read the prompt; strict or "
        "relaxed verification.",
    ),
    Planned(
        "msd",
        "MSD",
        "Lin et al. 2025",
        "https://arxiv.org/abs/2505.14260",
        "model-centric: dependent drafter",
        "For images: a feature head that treats places of text and of image differently.",
    ),
    Planned(
        "specextend",
        "SpecExtend",
        "Cha et al. 2025",
        "https://arxiv.org/abs/2505.20776",
        "draft-centric: hybrid and adaptive",
        "For long inputs: the drafter sees only the parts of the text that the target attends to.",
    ),
    Planned(
        "poss",
        "Position specialists (PosS)",
        "Huang et al. 2025",
        "https://arxiv.org/abs/2506.03566",
        "model-centric: dependent drafter",
        "A feature head with a layer of its own for each few places of the draft.",
    ),
    Planned(
        "relaxed",
        "Relaxed rules",
        "several papers",
        "",
        "verification",
        "Lenience, top-k, fuzzy and ensemble acceptance and their kin, over any drafter: each "
        "keeps more, and each at its price.",
    ),
)
