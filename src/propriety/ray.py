"""Fitting over many processes or machines with Ray: ``pip install propriety[ray]``.

Every estimator that takes Dask collections in ``fit`` takes Ray Datasets too; this module has what else one
may want.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from propriety.parallel import n_cores

if TYPE_CHECKING:
    from ray.data import Dataset

    from propriety.model.base import ProperClassifier

__all__ = ["local", "predict_proba"]


def local(n_cpus: int | None = None) -> None:
    """Start Ray on this machine alone, on loopback and without its dashboard.

    ``n_cpus`` is the number of processors that it may use; None for all.

    >>> import propriety.ray
    >>> propriety.ray.local(2)  # doctest: +SKIP
    """
    try:
        import ray
    except ImportError:
        raise ImportError("propriety.ray needs Ray: pip install 'propriety[ray]'") from None
    ray.init(
        address="local",
        num_cpus=n_cores() if n_cpus is None else n_cpus,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
    )


def predict_proba(model: ProperClassifier, X: Dataset) -> Dataset:
    """The rows of a dataset with the probability of each class k beside them, in a column ``p_k``; lazily.

    Ray does not promise to keep the order of the rows.

    >>> propriety.ray.predict_proba(model, loans).to_pandas()["p_1"]  # doctest: +SKIP
    """
    features = list(getattr(model, "feature_names_in_", X.schema().names))

    def with_probabilities(table: Any) -> Any:
        P = model.predict_proba(table.select(features))
        for label, p in zip(model.classes_, P.T, strict=True):
            table = table.append_column(f"p_{label}", [p])
        return table

    return X.map_batches(with_probabilities, batch_format="pyarrow")
