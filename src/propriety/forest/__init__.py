"""Random forests and extra trees, any entropy.

``classifier`` is what users see; ``settings`` checks what they give, ``learning`` grows the trees, ``state``
is what a file keeps. ``sample`` puts the rows in an order of their own, ``entropy`` the loss in a table;
``search`` finds the split of a node, by ``cuts``, ``random_cuts`` or ``sets``; ``growing`` grows a tree of
``nodes``, in arrays of ``layout`` and with numbers of ``draws``. ``joining`` puts ``trees`` side by side,
``votes`` are what the grown forest says, ``explaining`` puts what columns add to them on the scale of the
score.
"""

from propriety.forest.classifier import ForestClassifier

__all__ = ["ForestClassifier"]
