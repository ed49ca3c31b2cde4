"""The public names: what users look for, and nothing more. A new one is a decision that is made here."""

import importlib
import pkgutil

import pytest

import propriety

PUBLIC = {
    "propriety": """
        __version__ algorithms AutoClassifier BoostingClassifier Costs evaluation ForestClassifier interop
        KernelClassifier LinearClassifier links load losses LossSearchCV plots recommend register_skl2onnx
        RuleClassifier scan ScorecardClassifier Study TreeClassifier TRUSTED
    """,
    "propriety.algorithms": "make names",
    "propriety.boosting": "Algorithm BoostingClassifier gain_path",
    "propriety.dask": "local",
    "propriety.evaluation": """
        best_threshold budget_curve calibration_error calibration_slope compare cost_scorer
        cost_sensitivity cost_summary decision_curve decomposition expected_cost importance
        mean_cost mean_loss murphy_curve murphy_difference nearest_flip ranking_curve recalibrate
        reliability scorer subgroups
    """,
    "propriety.interop": "catboost lightgbm LightGBMProper xgboost XGBoostProper",
    "propriety.linear": """
        bregman_projection LinearClassifier LinearPath path separating_direction SeparationWarning
        SlopeWarning
    """,
    "propriety.losses": """
        AlphaTunable Arcsine Beta Boosting CascadeDown CascadeUp Composite CostWeighted DensityPower
        Exponential from_density from_entropy from_link_and_binding from_margin_loss
        from_partial_losses from_variance from_weight GBoost GGauss GLaplace GLog HandVinciotti
        links Log LogCosh Loss Matsushita Misclassification Mixture Mu names parse Power register
        Savage simplex Spherical Squared Tailored
    """,
    "propriety.losses.links": """
        Algebraic Canonical Cauchit CLogLog examples FromDistribution Identity Interpolated Laplace Link
        Logit LogLog names Probit Recalibrated register Shifted
    """,
    "propriety.losses.simplex": """
        Brier Cumulative examples Log MarginForm MH names of OneVsRest OrderedLoss PairwiseExponential Power
        RankedProbability Recalibrated register SimplexLoss
    """,
    "propriety.plots": """
        CriticalDifferenceDisplay DecisionCurveDisplay DecompositionDisplay loss_faces MurphyDisplay
        ReliabilityDisplay shape_functions tree
    """,
    "propriety.report": "html",
}
#: Parts whose public names are those of `propriety`, under which users import them.
TWINS = ("auto", "forest", "kernel", "rules", "scorecard", "study", "tree", "tuning")


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_these(module):
    found = importlib.import_module(module)
    assert sorted(found.__all__) == sorted(PUBLIC[module].split())
    assert all(hasattr(found, name) for name in found.__all__)


@pytest.mark.parametrize("part", TWINS)
def test_parts_name_what_the_package_has(part):
    assert set(importlib.import_module(f"propriety.{part}").__all__) <= set(propriety.__all__)


def test_there_are_no_other_public_parts():
    parts = {part.name for part in pkgutil.iter_modules(propriety.__path__) if part.ispkg}
    listed = {name.split(".")[1] for name in PUBLIC if "." in name}
    named = {part for part in parts if hasattr(importlib.import_module(f"propriety.{part}"), "__all__")}
    assert named - listed - set(TWINS) == INTERNAL


#: Parts with names for other parts only.
INTERNAL = {"storage", "tables"}


def test_public_names_do_not_grow():
    things = [
        getattr(importlib.import_module(module), name) for module in PUBLIC for name in PUBLIC[module].split()
    ]
    assert len({id(thing) for thing in things}) <= LIMIT


#: How many things they name.
LIMIT = 141
