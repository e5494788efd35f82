"""The Lab of the Explore page, served: questions that the models are asked once more, each about
one node of one trace, in the same line as runs.
"""
