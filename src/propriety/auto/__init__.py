"""The cheapest decisions out of the box: a stack of models that share their folds."""
