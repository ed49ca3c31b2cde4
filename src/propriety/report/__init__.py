"""The report: one HTML page about a study for the people who decide, complete in itself.

>>> import numpy as np
>>> from propriety.study import Study
>>> rng = np.random.default_rng(0)
>>> p = rng.uniform(size=200)
>>> y = rng.uniform(size=200) < p
>>> html(Study.from_predictions(y, p, fn_cost=4, name="my model")).startswith("<!DOCTYPE html>")
True
"""

from propriety.report.page import page as html

__all__ = ["html"]
