"""Pictures of losses; the only part of the package that imports matplotlib, and only when something is drawn.

Install it with ``pip install "propriety[plot]"``.
"""

from propriety.plots.faces import loss_faces

__all__ = ["loss_faces"]
