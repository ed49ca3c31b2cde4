"""Rows on many processes or machines, or beyond memory: where they are, and how fits combine them.

A fit over many processes is the same fit in each of them, over its own rows; what they have in common passes
through a `propriety.communicator.Communicator`. Three kinds of them are here: `turns`, threads of one process
that take turns; `shared_memory`, processes of one machine; `tree_allreduce`, processes of any machines.
"""
