"""Imports Numba where no interrupt reaches.

Packages of compiled modules do not survive an interrupt in the middle of their import: the next import fails
with an error about a partially initialized module, and so would every later fit.
"""

from importlib import import_module

from propriety.parallel import uninterrupted

for _name in ("llvmlite.binding", "numba.core.compiler"):
    uninterrupted(import_module, _name)
