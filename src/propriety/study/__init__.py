"""Studies: a model judged by what its decisions cost on rows that it has not seen."""

from propriety.study.study import Study

__all__ = ["Study"]
