"""Compiled kernels shared by trees and boosting.

Data flows through the files in this order: ``binning`` (values to bins: ``sorting``, ``quantiles`` and
``placing``) → ``quantize`` (gradients to whole numbers) → ``histogram`` (sums per bin) → ``splitting`` (best
split of a node) → ``grower`` (a tree, on the threads of a ``team``; ``drawing`` its rows and features,
``harvest`` its values where rows are few; ``spread`` and ``trips`` where rows lie in several processes) →
``predictor`` (scores of new rows) and ``contributions`` (what each feature added). ``layout`` names the
arrays, ``fixed_point`` has the one rule for weights and scales, and every total over rows passes through a
:class:`~propriety.communicator.Communicator`. Nothing here knows a loss; importing it imports Numba.
"""

from propriety import numba_import  # noqa: F401
