"""Pictures of losses and fits; nothing else imports matplotlib, and this only when something is drawn.

Install it with ``pip install "propriety[plot]"``.
"""

from propriety.plots.convergence import convergence
from propriety.plots.faces import loss_faces

__all__ = ["convergence", "loss_faces"]
