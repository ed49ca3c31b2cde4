"""LossSearchCV: what it chooses, what it reports, and how it behaves in scikit-learn."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from propriety import (
    AutoClassifier,
    BoostingClassifier,
    LinearClassifier,
    LossSearchCV,
    RuleClassifier,
    TreeClassifier,
    losses,
    recommend,
)
from propriety.evaluation import mean_loss
from propriety.linear import fisher
from propriety.progress import heard_by
from propriety.tuning import folds


def steps(n=1500, seed=0):
    """A step at the threshold 0.1, and far rows that bend the log loss's line away from it.

    The effect is large: over twelve seeds the gain was 9 to 15 standard errors each time.
    """
    rng = np.random.default_rng(seed)
    far = rng.random(n) < 0.3
    x = np.where(far, 4.0, rng.random(n))
    eta = np.where(far, 0.35, np.where(x < 0.5, 0.02, 0.3))
    return x[:, None], (rng.random(n) < eta).astype(int)


def cost_of(y, P, fp_cost, fn_cost):
    """Mean cost of deciding class 1 iff its probability is at least fp_cost/(fp_cost + fn_cost)."""
    decided = P[:, 1] >= fp_cost / (fp_cost + fn_cost)
    return np.mean(np.where(decided, fp_cost * (y == 0), fn_cost * (y == 1)))


def plain(n=300, seed=1):
    """A linear log-odds, for which the log loss is the right loss."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, (rng.random(n) < 1 / (1 + np.exp(-X[:, 0] + 0.5))).astype(int)


@pytest.fixture(scope="module")
def on_steps():
    X, y = steps()
    model = LinearClassifier(alpha=1e-4, tol=1e-6)
    return X, y, LossSearchCV(model, ["Tailored(0.1, 10)"], fp_cost=1, fn_cost=9, cv=3).fit(X, y)


def test_tailoring_is_found_where_it_helps(on_steps):
    _, _, search = on_steps
    assert search.best_loss_ == losses.Tailored(0.1, 10)
    assert search.verdict_.gained
    assert str(search.verdict_).startswith("Gained: choosing the loss saves")
    assert "decided at 0.1" in str(search.verdict_)


def test_results_are_those_of_cross_validation_by_hand(on_steps):
    X, y, search = on_steps
    for j, loss in enumerate([losses.Log(), losses.Tailored(0.1, 10)]):
        model = LinearClassifier(loss, alpha=1e-4, tol=1e-6)
        P = cross_val_predict(model, X, y, cv=StratifiedKFold(3), method="predict_proba")
        cost = cost_of(y, P, 1, 9)
        assert search.cv_results_["mean_test_score"][j] == pytest.approx(-cost, abs=1e-12)
    assert search.best_score_ == search.cv_results_["mean_test_score"][1]
    assert search.cv_results_["gain"][0] == 0
    assert search.best_params_ == {"loss": losses.Tailored(0.1, 10)}


def test_the_best_estimator_is_the_loss_fitted_to_all_rows_with_the_costs(on_steps):
    X, y, search = on_steps
    alone = LinearClassifier("Tailored(0.1, 10)", fp_cost=1, fn_cost=9, alpha=1e-4, tol=1e-6).fit(X, y)
    assert np.array_equal(search.predict_proba(X), alone.predict_proba(X))
    assert np.array_equal(search.predict(X), alone.predict(X))
    assert np.array_equal(search.decision_function(X), alone.decision_function(X))
    assert search.score(X, y) == pytest.approx(-cost_of(y, alone.predict_proba(X), 1, 9))


def test_nothing_is_gained_where_the_log_loss_is_right():
    X, y = plain()
    search = LossSearchCV(LinearClassifier(alpha=0.01), ["Squared", "Beta(2, 2)"], criterion="Log", cv=4).fit(
        X, y
    )
    assert search.best_loss_ == losses.Log()
    assert not search.verdict_.gained
    assert str(search.verdict_).startswith("Nothing was gained: the log loss was kept.")
    assert search.verdict_.baseline == pytest.approx(-search.best_score_)


def test_what_is_chosen_is_what_the_verdict_supports():
    """Small samples in which another loss looks better by chance, by the rule of one standard error too."""
    tried = ["Tailored(0.2, 5)", "Squared"]
    against = 0
    for seed in range(8):
        X, y = plain(60, seed)
        given = {"fp_cost": 1, "fn_cost": 4, "cv": 3}
        search = LossSearchCV(LinearClassifier(alpha=0.01), tried, **given).fit(X, y)
        assert search.verdict_.gained == (search.best_loss_ != losses.Log())
        assert search.verdict_.chosen == search.best_loss_
        assert search.best_index_ == 0 or search.verdict_.gained
        other = LossSearchCV(LinearClassifier(alpha=0.01), tried, rule="one_se", refit=False, **given).fit(
            X, y
        )
        if other.best_index_ and not other.verdict_.gained:
            against += 1
            assert "taken by the rule that was asked for" in str(other.verdict_)
            assert "was kept" in str(search.verdict_)
    assert against > 0


def test_losses_that_change_nothing_are_called_so():
    X, y = plain(120)
    search = LossSearchCV(LinearClassifier(), [losses.GLog(4), 3 * losses.Log()], cv=3).fit(X, y)
    assert search.verdict_.same
    assert "every candidate gives the probabilities of the log loss" in str(search.verdict_)
    assert search.best_loss_ == losses.Log()


@pytest.mark.parametrize(
    ("criterion", "measure"),
    [
        ("Squared", lambda y, p: mean_loss(y, p, "Squared")),
        ((0.1, 0.4), lambda y, p: np.mean([mean_loss(y, p, f"CostWeighted({c})") for c in COSTS])),
        (recommend(1, 4, uncertainty=3), lambda y, p: mean_loss(y, p, recommend(1, 4, uncertainty=3).loss)),
    ],
)
def test_every_criterion_is_the_mean_it_says(criterion, measure):
    X, y = plain(200)
    search = LossSearchCV(LinearClassifier(alpha=0.01), ["Squared"], criterion=criterion, cv=2).fit(X, y)
    model = LinearClassifier(alpha=0.01)
    p = cross_val_predict(model, X, y, cv=StratifiedKFold(2), method="predict_proba")[:, 1]
    assert -search.cv_results_["mean_test_score"][0] == pytest.approx(measure(y, p), rel=2e-3)
    assert -search.score(X, y) == pytest.approx(measure(y, search.predict_proba(X)[:, 1]), rel=2e-3)


COSTS = np.linspace(0.1, 0.4, 601)[:-1] + 0.00025


def test_nested_choices_are_made_within_the_training_rows():
    X, y = plain(150)
    search = LossSearchCV(
        LinearClassifier(alpha=0.01), ["Squared"], criterion="Log", cv=3, verdict="nested", rule="best"
    ).fit(X, y)
    gains = []
    for train, test in StratifiedKFold(3).split(X, y):
        inner = LossSearchCV(LinearClassifier(alpha=0.01), ["Squared"], criterion="Log", cv=3, rule="best")
        inner.fit(X[train], y[train])
        log = LinearClassifier(alpha=0.01).fit(X[train], y[train])
        chosen = inner.predict_proba(X[test])
        gains += list(
            losses.Log().loss(y[test], log.predict_proba(X[test])[:, 1])
            - losses.Log().loss(y[test], chosen[:, 1])
        )
    assert search.verdict_.gain == pytest.approx(np.mean(gains), abs=1e-9)
    assert search.verdict_.standard_error == pytest.approx(np.std(gains, ddof=1) / np.sqrt(150), abs=1e-9)


def test_f_star_takes_the_loss_of_least_empirical_risk():
    X, y = plain(150, seed=3)
    search = LossSearchCV(LinearClassifier(tol=1e-6), "F*", fn_cost=3, cv=2).fit(X, y)
    bag = [losses.Log(), losses.Mu(1 / 3), losses.Matsushita(), losses.Squared(), losses.Power(0.3)]
    risks = [cost_of(y, LinearClassifier(loss, tol=1e-6).fit(X, y).predict_proba(X), 1, 3) for loss in bag]
    assert np.ptp(risks) > 0
    assert search.cv_results_["empirical_risk"] == pytest.approx(np.array(risks))
    assert search.best_loss_ == bag[int(np.argmin(risks))]
    assert search.verdict_.method == "empirical"


def test_f_star_breaks_ties_as_rules_do():
    """No loss makes a mistake: the log loss is taken, and without it the first of the bag."""
    X, y = load_iris(return_X_y=True)
    y = y == 0
    rules = RuleClassifier("bag", choose="once").fit(X, y)
    search = LossSearchCV(RuleClassifier(), "F*", cv=2).fit(X, y)
    assert np.all(search.cv_results_["empirical_risk"] == 0)
    assert search.best_loss_ == rules.loss_.loss == losses.Log()
    without = [losses.Squared(), losses.Matsushita()]
    assert RuleClassifier("bag", bag=without, choose="once").fit(X, y).loss_.loss == without[0]


def test_boosting_shares_bins_and_changes_nothing(monkeypatch):
    from propriety.trees.binning import Binner

    X, y = plain(300)
    calls = []
    fit = Binner.fit
    monkeypatch.setattr(Binner, "fit", lambda *args: (calls.append(1), fit(*args))[1])
    model = BoostingClassifier(max_iter=5, max_leaf_nodes=4)
    search = LossSearchCV(model, ["Squared", "Beta(2, 1)"], criterion="Log", cv=2).fit(X, y)
    assert len(calls) == 3  # one for each fold, one for the refit
    for j, loss in enumerate(["Log", "Squared", "Beta(2, 1)"]):
        P = cross_val_predict(
            clone(model).set_params(loss=loss), X, y, cv=StratifiedKFold(2), method="predict_proba"
        )
        assert search.cv_results_["mean_test_score"][j] == pytest.approx(-mean_loss(y, P), abs=1e-12)


def test_bins_are_shared_where_the_same_rows_are_held_out(monkeypatch):
    from propriety.trees.binning import Binner

    X, y = plain(200)
    calls = []
    fit = Binner.fit
    monkeypatch.setattr(Binner, "fit", lambda *args: (calls.append(1), fit(*args))[1])
    model = BoostingClassifier(max_iter=2, early_stopping=True)
    LossSearchCV(model, ["Squared"], cv=2, refit=False).fit(X, y)
    assert len(calls) == 2


def test_linear_models_start_from_the_last_convex_fit(monkeypatch):
    X, y = plain(200)
    warm, fit = [], LinearClassifier.fit
    monkeypatch.setattr(
        LinearClassifier, "fit", lambda self, *rows: (warm.append(self.warm_start), fit(self, *rows))[1]
    )
    given = [losses.AlphaTunable(1, 0.4), losses.Squared()]  # convex, not convex
    search = LossSearchCV(LinearClassifier(alpha=0.1), given, criterion="Log", cv=2).fit(X, y)
    assert warm == [False, True, False] * 2 + [False]  # of each fold the three candidates, and the refit
    P = cross_val_predict(
        LinearClassifier(given[0], alpha=0.1), X, y, cv=StratifiedKFold(2), method="predict_proba"
    )
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(-mean_loss(y, P), abs=1e-8)
    assert search.best_estimator_.warm_start is False


def test_a_pipeline_is_searched_in_its_last_step():
    X, y = plain(120)
    pipeline = make_pipeline(StandardScaler(), LinearClassifier(alpha=0.1))
    weight = np.r_[np.full(60, 2.0), np.ones(60)]
    search = LossSearchCV(pipeline, {"loss": ["Squared"], "link": ["Probit"]}, fp_cost=1, fn_cost=4, cv=2)
    search.fit(X, y, sample_weight=weight)
    assert set(search.cv_results_["params"][1]) == {"linearclassifier__loss", "linearclassifier__link"}
    assert search.best_estimator_[-1].fn_cost == 4


def test_weights_are_copies():
    X, y = plain(60)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, 60)
    folds = np.arange(60) % 3
    copies = np.repeat(np.arange(60), weight)
    options = {"criterion": "Log", "rule": "best"}
    weighted = LossSearchCV(
        LinearClassifier(alpha=0.1), ["Squared"], cv=list(LeaveOneGroupOut().split(X, y, folds)), **options
    )
    repeated = LossSearchCV(
        LinearClassifier(alpha=0.1),
        ["Squared"],
        cv=list(LeaveOneGroupOut().split(X[copies], y[copies], folds[copies])),
        **options,
    )
    weighted.fit(X, y, sample_weight=weight)
    repeated.fit(X[copies], y[copies])
    for key in ("mean_test_score", "gain"):
        assert weighted.cv_results_[key] == pytest.approx(repeated.cv_results_[key], abs=1e-9)
    assert weighted.verdict_.gain == pytest.approx(repeated.verdict_.gain, abs=1e-9)


def test_groups_stay_together_and_widen_the_error():
    X, y = plain(60)
    rows, groups = np.repeat(np.arange(60), 4), np.repeat(np.arange(60), 4)
    search = LossSearchCV(
        LinearClassifier(alpha=0.1), ["Squared"], criterion="Log", rule="best", cv=GroupKFold(3)
    )
    search.fit(X[rows], y[rows], groups=groups)
    error = search.cv_results_["gain_se"][1]
    search.fit(X[rows], y[rows], groups=np.arange(240))
    assert error > 1.8 * search.cv_results_["gain_se"][1]


def test_several_classes_are_judged_by_errors_or_by_a_loss_of_theirs():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    y = np.array(["a", "b", "c"])[
        np.argmax(X @ rng.standard_normal((2, 3)) + rng.gumbel(size=(150, 3)), axis=1)
    ]
    model = LinearClassifier(alpha=0.01)
    search = LossSearchCV(model, ["Squared"], cv=2).fit(X, y)
    wrong = cross_val_predict(model, X, y, cv=StratifiedKFold(2)) != y
    assert -search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(wrong))
    search.set_params(criterion="Log").fit(X, y)
    P = cross_val_predict(model, X, y, cv=StratifiedKFold(2), method="predict_proba")
    by_hand = -np.mean(np.log(P[np.arange(150), np.unique(y, return_inverse=True)[1]]))
    assert -search.cv_results_["mean_test_score"][0] == pytest.approx(by_hand)
    with pytest.raises(ValueError, match="for two classes, got 3 classes"):
        search.set_params(fn_cost=3).fit(X, y)


def test_a_candidate_that_fails_is_left_out_with_a_warning(monkeypatch):
    X, y = plain(80)
    fit = LinearClassifier.fit

    def failing(self, X, y, sample_weight=None):
        if self.loss == losses.Squared():
            raise FloatingPointError("no")
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(LinearClassifier, "fit", failing)
    search = LossSearchCV(LinearClassifier(alpha=0.1), ["Squared", "Arcsine"], cv=2)
    with pytest.warns(FitFailedWarning, match="Squared.* could not be fitted and is left out: no"):
        search.fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    assert search.best_loss_ != losses.Squared()
    with pytest.raises(FloatingPointError, match="no"):
        search.set_params(error_score="raise").fit(X, y)


def test_the_loss_that_was_fitted_is_that_of_the_classifier():
    X, y = plain(80)
    alone = LossSearchCV(LinearClassifier(alpha=0.1), ["Squared"], criterion="Squared", rule="best", cv=2)
    piped = LossSearchCV(make_pipeline(StandardScaler(), LinearClassifier(alpha=0.1)), ["Squared"], cv=2)
    assert alone.fit(X, y).loss_ == alone.best_estimator_.loss_
    assert piped.fit(X, y).loss_ == piped.best_estimator_[-1].loss_
    with pytest.raises(NotFittedError, match="not fitted"):
        clone(alone).loss_  # noqa: B018


def test_without_refit_there_is_no_model():
    X, y = plain(80)
    search = LossSearchCV(LinearClassifier(alpha=0.1), ["Squared"], cv=2, refit=False)
    with pytest.raises(NotFittedError, match="LossSearchCV instance is not fitted"):
        search.predict(X)
    search.fit(X, y)
    assert search.best_loss_ is not None
    with pytest.raises(AttributeError, match="refit=False"):
        search.predict(X)


def test_progress_is_told(capsys):
    X, y = plain(80)
    LossSearchCV(LinearClassifier(alpha=0.1), ["Squared"], cv=2, refit=False, verbose=1).fit(X, y)
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 4
    assert told[0].startswith("[split 1/2] Log(): cost of 1,000 decisions")


def test_jobs_change_nothing():
    X, y = plain(100)
    one, two = (
        LossSearchCV(LinearClassifier(alpha=0.1), ["Squared"], criterion="Log", cv=3, n_jobs=n).fit(X, y)
        for n in (1, 2)
    )
    assert np.array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"estimator": LogisticRegression()}, TypeError, "estimator must be a classifier of this library"),
        ({"losses": "tailord"}, ValueError, "did you mean 'Tailored'.*losses may also be one of 'tailored'"),
        ({"losses": []}, ValueError, "losses is empty"),
        ({"losses": 3}, TypeError, "losses must be a list"),
        ({"losses": {"alpha": [1, 2]}}, ValueError, "vary the loss and the link alone, got alpha"),
        ({"criterion": (0.4, 0.1)}, ValueError, "no range: give .low, high."),
        ({"criterion": (0.4, 1.1)}, ValueError, "upper end of criterion"),
        ({"criterion": 3}, TypeError, "criterion must be 'cost', a range"),
        ({"rule": "first"}, ValueError, "rule must be one of"),
        ({"verdict": "yes"}, ValueError, "verdict must be one of"),
        ({"fp_cost": [1, 2, 3]}, ValueError, r"pair \(low, high\)"),
        ({"fp_cost": np.ones(3)}, ValueError, "give those to fit and predict"),
        ({"fp_cost": -1}, ValueError, "fp_cost must be positive and finite"),
        ({"cv": [(np.arange(40), np.arange(40, 60))]}, ValueError, "a search needs at least two"),
        (
            {"cv": [(np.arange(40), np.arange(40, 60))] * 2, "verdict": "nested"},
            ValueError,
            "needs cv as a number",
        ),
    ],
)
def test_bad_parameters_are_named(params, error, message):
    X, y = plain(60)
    search = LossSearchCV(LinearClassifier(alpha=0.1), ["Squared"], cv=2).set_params(**params)
    with pytest.raises(error, match=message):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")


@parametrize_with_checks([LossSearchCV(LinearClassifier(alpha=0.1), ["Squared"], cv=3)])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_a_search_over_linear_models(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_a_search_over_boosting():
    check_estimator(LossSearchCV(BoostingClassifier(max_iter=2), ["Squared"], cv=3))


def test_trees_may_be_given_losses_without_a_gradient():
    X, y = plain(200)
    model = TreeClassifier(max_leaf_nodes=4)
    search = LossSearchCV(model, ["CostWeighted(0.25)", "CascadeUp(4)"], fn_cost=3, cv=2).fit(X, y)
    for j, loss in enumerate(["Log", "CostWeighted(0.25)", "CascadeUp(4)"]):
        P = cross_val_predict(
            clone(model).set_params(loss=loss), X, y, cv=StratifiedKFold(2), method="predict_proba"
        )
        assert -search.cv_results_["mean_test_score"][j] == pytest.approx(cost_of(y, P, 1, 3))


def test_a_stack_gives_the_same_search_with_its_members_shared(monkeypatch):
    X, y = plain(120)
    model = AutoClassifier(members=["linear"], n_folds=3, random_state=0)
    given = {"fp_cost": 1, "fn_cost": 4, "cv": 2}
    shared = LossSearchCV(model, ["Tailored(0.2, 5)"], **given).fit(X, y)
    monkeypatch.setattr(folds, "in_context", lambda model, shared: model)
    alone = LossSearchCV(model, ["Tailored(0.2, 5)"], **given).fit(X, y)
    for key in ("mean_test_score", "gain"):
        np.testing.assert_array_equal(shared.cv_results_[key], alone.cv_results_[key])
    np.testing.assert_array_equal(shared.predict_proba(X), alone.predict_proba(X))


def test_a_search_says_how_far_it_has_come():
    told = []
    with heard_by(lambda share, text: told.append((share, text))):
        LossSearchCV(LinearClassifier(alpha=0.1), ["Squared"], cv=2).fit(*plain(60))
    assert told[0] == (0, "split 1 of 2")
    assert (1 / 2, "split 2 of 2, Squared()") in told
    assert [share for share, _ in told] == sorted(share for share, _ in told)


def test_a_linear_search_goes_the_way_to_a_focus_once_and_changes_nothing_by_it(monkeypatch):
    X, y = steps(400)
    given = {"fp_cost": 1, "fn_cost": 9, "cv": 2, "losses": ["Tailored(0.1, 2)", "Tailored(0.1, 5)"]}
    gone = []
    iterate = fisher.iterate
    monkeypatch.setattr(fisher, "iterate", lambda *a: gone.append(a[3]) or iterate(*a))
    shared = LossSearchCV(LinearClassifier(alpha=0.01), **given).fit(X, y)
    ways = gone.count(1e-4)
    monkeypatch.setattr(folds, "in_context", lambda model, shared: model)
    gone.clear()
    alone = LossSearchCV(LinearClassifier(alpha=0.01), **given).fit(X, y)
    assert gone.count(1e-4) == ways + 2 * 2  # in each split the log loss and focus 1 once more
    for key in ("mean_test_score", "gain"):
        np.testing.assert_array_equal(shared.cv_results_[key], alone.cv_results_[key])


def test_splits_at_a_time_change_nothing(monkeypatch):
    X, y = plain(150)
    monkeypatch.setattr("propriety.tuning.search.n_threads", lambda n_jobs: 2)
    model = BoostingClassifier(max_iter=5, random_state=0)
    many, one = (LossSearchCV(model, ["Squared"], cv=3, n_jobs=k).fit(X, y) for k in (None, 1))
    assert many._at_a_time(many._task(X, y, None, None, {})[0]) == 2
    np.testing.assert_array_equal(many.cv_results_["gain"], one.cv_results_["gain"])
