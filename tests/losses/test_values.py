"""Losses, links and composites as values: parsed, pickled, cloned, searched; and their clear errors."""

import copy
import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from propriety import links, losses
from propriety.losses import registry, simplex
from propriety.losses.base import Loss
from propriety.model.base import ProperClassifier

VALUES = [
    *losses.examples(),
    *links.examples(),
    *simplex.examples(),
    simplex.OneVsRest(losses.Log().with_link(links.Probit())),
    2 * losses.Log() + losses.Tailored(0.1, 20),
    losses.Log().tilted(9, 2),
    losses.CanonicalFor(links.Probit()),
    (2 * losses.Log() + losses.Squared()).with_link(links.Probit()),
    losses.Beta(6, 14).with_link(links.Canonical(losses.Beta(6, 14))),
    3 * losses.CostWeighted(0.1) + losses.Log(),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_repr_parses_back_and_values_survive(value):
    back = losses.parse(repr(value))
    assert back == value
    assert hash(back) == hash(value)
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert clone(value, safe=False) is value
    assert value != "something else"


def test_a_text_that_was_read_before_means_the_class_that_is_registered_now(monkeypatch):
    monkeypatch.setattr(registry.LOSSES, "classes", dict(registry.LOSSES.classes))
    monkeypatch.setattr(registry.LOSSES, "_examples", dict(registry.LOSSES._examples))
    made = []
    for weight in (1.0, 2.0):

        @losses.register
        class Passing(type(losses.Squared())):
            factor = weight

        made.append(losses.parse("Passing()"))
    registry._parse.cache_clear()
    assert [loss.factor for loss in made] == [1.0, 2.0]


def test_values_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot assign to field 'alpha'"):
        losses.Beta(6, 14).alpha = 3


def test_cone():
    log, squared = losses.Log(), losses.Squared()
    assert 1 * log == log
    assert log + squared == squared + log
    assert 2 * (log + squared) == 2 * log + 2 * squared
    assert log + log == 2 * log
    assert sum([log, squared, log]) == 2 * log + squared
    assert log * 2 == 2 * log
    assert log / 2 == 0.5 * log
    assert len({log + squared, squared + log, 2 * log}) == 2
    with pytest.raises(ValueError, match="factor of a loss must be a finite number"):
        -1 * log
    with pytest.raises(TypeError, match="unsupported operand"):
        log * squared
    with pytest.raises(TypeError, match="unsupported operand"):
        log + 1
    mixed = losses.CostWeighted(0.1) + log
    assert isinstance(mixed, Loss)
    assert not isinstance(mixed, losses.SmoothLoss)
    with pytest.raises(TypeError, match="no weight function, so it cannot be fitted by gradient"):
        mixed.composite()
    assert log.tilted(2, 1).tilted(1, 3) == log.tilted(2, 3)
    assert log.tilted() == log
    with pytest.raises(TypeError, match="cannot be tilted"):
        losses.Misclassification().tilted(2)


def test_parameters():
    beta = losses.Beta(6, 14)
    assert beta.get_params() == {"alpha": 6, "beta": 14}
    assert beta.replace(alpha=1) == losses.Beta(1, 14)
    c = beta.with_link(links.Logit(2))
    assert c.get_params()["link__scale"] == 2
    assert c.replace(loss__beta=3).loss == losses.Beta(6, 3)
    mixed = 2 * losses.Log() + beta
    assert mixed.get_params()["part1__alpha"] == 6
    assert mixed.replace(part1__alpha=1, factor0=5) == 5 * losses.Log() + losses.Beta(1, 14)
    with pytest.raises(ValueError, match="Beta has no parameter 'gamma'; it has alpha, beta"):
        beta.replace(gamma=1)
    with pytest.raises(ValueError, match="has no parameter 'alpha'"):
        mixed.replace(alpha=1)


class Constant(ProperClassifier):
    """Predicts the base rate by the loss's own link."""

    def __init__(self, loss="auto", link=None, fp_cost=1.0, fn_cost=1.0):
        self.loss = loss
        self.link = link
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost

    def fit(self, X, y):
        training, loss = self._read(X, y), self._composite()
        return self._keep(training, loss, score_=loss.link(training.codes.mean()))

    def _scores(self, table):
        return np.full((table.n_rows, 1), self.score_)

    def _contributions(self, table):
        return np.full((table.n_rows, 1, 1), self.score_)

    def importances(self):
        return np.zeros(0)

    def _state(self):
        return {}, {"score": np.array(self.score_)}

    def _restore(self, state, arrays):
        self.score_ = float(arrays["score"])


def test_losses_inside_scikit_learn():
    X, y = np.zeros((40, 1)), np.array(["no", "yes", "no", "no"] * 10)
    model = Constant(loss=losses.Beta(1, 1))
    assert model.get_params()["loss__alpha"] == 1
    assert clone(model).loss == model.loss
    search = GridSearchCV(model, {"loss__alpha": [1, 2], "link": ["Probit", links.Logit()]}, cv=2).fit(X, y)
    assert search.best_params_["loss__alpha"] in (1, 2)
    assert model.loss == losses.Beta(1, 1)
    assert Constant("Beta(6, 14)").set_params(loss__beta=2).loss == losses.Beta(6, 2)
    with pytest.raises(ValueError, match="has no parameter 'nothing'"):
        model.set_params(loss__nothing=1)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(nothing=1)
    with pytest.raises(
        ValueError, match="loss='auto' has no parameters, so focus cannot be set; give the loss"
    ):
        Constant().set_params(loss__focus=1)


@pytest.mark.parametrize(
    "loss",
    [
        *losses.examples(),
        *simplex.examples(),
        *(loss.composite() for loss in losses.examples() if isinstance(loss, losses.SmoothLoss)),
        2 * losses.Log() + losses.Beta(6, 14),
        (2 * losses.Log() + losses.Squared()).with_link(links.Shifted(links.Probit(2), 1.5)),
        losses.Squared().with_link(links.Canonical(losses.Power(0.3), scale=2)),
    ],
    ids=repr,
)
def test_every_parameter_that_is_offered_can_be_set(loss):
    model = Constant(loss=loss)
    for name, value in model.get_params().items():
        assert clone(model).set_params(**{name: value}).loss == loss, name


def test_a_link_inside_a_loss_can_be_set():
    model = Constant(losses.Log().with_link(links.Logit(2)))
    assert model.get_params()["loss__link__scale"] == 2
    assert model.set_params(loss__link__scale=3).loss == losses.Log().with_link(links.Logit(3))


def test_decisions_follow_the_costs():
    X, y = np.zeros((40, 1)), np.array(["no", "yes", "no", "no"] * 10)
    assert Constant().fit(X, y).predict(X)[0] == "no"
    assert Constant(fp_cost=1, fn_cost=3).fit(X, y).predict(X)[0] == "yes"  # p = c: a tie is class 1
    assert Constant(fp_cost=1, fn_cost=2.9).fit(X, y).predict(X)[0] == "no"
    with pytest.raises(ValueError, match="fp_cost must be positive and finite"):
        Constant(fp_cost=0).fit(X, y).predict(X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.parse("Betta(1, 2)"), "unknown loss or link 'Betta'; did you mean 'Beta'"),
        (lambda: losses.parse("Beta(1"), "cannot read 'Beta\\(1' as a loss"),
        (lambda: losses.parse("__import__('os')"), "unknown loss or link '__import__'"),
        (lambda: losses.parse("Log().__class__"), "cannot read"),
        (lambda: losses.parse("[Log()]"), "cannot read"),
        (lambda: losses.parse("'a' * 10"), "cannot add or multiply"),
        (lambda: losses.parse("Beta()"), "cannot make Beta from these parameters"),
        (lambda: losses.parse(3), "a loss must be a loss, a composite or a string"),
        (lambda: losses.as_loss(links.Logit()), "loss must be a proper loss or its name"),
        (lambda: losses.as_link("Log"), "link must be a link or its name"),
        (lambda: losses.as_composite("Log().with_link(Probit())", "Logit"), "has a link already"),
        (lambda: losses.parse("simplex.Savage()"), "unknown simplex loss 'Savage'"),
        (lambda: losses.parse("simplex.Power()"), "cannot make Power from these parameters"),
        (lambda: losses.parse("simplex.of('Log')"), "unknown simplex loss 'of'"),
        (lambda: losses.parse("other.Log()"), "cannot read"),
        (lambda: losses.as_loss("simplex.Log()"), "loss must be a proper loss or its name"),
        (lambda: losses.examples("Betta"), "unknown loss 'Betta'"),
        (lambda: losses.Beta(-1, 2), r"alpha must be a finite number in \(-1, inf\), got -1"),
        (lambda: losses.Beta("a", 2), "alpha must be a number"),
        (lambda: losses.Tailored(1.5), r"cost must be a finite number in \(0, 1\)"),
        (lambda: losses.Tailored(0.5, -1), "focus must be"),
        (lambda: losses.Tailored(0.5, by="median"), "by must be 'mean' or 'mode'"),
        (lambda: losses.AlphaTunable(1, 0.7), r"alpha must be a finite number in \[0, 0.5\]"),
        (lambda: losses.GLog(0), "gain must be"),
        (lambda: losses.Log().loss(2, 0.5), r"y must lie in \[0, 1\], found .*2.0"),
        (lambda: losses.Log().loss(1, 1.5), r"p must lie in \[0, 1\]"),
        (lambda: losses.Log().loss(1, np.nan), r"p must lie in \[0, 1\]"),
        (lambda: losses.Log().entropy("half"), "p must be a number"),
        (lambda: losses.Log().entropy(0.3, 0.3), "q must be 1 - p"),
        (lambda: losses.Beta(6, 14).composite().margin_loss(0), "has no margin loss: a margin form needs"),
        (lambda: links.Logit(-1), "scale must be"),
        (lambda: links.Identity(1, 0), "Identity needs low < high"),
        (lambda: links.Logit(1e300), "scale must be a finite number in"),
        (lambda: links.FromDistribution(3), "must be a continuous distribution"),
        (lambda: links.FromDistribution("t", (-5,)), r"args of t, df, are outside .*\(-5.0,\)"),
        (lambda: links.FromDistribution("t", (np.nan,)), "args of t, df, are outside"),
        (lambda: links.FromDistribution("t"), "args of t are df, then location and scale, got 0"),
        (lambda: links.FromDistribution("norm", (0, -1)), "args of norm, no shape parameters, are outside"),
        (lambda: links.FromDistribution(stats.t(-5)), "args of t, df, are outside"),
        (lambda: links.Canonical(3), "loss must be a smooth loss"),
        (lambda: losses.parse("Log().shrunk(2)"), r"cannot read 'Log\(\).shrunk\(2\)' as a loss"),
        (lambda: losses.parse("Beta(1e400, 1)"), "a number beyond every float"),
        (lambda: losses.parse("1" + "0" * 400 + " * Log()"), "cannot read"),
        (lambda: losses.parse("-" * 19_000 + "1"), "cannot read"),
        (lambda: links.Shifted("Logit", 1), "base must be a link"),
        (lambda: losses.Log().composite().with_gain(0), "sigma must be"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_shapes_and_types():
    loss = losses.Squared()
    assert isinstance(loss.loss(1, 0.5), float)
    assert loss.loss([0, 1], np.float32(0.5)).dtype == np.float64
    assert loss.loss(np.zeros((3, 1)), np.full(4, 0.5)).shape == (3, 4)
    assert loss.composite().value(np.ones((2, 1)), np.zeros(3, dtype=np.float32)).shape == (2, 3)
    assert loss.weight(np.array([], dtype=float)).shape == (0,)
    assert loss.entropy([0.0, 1.0]).tolist() == [0, 0]
    assert losses.Log().entropy([0.0, 1.0]).tolist() == [0, 0]
    assert losses.Log().loss([0, 1], [0.0, 1.0]).tolist() == [0, 0]
    assert losses.Log().loss(1, 0.0) == np.inf
    assert losses.Log().weight(0.0) == np.inf
    assert losses.Squared().weight([0.0, 1.0]).tolist() == [2, 2]


def test_aliases():
    assert losses.parse("Brier") == losses.Squared()
    assert losses.parse("CrossEntropy()") == losses.Log()
