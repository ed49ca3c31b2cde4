"""Bins, tree growers and predictors: all that trees, forests and boosting compile.

Bins: ``binning`` chooses and applies them (``sorting``, ``quantiles``, ``selection``, ``apply_bins``,
``categories``); ``binned`` is the table in bins, and ``shared_bins`` those that several fits share.

Two growers, state machines that return to their caller where sums must be added over processes. By class
sums, for trees and forests: ``grower`` is the state machine, ``histogram`` has the class sums of bins,
``splitter`` the best cut of numbers, ``sets`` of categories, ``random_cuts`` a random one, ``search`` all of
them for a node; ``criteria`` is the loss as a table, ``layout`` the arrays that kernels share. By gradient
and curvature, for boosting: ``gradients`` makes whole numbers of them; ``gradient_growth`` grows a tree,
``gradient_grower`` is the state machine and ``gradient_tasks`` what threads share of it;
``gradient_histogram`` has the sums of bins, ``gradient_splitter`` the best split of a node,
``split_score`` what a split and its leaves are worth,
``split_features`` the features that it may use, ``gradient_layout`` the arrays. ``random`` is what both draw
by, ``fixed_point`` the one rule for weights and scales, ``work_queue`` how threads share tasks.

Finished trees: ``predictor`` has the scores of new rows, ``quickscorer`` those of small trees, ``shap`` what
each feature added, ``stored`` the arrays of a file. ``jit`` says how kernels are compiled.

Nothing here knows a loss; importing it imports Numba. Every total over rows passes through a
:class:`~propriety.communicator.Communicator`.
"""

from propriety import numba_import  # noqa: F401
