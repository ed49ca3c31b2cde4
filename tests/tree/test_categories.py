"""What a set of categories is worth in a tree."""

import numpy as np
import pytest
from scipy.stats.contingency import chi2_contingency

from propriety import TreeClassifier
from propriety.trees.categories import real_share, whole_step


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("factor", [1, 3])
def test_the_least_gain_is_asked_of_the_part_that_is_real(classes, factor):
    """χ² of the table of categories and classes, against chance."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 9, 400)
    y = (rng.random(400) < np.where(code % 2, 0.75, 0.25)).astype(int) * rng.integers(1, classes, 400)
    weight = np.full(400, factor)
    counts = factor * np.histogram2d(code, y, bins=(9, classes))[0]
    spread = chi2_contingency(counts, correction=False).statistic
    worth = whole_step(real_share(spread, 7.0 * (classes - 1), 1.0))
    assert 0.2 < worth < 0.99
    model = TreeClassifier(max_leaf_nodes=2, categorical_features=[0], min_samples_leaf=1)
    tree = model.fit(code[:, None].astype(float), y, weight).tree_
    gain = tree.nodes["gain"][0] / tree.losses[0]
    for share, leaves in ((0.999, 2), (1.001, 1)):
        model.set_params(min_split_gain=share * worth * gain)
        assert model.fit(code[:, None].astype(float), y, weight).get_n_leaves() == leaves
