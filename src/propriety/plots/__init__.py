"""Pictures of losses, fits and judgements; nothing else imports matplotlib, and this only when one is drawn.

Install it with ``pip install "propriety[plot]"``.
"""

from propriety.plots.comparison import CriticalDifferenceDisplay
from propriety.plots.comparison import QQDisplay as QQDisplay
from propriety.plots.convergence import convergence as convergence
from propriety.plots.decisions import CostCurveDisplay as CostCurveDisplay
from propriety.plots.decisions import DecisionCurveDisplay
from propriety.plots.decomposition import DecompositionDisplay
from propriety.plots.faces import loss_faces
from propriety.plots.margin_curves import MarginDisplay as MarginDisplay
from propriety.plots.murphy import MurphyDisplay
from propriety.plots.reliability import ReliabilityDisplay
from propriety.plots.shapes import shape_functions
from propriety.plots.tree import tree

__all__ = [
    "CriticalDifferenceDisplay",
    "DecisionCurveDisplay",
    "DecompositionDisplay",
    "MurphyDisplay",
    "ReliabilityDisplay",
    "loss_faces",
    "shape_functions",
    "tree",
]
