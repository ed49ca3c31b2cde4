"""Rows beyond one process or its memory: where they are, and how their totals come about.

A fit over many processes is the same fit in each of them, over its own rows; what they have in common passes
through a `propriety.collective.Collective`. Three kinds of them are here: `meeting`, threads of one process
that take turns; `host`, processes of one machine, over memory that they share; `hub`, processes of any
machines, in a tree.
"""
