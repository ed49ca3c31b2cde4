"""Fitting over many processes or machines with Dask: ``pip install propriety[dask]``.

Every estimator that can takes Dask DataFrames and Arrays in ``fit``, and all of them in ``predict``; this
module has what else one may want.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from propriety.parallel import n_cores

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["local"]


def local(n_workers: int | None = None, *, threads: int = 1, memory: str | None = None) -> Client:
    """Start Dask workers on this machine, on loopback only, and return the client that ``fit`` will use.

    Parameters
    ----------
    n_workers : int, optional
        Processes; None for one a core.
    threads : int, default=1
        Threads of each.
    memory : str, optional
        The most that each may take, such as "4GB"; None for its share of what there is.

    Examples
    --------
    >>> import propriety.dask
    >>> client = propriety.dask.local(2)  # doctest: +SKIP
    >>> client.close()  # doctest: +SKIP
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError("propriety.dask needs Dask: pip install 'propriety[dask]'") from None
    cluster = LocalCluster(
        n_workers=n_cores() if n_workers is None else n_workers,
        threads_per_worker=threads,
        memory_limit="auto" if memory is None else memory,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )
    return Client(cluster)
