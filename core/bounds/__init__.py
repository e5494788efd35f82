"""How many drafted tokens can survive: the largest acceptance that any rule can reach at one node,
and what each rule reaches, from the whole laws p and q.

Acceptance is the probability that the token that joins the text is one of the drafts. Nothing here
runs a model or throws dice. Numbers are sums in float64 on the host, over the whole vocabulary.
"""
