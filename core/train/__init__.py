"""Trainers of the small models that the project ships: `python -m core.train ...`."""
