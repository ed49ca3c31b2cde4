"""What every estimator is: the base class, the contract of a fitted model, its file, and the catalogue."""
