"""RuleClassifier: boosted rules that a person can read, for any loss that is convex in the score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from propriety import losses
from propriety.aliases import CostTerm, Label, MatrixLike
from propriety.data.table import Table
from propriety.evaluation.margin_curves import normalized_margins
from propriety.export.formula import Formula, Linked
from propriety.losses import simplex
from propriety.model import contract
from propriety.model.base import ProperClassifier, names_of_classes, shares
from propriety.rules.settings import RuleSettings
from propriety.storage.checks import Arrays, require, take

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike
    from propriety.losses.registry import LinkLike, LossLike
    from propriety.rules.monomials import WeightedRule
    from propriety.rules.rule_lists import RuleList
    from propriety.trees.binning import Binner

_SERIAL = 1 << 17  # cells of a table up to which one thread is fastest
Floats = NDArray[np.float64]


class RuleClassifier(ProperClassifier):
    """Boosted monomial rules: a short list of rules with coefficients, for any loss convex in the score.

    A rule says one class where up to ``max_literals`` literals hold together and the other class elsewhere:
    "if age > 30 and glucose > 127 then 1 else 0". It is grown literal by literal on the boosting weights, by
    the loss's own entropy, and its coefficient is where the loss is least along it: the universal linear
    separator (ULS) of Nock and Nielsen. With the exponential loss and no intercept that is AdaBoost.

    Parameters
    ----------
    loss : loss, composite or str, default="auto"
        What is minimized; "auto" is the log loss, "bag" chooses among the losses of ``bag`` as it goes. It
        must be convex in the score; a symmetric loss whose own link does not make it so gets its canonical
        link.
    link : link or str, default=None
        Link of the score; None: the loss's own, or its canonical one.
    costs : Costs, default=None
        What mistakes cost and right decisions bring: a `propriety.Costs`.
    fp_cost, fn_cost : float, pair, distribution, str or callable, default=1.0
        The short form of it: cost of a false alarm and of a miss; they decide ``predict``.
    pos_label : label, default=None
        The class whose miss costs ``fn_cost``; None is ``classes_[1]``, the last in sorted order.
    n_rules : int, default=10
        Rounds of boosting, at most; it ends before when no rule has an edge or one makes no mistake.
    max_literals : int, default=2
        Literals of a rule, at most.
    criterion : {"entropy", "edge"}, default="entropy"
        What literals are chosen by: the entropy of the loss in the two parts that a rule makes, or the
        rule's edge.
    update : {"classical", "corrective"}, default="classical"
        Whether a round sets the coefficient of its rule alone (and the intercept), or those of all rules.
    bag : 1, 2, "all" or list of losses, default=None
        Losses for ``loss="bag"``: of the paper's two bags the first (Mu(1/3), Matsushita(), Log() and
        Squared()), the second (Power(0.3) in the place of Squared()) or both. None is 1, or "all" with
        ``choose="once"``.
    choose : {"risk", "edge", "once"}, default="risk"
        With ``loss="bag"``: each round takes the loss whose rule leads to the smallest cost of the decisions
        on the training rows, or whose rule has the largest edge; or all rounds are run with each loss, and
        the one of smallest cost is kept. Of equals the log loss is taken, then the first of the bag.
    fit_intercept : bool, default=True
        Whether there is a constant rule, which is leveraged after each rule.
    min_samples_rule : float, default=1
        Least weight of the rows where a rule holds, and of those where it does not; a row of weight k counts
        as k rows.
    max_bins : int, default=255
        Bins per feature, 2 to 255, besides one for missing values; thresholds lie between bins.
    categorical_features : "from_dtype", None, mask or list of columns, default="from_dtype"
    n_jobs : int, default=None
        Threads; None means all cores. The model does not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    rules_ : tuple of WeightedRule
        The rules, equal ones merged and redundant literals left out. With more than two classes a tuple of
        such tuples, one class against the rest.
    intercept_ : float, or ndarray of shape (K,)
    loss_ : composite, or OneVsRest of a composite
        Whose link gives the probabilities: the one fitted; from a bag, the one chosen last. With more than
        two classes and a bag, each class may have another; this is the first one's.
    chosen_ : tuple of composites, or tuple of tuples
        The loss of each round; the last one's link gives the probabilities of its class.
    edges_ : ndarray, or tuple of ndarrays
        The edge of each round's rule, the γ of the weak learning assumption. [N9 (42)]
    separated_ : bool, or ndarray of shape (K,)
        Whether a rule makes no mistake, or with ``update="corrective"`` a combination of them is right on
        some rows and wrong on none, so that there are no finite coefficients; those of ``rules_`` are then
        held back by one doubtful row a rule.
    n_iter_ : int
        Rounds, of the class that took most.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety import RuleClassifier
    >>> X = np.array([[1, 5], [2, 4], [3, 9], [4, 8], [5, 1], [6, 2], [7, 7], [8, 6]])
    >>> y = np.array([0, 0, 0, 0, 1, 0, 1, 1])
    >>> print(RuleClassifier(n_rules=1).fit(X, y).export_text())
    score of 1 = -1.145
      + 2.042 if x0 > 4.5, else - 2.042
              says 1 for 50.0% of the rows, of which 75.0% are; of the others 100.0% are 0
    probability of 1 = Logit().inverse(score)
    """

    rules_: Any
    intercept_: Any
    chosen_: Any
    edges_: Any
    separated_: Any
    n_iter_: int
    _lists: tuple[RuleList, ...]
    _binner: Binner

    def __init__(
        self,
        loss: LossLike = "auto",
        *,
        link: LinkLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        n_rules: int = 10,
        max_literals: int = 2,
        criterion: str = "entropy",
        update: str = "classical",
        bag: Any = None,
        choose: str = "risk",
        fit_intercept: bool = True,
        min_samples_rule: float = 1,
        max_bins: int = 255,
        categorical_features: ArrayLike | None = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.link = link
        self.costs = costs
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.pos_label = pos_label
        self.n_rules = n_rules
        self.max_literals = max_literals
        self.criterion = criterion
        self.update = update
        self.bag = bag
        self.choose = choose
        self.fit_intercept = fit_intercept
        self.min_samples_rule = min_samples_rule
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    # --- fitting ----------------------------------------------------------------------------------

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            NaN is missing; an infinite value is an ordinary extreme one.
        y : array of shape (n,)
            Labels of any type.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows if all weights are whole numbers; other weights are taken
            relative to their mean. Rows of weight 0 take no part.
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of each row, in the place of those of the constructor; a data frame has columns such as
            ``fp`` and ``fn``. ``predict`` then takes them as well.
        fp_cost, fn_cost : array of shape (n,), optional
            The short form of it.

        Returns
        -------
        self
        """
        from propriety.rules.learning import learn

        training = self._read(
            X,
            y,
            sample_weight,
            costs=costs,
            fp_cost=fp_cost,
            fn_cost=fn_cost,
        )
        settings = RuleSettings.of(self, training.costs.mean(training.weights.array))
        binner, lists = learn(training, settings, self._threads_for(training.table))
        return self._keep(training, _loss_of(lists), _binner=binner, _lists=lists, **_attributes(lists))

    def _threads_for(self, table: Table) -> int:
        return self._threads if table.n_rows * table.n_features > _SERIAL else 1

    # --- using the model --------------------------------------------------------------------------

    def _bins(self, table: Table) -> NDArray[np.uint8]:
        return self._binner.transform(table, self._threads_for(table)).columns

    def _scores(self, table: Table) -> Floats:
        columns = self._bins(table)
        return np.column_stack([rule_list.scorer.scores(columns) for rule_list in self._lists])

    def _fitted_probabilities(self, scores: Floats) -> Floats:
        """Through each class's own link; with more than two classes, divided by their sum."""
        if len(self._lists) == 1:
            return super()._fitted_probabilities(scores)
        p = np.column_stack(
            [rule_list.composite.inverse(scores[:, k]) for k, rule_list in enumerate(self._lists)]
        )
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])

    def _formula(self) -> Formula:
        from propriety.rules.as_trees import as_trees

        links = tuple(rule_list.composite.link for rule_list in self._lists)
        return Formula(as_trees(self._lists, self._binner), Linked(links))

    def margins(self, X: MatrixLike, y: ArrayLike) -> Floats:
        """Normalized margins of labelled rows, in [−1, 1]: positive where the class is right. [N9 (27)]"""
        return normalized_margins(column_or_1d(y), self.predict_proba(X), classes=self.classes_)

    # --- reading it -------------------------------------------------------------------------------

    @property
    def view(self) -> str:
        """Text: the rules."""
        return contract.TEXT

    def _contributions(self, table: Table) -> Floats:
        columns = self._bins(table)
        return np.stack([rule_list.contributions(columns) for rule_list in self._lists], axis=1)

    def importances(self) -> Floats:
        """How much each feature counts: the spread that its rules give the scores, in shares of the sum."""
        check_is_fitted(self)
        spreads = [rule_list.spreads(self.n_features_in_) for rule_list in self._lists]
        return shares(np.sum(spreads, axis=0))

    def words(self, X: MatrixLike, class_names: Sequence[str] | None = None) -> list[list[str]]:
        """The rules that hold for each row; with more than two classes, those of every class.

        `class_names` are what they call the classes; by default the labels themselves.

        >>> model = RuleClassifier(n_rules=1).fit([[1], [2], [3], [4]], [0, 0, 1, 1])
        >>> model.words([[1], [4]])
        [[], ['if x0 > 2.5 then 1 else 0']]
        >>> model.words([[4]], ["good", "bad"])
        [['if x0 > 2.5 then bad else good']]
        """
        table = self._table(X)
        columns = self._bins(table)
        met: list[list[str]] = [[] for _ in range(table.n_rows)]
        for rule_list in self._named(class_names):
            for t, rule in enumerate(rule_list.rules):
                for i in np.flatnonzero(rule_list.scorer.holds(t, columns)):
                    met[i].append(str(rule))
        return met

    def _named(self, class_names: Sequence[str] | None) -> list[RuleList]:
        from propriety.rules.text import in_names

        return in_names(self._lists, names_of_classes(self.classes_, class_names))

    def export_text(self, digits: int = 3, class_names: Sequence[str] | None = None) -> str:
        """The model in words: the rules with coefficients to add up, what each covers and how precise it is.

        Parameters
        ----------
        digits : int, default=3
            Digits of the coefficients.
        class_names : sequence of str, optional
            What the text calls the classes; by default the labels themselves.
        """
        from propriety.rules.text import text

        check_is_fitted(self)
        rest = "" if len(self._lists) == 1 else ", divided by the sum over the classes"
        lists = self._named(class_names)
        texts = [text(rule_list, rest, digits) for rule_list in lists]
        return self._as_adapted("\n\n".join(texts), class_names)

    # --- keeping it -------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        from propriety.rules.state import list_state
        from propriety.trees.stored import binner_arrays

        scores = [list_state(rule_list) for rule_list in self._lists]
        return {"scores": scores}, binner_arrays(self._binner)

    def _restore(self, values: dict[str, Any], arrays: Arrays) -> None:
        from propriety.rules.state import read_lists
        from propriety.trees.stored import read_binner

        self._binner = read_binner(arrays, self._schema.n_categories)
        self._lists = read_lists(take(values, "scores", list), self.classes_, self._schema, self._binner)
        loss = _loss_of(self._lists)
        # Files of 0.1.0 have the losses of the scores alone.
        require(getattr(self, "loss_", loss) == loss, "its loss is not that of its scores")
        self.loss_ = loss
        for name, value in _attributes(self._lists).items():
            setattr(self, name, value)


def _loss_of(lists: Sequence[RuleList]) -> losses.Composite | simplex.OneVsRest:
    """What was fitted: the composite, or for more than two classes the first one's against the rest."""
    return lists[0].composite if len(lists) == 1 else simplex.OneVsRest(lists[0].composite)


def _attributes(lists: Sequence[RuleList]) -> dict[str, Any]:
    """The public attributes: of the one list, or of each class."""
    rules: list[tuple[WeightedRule, ...]] = [rule_list.rules for rule_list in lists]
    chosen, edges = [rule_list.chosen for rule_list in lists], [rule_list.edges for rule_list in lists]
    intercepts = [rule_list.scorer.intercept for rule_list in lists]
    separated = [rule_list.separated for rule_list in lists]
    one = len(lists) == 1
    return {
        "rules_": rules[0] if one else tuple(rules),
        "intercept_": intercepts[0] if one else np.array(intercepts),
        "chosen_": chosen[0] if one else tuple(chosen),
        "edges_": edges[0] if one else tuple(edges),
        "separated_": separated[0] if one else np.array(separated),
        "n_iter_": max(len(rounds) for rounds in edges),
    }
