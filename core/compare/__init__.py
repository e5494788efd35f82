"""Several methods on one prompt: what their records say beside each other. Knows no torch."""
