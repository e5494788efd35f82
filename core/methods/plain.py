"""Plain decoding: one forward of the target per token, the baseline of everything here.

Ancestral sampling, one token after the other, as Shannon wrote text from a model; at temperature 0
the arg-max of every step.

Shannon: A Mathematical Theory of Communication, 1948.
"""

from core.decode import Decoder
from core.drafters.nothing import NoDrafter
from core.registry import MethodConfig, Models, Parts, method
from core.verify.rejection import RecursiveRejection


class Config(MethodConfig):
    """Nothing to set."""


@method(
    "plain",
    name="Plain decoding",
    paper="Shannon 1948",
    url="",
    year=1948,
    family="baseline",
    lossless=True,
    config=Config,
    parts=Parts(),
)
def build(config: Config, models: Models) -> Decoder:
    return Decoder(NoDrafter(), RecursiveRejection())
