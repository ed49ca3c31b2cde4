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


def numbers_of(model, X):
    """Rows as a kernel model reads them: every column a number, on one scale."""
    return model._numbers(read_by(model, X))


def landmarks_of(model):
    """The rows that a kernel model compares with."""
    return model._landmarks


def rate_of(model):
    """How fast the kernel falls with the squared distance."""
    return model._rate


def members_of(model):
    """The models that an automatic one is made of."""
    return model._members


def formula_of(model):
    """What is exported of a model."""
    return model._formula()
