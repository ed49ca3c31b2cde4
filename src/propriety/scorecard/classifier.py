"""ScorecardClassifier: points for the bins of a few columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from propriety.aliases import CostTerm, Label, MatrixLike
from propriety.data.parameters import Parameters
from propriety.data.table import Table
from propriety.data.training import TABLE
from propriety.export.formula import Formula, Linked
from propriety.linear import LinearClassifier
from propriety.linear.summary import Summary
from propriety.losses import Composite
from propriety.losses.simplex import SimplexLoss
from propriety.model import contract
from propriety.model.base import Capabilities, ProperClassifier, names_of_classes, shares
from propriety.model.fitted_loss import fitted_loss
from propriety.model.reasons import frame_kind
from propriety.scorecard.cards import Card, PointScale, cards_state, read_cards
from propriety.scorecard.columns import Floats
from propriety.scorecard.text import table_columns, text_of
from propriety.storage.checks import Arrays, require, take

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike
    from propriety.losses.registry import LinkLike, LossLike


class ScorecardClassifier(ProperClassifier):
    """A scorecard: few columns, few bins each, and points that add up; with any proper loss.

    Each column is cut into bins by the entropy of the loss, its categories merged by their rates; missing
    values and rare levels have bins of their own. A linear model of the bins' weights of evidence, of as many
    columns as is best on held-out rows of five folds, in which columns are binned and chosen anew, gives the
    points. No column counts against its own evidence. The more points, the less probable is the positive
    class. Of several classes each has a scorecard of its own against the rest.

    Parameters
    ----------
    loss : loss, composite, simplex loss or str, default="auto"
        "auto" is the log loss, whatever the costs.
    link : link or str, optional
        The loss's default link if not given; not together with a composite.
    costs : Costs, default=None
        What mistakes cost and right decisions bring: a `propriety.Costs`.
    fp_cost, fn_cost : float, pair, distribution, str or callable, default=1.0
        The short form of it: cost of a false alarm and of a miss; they decide ``predict``.
    pos_label : label, default=None
        The class whose miss costs ``fn_cost``, and against which points count; None is ``classes_[1]``.
    max_columns : int, default=15
    max_bins : int, default=5
        Of a column, besides those of missing values and rare levels.
    min_bin_share : float in [0, 0.5], default=0.05
        Share of the rows that a bin has at least; levels of less than a fifth of it are rare.
    monotonic_cst : list of {-1, 0, 1}, or dict from column to one, default=None
        Whether the probability of ``classes_[1]`` rises (1) or falls (−1) with a numeric column, bin by bin.
    alpha : float or "auto", default="auto"
        Strength of the ridge penalty on the weights of evidence; "auto" is 15/rows.
    pdo : float, default=20
        Points that double the odds against the positive class.
    base_odds : float, default=50
        The odds against the positive class that `base_points` stand for.
    base_points : float, default=600
        Moved by less than a point where points are rounded, so that every row begins with a whole number.
    round_points : bool, default=True
        Whether points are whole numbers; the model decides by the points that it shows.
    categorical_features : "from_dtype", mask, names or positions of columns, or None, default="from_dtype"
    n_jobs : int, optional

    Attributes
    ----------
    classes_ : array
    loss_ : the composite, or the loss on the simplex, that was fitted
    cv_loss_ : array of shape (cards, max_columns + 1)
        Mean loss of held-out rows with at most 0, 1, … columns.

    References
    ----------
    Siddiqi, Intelligent Credit Scoring, 2nd edition (2017), chapters 10 and 11.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety import ScorecardClassifier
    >>> X = np.repeat([[20.0], [30.0], [40.0], [50.0]], 25, axis=0)
    >>> y = np.repeat([1, 0, 1, 0, 1, 0], [20, 5, 10, 15, 5, 45])
    >>> print(ScorecardClassifier(fn_cost=4).fit(X, y).export_text())
    476 points for every row
    x0
      ≤ 25      +0
      25 to 35  +24
      35 to 45  +37
      > 45      +65
    <BLANKLINE>
    599.9 points are odds of 50 to 1 against 1; 20 points more double them
    1 is decided up to 527.0 points, from a probability of 0.2 on
    """

    _reads: ClassVar[str] = TABLE
    _cards: tuple[Card, ...]
    cv_loss_: Floats
    _frame_kind: Any
    capabilities: ClassVar[Capabilities] = Capabilities(soft_labels=True, groups=True)

    def __init__(
        self,
        loss: LossLike = "auto",
        *,
        link: LinkLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        max_columns: int = 15,
        max_bins: int = 5,
        min_bin_share: float = 0.05,
        monotonic_cst: ArrayLike | Mapping[str, int] | None = None,
        alpha: float | str = "auto",
        pdo: float = 20.0,
        base_odds: float = 50.0,
        base_points: float = 600.0,
        round_points: bool = True,
        categorical_features: ArrayLike | None = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.link = link
        self.costs = costs
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.pos_label = pos_label
        self.max_columns = max_columns
        self.max_bins = max_bins
        self.min_bin_share = min_bin_share
        self.monotonic_cst = monotonic_cst
        self.alpha = alpha
        self.pdo = pdo
        self.base_odds = base_odds
        self.base_points = base_points
        self.round_points = round_points
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
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            NaN is missing; an infinite value is an ordinary extreme one.
        y : array of shape (n,)
            Labels of any type, or soft labels: probabilities of class 1, K columns of probabilities, or a
            tuple (successes, trials).
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows if all weights are whole numbers; other weights are taken
            relative to their mean. Rows of weight 0 take no part.
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of each row, in the place of those of the constructor; a data frame has columns such as
            ``fp`` and ``fn``. ``predict`` then takes them as well.
        fp_cost, fn_cost : array of shape (n,), optional
            The short form of it.
        groups : array of shape (n,), optional
            Rows that belong together: the folds part no group.

        Returns
        -------
        self
        """
        from propriety.scorecard.learning import ScorecardSettings, learn_cards

        training = self._read(
            X, y, sample_weight, costs=costs, fp_cost=fp_cost, fn_cost=fn_cost, groups=groups
        )
        loss = fitted_loss(self.loss, self.link, training.n_classes, multiclass="ovr")
        composite = _composite_of(loss)
        given = Parameters(self)
        fits = learn_cards(training, ScorecardSettings.of(self, training, composite))
        scale = PointScale.of(
            composite,
            training.n_classes == 2 and training.costs.positive == 0,
            given.number("pdo", 0, above=True),
            given.number("base_odds", 0, above=True),
            given.number("base_points", -np.inf),
        )
        cards = tuple(Card.of(fit, composite, scale, given.flag("round_points")) for fit in fits)
        curves = np.array([fit.cv_loss for fit in fits])
        kind = frame_kind(training.table.native)
        return self._keep(training, loss, _cards=cards, cv_loss_=curves, _frame_kind=kind)

    # --- using the model --------------------------------------------------------------------------

    def _scores(self, table: Table) -> Floats:
        return np.column_stack([card.scores(table) for card in self._cards])

    def _contributions(self, table: Table) -> Floats:
        """What bins add to the score, less its mean over the training rows."""
        return np.stack([card.contributions(table, self.n_features_in_) for card in self._cards], axis=1)

    def points(self, X: MatrixLike) -> Floats:
        """The points of each row, of shape (n,); of several classes those against each, (n, K)."""
        table = self._table(X)
        points = np.column_stack([card.scale.points(card.scores(table)) for card in self._cards])
        return points[:, 0] if len(self._cards) == 1 else points

    def _formula(self) -> Formula:
        from propriety.scorecard.as_trees import as_trees

        links = (_composite_of(self.loss_).link,) * len(self._cards)
        return Formula(as_trees(self._cards, self._schema), Linked(links))

    # --- reading it -------------------------------------------------------------------------------

    @property
    def view(self) -> str:
        """Text: the points."""
        return contract.TEXT

    @property
    def columns_(self) -> tuple[str, ...]:
        """The columns that have points, those of all classes together."""
        check_is_fitted(self)
        used = sorted({bins.feature for card in self._cards for bins in card.columns})
        return tuple(self._schema.labels[f] for f in used)

    def importances(self) -> Floats:
        """Standard deviation of the points of each column, as shares; of several classes, the mean."""
        check_is_fitted(self)
        return shares(np.mean([card.spreads(self.n_features_in_) for card in self._cards], axis=0))

    def _names(self, class_names: Sequence[str] | None) -> list[str]:
        """Of the classes that points are against."""
        names = names_of_classes(self.classes_, class_names)
        return names if len(names) > 2 else [names[1 if self._cards[0].scale.factor < 0 else 0]]

    def points_table(self, class_names: Sequence[str] | None = None) -> Any:
        """The scorecard as a data frame of the kind of X: a line for each bin.

        Its columns are ``column``, ``bin``, ``count`` (weight of the training rows), ``share``, ``positives``
        (weight of those of the positive class), ``rate``, ``woe``, ``iv`` and ``points``; of several classes
        ``class`` comes first. ``woe`` is the weight of evidence, log of (share of the others in the
        bin)/(share of the positives), each bin counted with four rows at the base rate; ``iv`` is the bin's
        part of the column's information value, the sum of (share of others − share of positives)·woe.

        >>> model = ScorecardClassifier().fit([[1.0], [2.0], [3.0], [4.0]] * 10, [0, 0, 1, 1] * 10)
        >>> print(model.points_table()[["bin", "count", "rate", "points"]].to_string(index=False))
          bin  count  rate  points
        ≤ 2.5   20.0   0.0   ...
        """
        check_is_fitted(self)
        columns = table_columns(self._cards, self._names(class_names), self._schema)
        return nw.from_dict(columns, backend=self._frame_kind or frame_kind(None)).to_native()

    def export_text(self, class_names: Sequence[str] | None = None) -> str:
        """The scorecard in words; `class_names` are what it calls the classes, by default the labels."""
        check_is_fitted(self)
        threshold = None
        if len(self._cards) == 1 and not (self.has_row_costs or self._needs_costs):
            costs = self.costs_
            threshold = None if costs.abstains else float(costs.threshold)
        composite = _composite_of(self.loss_)
        texts = [
            text_of(card, name, self._schema, composite, threshold)
            for card, name in zip(self._cards, self._names(class_names), strict=True)
        ]
        return self._as_adapted("\n\n".join(texts), class_names)

    def summary(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, level: float = 0.95
    ) -> Summary:
        """Coefficients of the columns' weights of evidence at these rows, with errors and p values.

        On the rows of the fit the errors are too small: they know nothing of how bins and columns were
        chosen. Rows of their own have none of that. For two classes.
        """
        table = self._table(X)
        if len(self._cards) > 1 or not self._cards[0].columns:
            raise ValueError("summary is for two classes, and for a scorecard with a column")
        composite, card = _composite_of(self.loss_), self._cards[0]
        Z = np.column_stack([bins.evidence(composite.link)[bins.place(np.asarray(table.column(bins.feature)))]
                             for bins in card.columns])  # fmt: skip
        model = LinearClassifier(composite, n_jobs=self.n_jobs).fit(Z, y, sample_weight)
        model.feature_names_in_ = np.array([self._schema.labels[bins.feature] for bins in card.columns])
        return model.summary(level=level)

    # --- keeping it -------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        values, arrays = cards_state(self._cards)
        return {"cards": values}, {**arrays, "cv_loss": self.cv_loss_}

    def _restore(self, values: dict[str, Any], arrays: Arrays) -> None:
        given, n = take(values, "cards", list), 1 if len(self.classes_) == 2 else len(self.classes_)
        require(len(given) == n, "it has not one card for each score")
        kind = Composite if n == 1 else SimplexLoss
        require(isinstance(getattr(self, "loss_", None), kind), "it has no loss of a score")
        self._cards = read_cards(given, arrays, self._schema.n_categories)
        self.cv_loss_ = arrays.take("cv_loss", "f8", (n, None))
        self._frame_kind = None


def _composite_of(loss: Composite | SimplexLoss) -> Composite:
    """The loss of one score."""
    composite = loss if isinstance(loss, Composite) else loss.one_vs_rest
    if composite is None:
        raise ValueError(
            f"{loss!r} has no form of one class against the rest, which scorecards of several classes have; "
            "give a binary loss"
        )
    return composite
