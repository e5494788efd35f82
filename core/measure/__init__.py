"""Measuring what a pair of target and drafter does, on this machine. `python -m core.measure`."""
