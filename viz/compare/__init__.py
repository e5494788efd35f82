"""Views of several methods on one prompt: pure functions of their traces."""
