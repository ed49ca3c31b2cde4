"""Two tree growers: by class sums for trees and forests, by gradient and curvature for boosting.

Both are state machines that return to their caller where sums must be added over processes.

By class sums: ``grower`` is the state machine, ``histogram`` has the class sums of bins, ``splitter`` the
best cut of numbers, ``sets`` of categories, ``random_cuts`` a random one, ``search`` all of them for a node;
``criteria`` is the loss as a table, ``layout`` the arrays that kernels share.

By gradient and curvature: ``gradients`` makes whole numbers of them; ``gradient_growth`` grows a tree,
``gradient_grower`` is the state machine and ``gradient_tasks`` what threads share of it;
``gradient_histogram`` has the sums of bins, ``gradient_splitter`` the best split of a node,
``split_features`` the features that it may use, ``gradient_layout`` the arrays.

``random`` is what both draw by.
"""
