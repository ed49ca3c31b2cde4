"""AutoClassifier: state the costs, call fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from propriety.aliases import CostTerm, Label, MatrixLike, RandomState
from propriety.auto.judgement import Judgement
from propriety.auto.learning import learn
from propriety.auto.members import Member
from propriety.auto.settings import settings_of
from propriety.auto.stacking import LEAST, Stack, on_scale
from propriety.auto.state import read_state, write_state
from propriety.auto.text import can_be_read, text_of
from propriety.data.costs import stated_costs
from propriety.data.table import Table
from propriety.export import formula
from propriety.export.formula import Formula, readout_of
from propriety.model.base import Capabilities, ProperClassifier, shares
from propriety.model.contract import EFFECTS, TEXT
from propriety.model.fitted_loss import fitted_loss
from propriety.storage.checks import Arrays
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike
    from propriety.losses.registry import LinkLike, LossLike

Floats = NDArray[np.float64]


class AutoClassifier(ProperClassifier):
    """The cheapest decisions out of the box: several kinds of models, weighted by folds.

    The members are a linear model, a forest and boosting. Each is fitted to the log loss;
    its strength or its rounds are chosen by what it says of rows that it was not fitted to, in folds that all
    members share. The model's score is a + Σ wⱼ·scoreⱼ, with weights
    w ≥ 0 that lose least out of fold, held back towards equal ones. One fit serves all costs: they enter
    when a decision is made.

    Parameters
    ----------
    loss : loss, composite or str, default="auto"
        What the weights are fitted to; "auto" is the log loss. Another one hardly ever helps, and the members
        keep the log loss.
    link : link or str, default=None
        Link of the score; None: the loss's own, or the logit.
    costs : Costs, default=None
        What mistakes cost and right decisions bring: a `propriety.Costs`.
    fp_cost, fn_cost : float, pair, distribution, str or callable, default=1.0
        The short form of it: cost of a false alarm and of a miss; they decide ``predict``.
    pos_label : label, default=None
        The class whose miss costs ``fn_cost``; None is ``classes_[1]``, the last in sorted order.
    time_budget : float or None, default=None
        Seconds that the fit may take. Members are fitted in the order of their price, and one for which the
        time that is left would be too short is left out; the first is always there.
    interpretable : bool, default=False
        Keep one model that can be read, the best by folds of a linear model, a tree, rules and a scorecard,
        and say what that costs against all members together.
    members : sequence of str, default=("linear", "forest", "boosting")
        Whom to weigh: those, "kernel", "tree", "rules" and "scorecard".
    n_estimators : int, default=300
        Trees of the forest.
    n_folds : int, default=5
    categorical_features : "from_dtype", None, mask or list of columns, default="from_dtype"
    verbose : int, default=0
        1 prints each member with its cost, its time and what is left of a ``time_budget``.
    n_jobs : int, default=None
        Threads; None means all cores.
    random_state : int, RandomState or None, default=None
        Of the folds and of the members. None is 0, so that two fits to the same rows give the same model.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    members_ : dict
        The fitted models by name.
    weights_ : dict
        Their weights.
    judgement_ : Judgement
        What 1,000 decisions cost, with its interval, against deciding the same for everyone and against each
        member; the slope of the calibration. By probabilities of rows that took no part. Print it; its
        ``curve`` is what each step has bought, and what is known of the next.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from propriety import AutoClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = AutoClassifier(fp_cost=1, fn_cost=9, random_state=0).fit(X, y)
    >>> print(model.judgement_)  # doctest: +SKIP
    """

    capabilities: ClassVar[Capabilities] = Capabilities(groups=True)

    def __init__(
        self,
        loss: LossLike = "auto",
        *,
        link: LinkLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        time_budget: float | None = None,
        interpretable: bool = False,
        members: Sequence[str] = ("linear", "forest", "boosting"),
        n_estimators: int = 300,
        n_folds: int = 5,
        categorical_features: ArrayLike = "from_dtype",
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.loss = loss
        self.link = link
        self.costs = costs
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.pos_label = pos_label
        self.time_budget = time_budget
        self.interpretable = interpretable
        self.members = members
        self.n_estimators = n_estimators
        self.n_folds = n_folds
        self.categorical_features = categorical_features
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --- fitting ----------------------------------------------------------------------------------

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: Any = None,
        *,
        groups: ArrayLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
        offset: None = None,
    ) -> Self:
        """Fit the members by folds, weigh them, and judge the whole.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            NaN is missing.
        y : array of shape (n,)
            Labels of any type.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows if all weights are whole numbers; other weights are taken
            relative to their mean. Rows of weight 0 take no part.
        groups : array of shape (n,), optional
            Rows of a group share a fold.
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of each row, in the place of those of the constructor; a data frame has columns such as
            ``fp`` and ``fn``. ``predict`` then takes them as well.
        fp_cost, fn_cost : array of shape (n,), optional
            The short form of it.
        offset : None
            Refused: the trees of a forest have no score that could start anywhere. `BoostingClassifier` and
            `LinearClassifier` take one.

        Returns
        -------
        self
        """
        if offset is not None:
            raise ValueError(
                "AutoClassifier takes no offset, because a forest has no score that could start from it; use "
                "BoostingClassifier or LinearClassifier"
            )
        training = self._read(
            X,
            y,
            sample_weight,
            costs=costs,
            fp_cost=fp_cost,
            fn_cost=fn_cost,
            groups=groups,
        )
        settings = settings_of(self)
        loss = fitted_loss(self.loss, self.link, training.n_classes)
        # At stake or not, a decision counts once.
        judging = None
        if stated_costs(self).weight_by_stakes:
            own = sample_weight if np.ndim(sample_weight) == 0 else np.asarray(sample_weight)[training.places]
            judging = Weights.read(own, training.n_rows)
        # The members are fitted to the log loss, whatever the loss of the weights.
        learned = learn(training, settings, loss, judging, self._fit_context.shared)
        parts = _attributes(learned.members, learned.stack)
        return self._keep(training, loss, judgement_=learned.judgement, **parts)

    # --- using the model --------------------------------------------------------------------------

    def _scores(self, table: Table) -> Floats:
        each = [on_scale(member.probabilities(table, self._schema), self.loss_) for member in self._members]
        return self._stack(np.stack(each))

    def _formula(self) -> Formula:
        readout = readout_of(self.loss_, len(self.classes_))
        if isinstance(readout, formula.Bent | formula.Ordered):
            raise ValueError(
                f"the scores of {self.loss_!r} have no closed form, so that a stack of them cannot be "
                "exported; fit with its base loss"
            )
        members = tuple((member.model._formula(), member.numbers) for member in self._members)
        stack = formula.Stack(members, self._stack.weights, self._stack.intercept, LEAST, readout)
        return Formula(stack, readout)

    # --- reading it -------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """What 1,000 decisions cost, and whether that is better than deciding the same for everyone."""
        check_is_fitted(self, "members_")
        return str(self.judgement_)

    @property
    def remarks(self) -> list[str]:
        """How the fits of the members ended, where that is worth a warning."""
        check_is_fitted(self, "members_")
        return [f"{m.name} in the stack: {text}" for m in self._members for text in m.model.remarks]

    def words(self, X: MatrixLike, class_names: Sequence[str] | None = None) -> list[list[str]]:
        """The rules that each row meets, in words, if the model is one of rules."""
        check_is_fitted(self, "members_")
        if len(self._members) == 1 and self._members[0].numbers is None:
            return self._members[0].model.words(X, class_names)
        return super().words(X, class_names)

    def importances(self) -> Floats:
        """How much each feature counts: over the members, by their weights."""
        check_is_fitted(self, "members_")
        total = np.zeros(self.n_features_in_)
        for member, weight in zip(self._members, self._stack.weights, strict=True):
            total += weight * member.importances(self.n_features_in_)
        return shares(total)

    @property
    def view(self) -> str:
        """Text, if it is one model that can be read."""
        check_is_fitted(self, "members_")
        return TEXT if can_be_read(self._members) else EFFECTS

    def export_text(self, *, decimals: int = 3, class_names: Sequence[str] | None = None) -> str:
        """A model that can be read, in words: points of a scorecard, a tree, or rules.

        Parameters
        ----------
        decimals : int, default=3
            Of a scorecard's points.
        class_names : sequence of str, optional
            What to call the classes.

        >>> X, y = [[1.0], [2.0], [3.0], [4.0]] * 20, [0, 0, 1, 1] * 20
        >>> model = AutoClassifier(members=["linear"], random_state=0).fit(X, y)
        >>> print(model.export_text(decimals=2, class_names=["no", "yes"]).splitlines()[0])
        score of yes = ...
        """
        check_is_fitted(self, "members_")
        if not can_be_read(self._members):
            raise ValueError(
                f"{len(self._members)} members together have no text; interpretable=True keeps one that has"
            )
        text = text_of(self._members[0], self._stack, self._schema, self.loss_, decimals, class_names)
        return self._as_adapted(text, class_names)

    def _contributions(self, table: Table) -> Floats:
        total = np.zeros((table.n_rows, len(self._stack.intercept), self.n_features_in_ + 1))
        total[:, :, -1] = self._stack.intercept
        for member, weight in zip(self._members, self._stack.weights, strict=True):
            total += weight * member.contributions(table, self._schema, self.loss_)
        return total

    # --- keeping it -------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return write_state(self._members, self._stack, self.judgement_)

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        members, stack, judgement = read_state(self, state, arrays)
        self.judgement_: Judgement = judgement
        self.__dict__.update(_attributes(members, stack))


def _attributes(members: tuple[Member, ...], stack: Stack) -> dict[str, Any]:
    """What a fitted model keeps of its members."""
    names = [member.name for member in members]
    return {
        "members_": {member.name: member.model for member in members},
        "weights_": dict(zip(names, stack.weights.tolist(), strict=True)),
        "_members": members,
        "_stack": stack,
    }
