"""The parts of fitted models that tests look at and users do not: the one place that knows their names."""


def forest_of(model):
    """The trees or curves of a boosted model."""
    return model._forest


def grown_of(model):
    """The trees of a forest, with the base rates."""
    return model._grown


def start_of(model):
    """The score before the first round."""
    return model._start_score


def schema_of(model):
    """The columns that were fitted to."""
    return model._schema


def read_by(model, X):
    """Rows as the model reads them: columns of numbers and codes."""
    return model._table(X)
