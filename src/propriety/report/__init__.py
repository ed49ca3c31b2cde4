"""The report: one HTML page about a model for the people who decide, complete in itself.

>>> import numpy as np
>>> from propriety.report import Report
>>> rng = np.random.default_rng(0)
>>> p = rng.uniform(size=200)
>>> y = rng.uniform(size=200) < p
>>> page = Report(y, p, fp_cost=1, fn_cost=4, name="my model").html()
>>> page.startswith("<!DOCTYPE html>")
True
"""

from propriety.report.contents import ColumnFacts, Effects, Flipped, Report

__all__ = ["ColumnFacts", "Effects", "Flipped", "Report"]
