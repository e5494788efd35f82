"""What can be asked once more of the models behind a trace: the whole laws at a node, what every
rule would accept there, whether a rule keeps the target's law, and which trees other methods would
have drafted in a round.

Each works on one node or round and is bounded. Knows no page and no clock.
"""
