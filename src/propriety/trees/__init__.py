"""One tree grower by class sums: trees and forests.

``growth`` grows a tree over the rows of one process or of many; ``grower`` is its compiled part, a state
machine that returns to its caller where nodes must be searched by several threads, or their class sums be
added over processes. ``histogram`` has the class sums of bins, ``splitter`` the best cut of numbers, ``sets``
of categories, ``random_cuts`` a random one, ``search`` all of them for a node; ``criteria`` is the loss as a
table, ``random`` what is drawn, ``layout`` the arrays that kernels share.
"""
