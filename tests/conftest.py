"""What all tests share: quiet, repeatable, on one thread (tiny tensors are slower on two)."""

from __future__ import annotations

import torch
from hypothesis import settings

settings.register_profile("draftscope", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("draftscope")
torch.set_num_threads(1)
