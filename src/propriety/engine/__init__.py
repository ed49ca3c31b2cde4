"""Compiled kernels shared by trees and boosting.

``binning`` puts values in bins (``sorting``, ``quantiles``, ``selecting`` and ``placing``); the growers of
:mod:`propriety.trees` grow trees on the threads of a ``team``; ``predictor`` has the scores of new rows and
``contributions`` what each feature added. ``layout`` names the arrays, ``fixed_point`` has the one rule for
weights and scales, and every total over rows passes through a :class:`~propriety.communicator.Communicator`.
Nothing here knows a loss; importing it imports Numba.
"""

from propriety import numba_import  # noqa: F401
