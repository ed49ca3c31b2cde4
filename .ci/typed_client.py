"""What a type checker knows of the installed package."""

from typing import assert_type

from propriety import BoostingClassifier, Costs, losses

model = BoostingClassifier("Tailored(0.1, 20)", costs=Costs(fp=1, fn=9))
assert_type(model, BoostingClassifier)
assert_type(losses.Tailored(0.1, 20), losses.Tailored)
BoostingClassifier(weak_learner=3)  # type: ignore[arg-type]
