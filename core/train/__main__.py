"""`python -m core.train NAME`: train one of the small models, from the default model's own text.

Every trainer keeps what it has done on disk and goes on from there when it is started again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from core.train import decision


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m core.train", description=__doc__)
    trainers = parser.add_subparsers(dest="trainer", required=True, metavar="NAME")
    decision.add_parser(trainers.add_parser("decision", help="DynaSD's decision model"))
    options = parser.parse_args(argv)
    try:
        options.run(options)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped; start it again to go on.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
