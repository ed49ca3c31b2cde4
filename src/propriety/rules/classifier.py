"""RuleClassifier: boosted rules that a person can read, for any loss that is convex in the score."""

from __future__ import annotations

import numbers

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted, column_or_1d

from propriety import frames, losses, parallel
from propriety.model.base import ProperClassifier
from propriety.tree.parameters import choice, labels_and_weights, number
from propriety.weights import Weights

_SERIAL = 1 << 17  # cells of a table up to which one thread is fastest
_PARTS = 1_000_000  # of a row, in which weights are counted
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
    fp_cost, fn_cost : float, default=1.0
        Cost of a false alarm and of a miss; they decide ``predict``.
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
        the one of smallest cost is kept.
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
    loss_ : composite, or tuple of composites
        Whose link gives the probabilities: the one fitted; from a bag, the one chosen last.
    chosen_ : tuple of composites, or tuple of tuples
        The loss of each round.
    edges_ : ndarray, or tuple of ndarrays
        The edge of each round's rule, the γ of the weak learning assumption. [N9 (42)]
    separated_ : bool, or ndarray of shape (K,)
        Whether a rule, or with ``update="corrective"`` a combination of them, makes no mistake, so that there
        are no finite coefficients; those of ``rules_`` are then held back by one doubtful row a rule.
    n_iter_ : int
        Rounds, of the class that took most.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety import RuleClassifier
    >>> X = np.array([[1, 5], [2, 4], [3, 9], [4, 8], [5, 1], [6, 2], [7, 7], [8, 6]])
    >>> y = np.array([0, 0, 0, 0, 1, 0, 1, 1])
    >>> print(RuleClassifier(n_rules=1).fit(X, y).export_text())
    score of 1 = ...
      + ... if x0 > 4.5, else - ...
              says 1 for 50.0% of the rows, of which 75.0% are; of the others 100.0% are 0
    probability of 1 = Logit().inverse(score)
    """

    def __init__(
        self,
        loss="auto",
        *,
        link=None,
        fp_cost=1.0,
        fn_cost=1.0,
        n_rules=10,
        max_literals=2,
        criterion="entropy",
        update="classical",
        bag=None,
        choose="risk",
        fit_intercept=True,
        min_samples_rule=1,
        max_bins=255,
        categorical_features="from_dtype",
        n_jobs=None,
    ):
        self.loss = loss
        self.link = link
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
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

        Returns
        -------
        self
        """
        from propriety.engine.binning import Binner

        self._check_parameters()
        bag = self._bag()
        if not frames.is_frame(X):
            X = frames.as_array(X)
        classes, codes, weight = labels_and_weights("RuleClassifier", X, y, sample_weight)
        schema, table = frames.Schema.fit(X, self.categorical_features)
        _check_feature_names(self, X, reset=True)
        _check_n_features(self, X, reset=True)
        if len(classes) > 2 and (self.fp_cost, self.fn_cost) != (1, 1):
            raise ValueError(f"fp_cost and fn_cost are for two classes, got {len(classes)} classes")
        n_jobs = parallel.n_threads(self.n_jobs)
        n_jobs = n_jobs if table.n_rows * table.n_features > _SERIAL else 1
        largest = 1 if len(classes) == 2 else int(np.argmax(np.bincount(codes, weights=weight)))
        target = (codes == largest).astype(np.float64)
        weights = Weights.read(weight, table.n_rows)
        binner = Binner.fit(table, weights, target, schema.n_categories, self.max_bins, n_jobs)
        binned = binner.transform(table, n_jobs)
        kept = slice(None) if weight is None or np.all(weight > 0) else weight > 0
        if not isinstance(kept, slice):
            binned = binned._replace(columns=np.ascontiguousarray(binned.columns[:, kept]))
            codes, weight = codes[kept], weight[kept]
        self._boost(bag, schema, table, kept, binner, binned, classes, codes, weight, n_jobs)
        return self

    def _boost(self, bag, schema, table, kept, binner, binned, classes, codes, weight, n_jobs) -> None:
        """Boost rules for class 1, or for each class against the rest, and keep them."""
        from propriety.rules import text as rules_text
        from propriety.rules.boosting import Settings, boost
        from propriety.rules.growing import Grower
        from propriety.rules.leveraging import Sample

        settings = Settings(
            self.n_rules,
            bool(self.fit_intercept),
            self.update == "corrective",
            self.choose,
            float(self.fp_cost),
            float(self.fn_cost),
        )
        said = [1] if len(classes) == 2 else range(len(classes))
        counts = None if self.min_samples_rule <= 1 else _counts(weight, len(codes))
        least, states, merged = _PARTS * self.min_samples_rule, [], []
        for k in said:
            order = np.argsort(codes == k, kind="stable")  # class 0 first
            y = (codes == k)[order].astype(np.uint8)
            ordered = binned._replace(columns=binned.columns[:, order])
            w, rows = (None if a is None else a[order] for a in (weight, counts))
            grower = Grower(ordered, y, rows, self.max_literals, least, self.criterion, n_jobs)
            states.append(boost(Sample(y, w, n_jobs), grower, bag, settings))
            merged.append(rules_text.merged(states[-1].monomials, states[-1].coefficients, grower))
        found = [monomial for rules in merged for monomial in rules]
        binner = rules_text.round_edges(binner, table, kept, binned.columns, found)
        scorers = [rules_text.Scorer(s.intercept, rules) for s, rules in zip(states, merged, strict=True)]
        labels = [classes if len(classes) == 2 else (f"not {classes[k]}", classes[k]) for k in said]
        rules = tuple(
            rules_text.readable(
                found, scorer, schema, binner, binned.columns, (codes == k).astype(np.uint8), weight, names
            )
            for found, scorer, k, names in zip(merged, scorers, said, labels, strict=True)
        )
        two = len(classes) == 2
        self.classes_, self._schema, self._binner, self._scorers = classes, schema, binner, scorers
        self.rules_ = rules[0] if two else rules
        self.intercept_ = states[0].intercept if two else np.array([s.intercept for s in states])
        self.loss_ = states[0].composite if two else tuple(s.composite for s in states)
        self.chosen_ = states[0].chosen if two else tuple(s.chosen for s in states)
        self.edges_ = np.array(states[0].edges) if two else tuple(np.array(s.edges) for s in states)
        separated = [s.ended or s.separated for s in states]
        self.separated_ = separated[0] if two else np.array(separated)
        self.n_iter_ = max(len(s.edges) for s in states)

    def _check_parameters(self) -> None:
        self._threshold()
        choice("criterion", self.criterion, ("entropy", "edge"))
        choice("update", self.update, ("classical", "corrective"))
        choice("choose", self.choose, ("risk", "edge", "once"))
        number("n_rules", self.n_rules, 0, whole=True)
        number("max_literals", self.max_literals, 1, whole=True)
        number("max_bins", self.max_bins, 2, 255, whole=True)
        number("min_samples_rule", self.min_samples_rule, 0)

    def _bag(self) -> list[losses.Composite]:
        """The losses to boost: one, or those of the bag."""
        from propriety.rules.boosting import BAGS, composite_of

        if not (isinstance(self.loss, str) and self.loss == "bag"):
            if self.bag is not None:
                raise ValueError(f"bag={self.bag!r} is for loss='bag', and loss is {self.loss!r}")
            loss = losses.Log() if isinstance(self.loss, str) and self.loss == "auto" else self.loss
            return [composite_of(loss, self.link)]
        if self.link is not None:
            raise ValueError("the losses of a bag have links of their own: give link=None")
        bag = ("all" if self.choose == "once" else 1) if self.bag is None else self.bag
        if isinstance(bag, (str, numbers.Integral)):
            if bag not in BAGS:
                raise ValueError(f"bag must be 1, 2, 'all' or a list of losses, got {bag!r}")
            bag = BAGS[bag]
        if len(bag) == 0:
            raise ValueError("bag is empty: give at least one loss")
        return [composite_of(loss, None) for loss in bag]

    # --- using the model --------------------------------------------------------------------------

    def decision_function(self, X) -> Floats:
        """The score F: of shape (n,) for two classes, (n, K) for more, one class against the rest."""
        check_is_fitted(self, "_scorers")
        if not frames.is_frame(X):
            X = frames.as_array(X)
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        table = self._schema.read(X)
        n_jobs = parallel.n_threads(self.n_jobs) if table.n_rows * table.n_features > _SERIAL else 1
        columns = self._binner.transform(table, n_jobs).columns
        scores = [scorer.scores(columns) for scorer in self._scorers]
        return scores[0] if len(scores) == 1 else np.column_stack(scores)

    def predict_proba(self, X) -> Floats:
        """Probabilities of the classes, of shape (n, K), through the link of the loss.

        With more than two classes, those of each class against the rest, divided by their sum.
        """
        F = self.decision_function(X)
        if F.ndim == 1:
            p = np.asarray(self.loss_.inverse(F))
            return np.column_stack([1 - p, p])
        P = np.column_stack([c.inverse(F[:, k]) for k, c in enumerate(self.loss_)])
        total = P.sum(axis=1, keepdims=True)
        return np.where(total > 0, P / np.where(total > 0, total, 1.0), 1.0 / P.shape[1])

    def margins(self, X, y) -> Floats:
        """Normalized margins of labelled rows, in [−1, 1]: positive where the class is right. [N9 (27)]"""
        from propriety.evaluation.margins import normalized_margins

        return normalized_margins(column_or_1d(y), self.predict_proba(X), classes=self.classes_)

    def export_text(self, digits: int = 3) -> str:
        """The model in words: the rules with coefficients to add up, what each covers and how precise it is.

        Parameters
        ----------
        digits : int, default=3
            Digits of the coefficients.
        """
        from propriety.rules.text import text

        check_is_fitted(self, "_scorers")
        two = len(self.classes_) == 2
        parts = zip(
            [self.intercept_] if two else self.intercept_,
            [self.rules_] if two else self.rules_,
            self.classes_[1:] if two else self.classes_,
            [self.loss_] if two else self.loss_,
            [self.separated_] if two else self.separated_,
            strict=True,
        )
        rest = "" if two else ", divided by the sum over the classes"
        return "\n\n".join(
            text(a, rules, label, f"{c.link!r}.inverse(score){rest}", separated, digits)
            for a, rules, label, c, separated in parts
        )


def _counts(weight: Floats | None, n: int) -> NDArray[np.int64]:
    """Weights of the rows in fixed point."""
    return np.full(n, _PARTS) if weight is None else np.rint(_PARTS * weight).astype(np.int64)
