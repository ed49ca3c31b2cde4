"""The server of the page: on this machine only, for the browser of the one who started it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache, partial
from queue import SimpleQueue
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from propriety import parallel
from propriety.costs import ResolvedCosts
from propriety.explore import answers, choices, fitting, page
from propriety.explore.datasets import DataSet

HOST, PORT = "127.0.0.1", 8777
_HEADERS = {
    "Content-Security-Policy": page.POLICY + "; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Worker:
    """Runs one job after the other in a thread that does not keep the process from ending."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        threading.Thread(target=self._run, name="propriety-explore", daemon=True).start()

    def submit(self, job: Callable[[], Any]) -> Future[Any]:
        """Run a job when those before it are done."""
        future: Future[Any] = Future()
        self._jobs.put((future, job))
        return future

    def _run(self) -> None:
        while True:
            future, job = self._jobs.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(job())
                except Exception as error:  # told to whoever asked
                    future.set_exception(error)


class Explorer:
    """The answers to the page's questions, for some data and thresholds; `n_jobs` threads fit models."""

    def __init__(
        self,
        data: Sequence[DataSet],
        *,
        fp_cost: float | None = None,
        fn_cost: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        parallel.n_threads(n_jobs)  # refuses what is not a number of threads, before a model is asked for
        self.n_jobs = n_jobs
        self.data = {one.name: one for one in data}
        rows = choices.thresholds(fp_cost, fn_cost)
        self.thresholds = np.array([row["c"] for row in rows])
        self.settings = page.settings(data, rows, start_threshold=_start(fp_cost, fn_cost))
        self._document = page.document(self.settings)
        self._worker, self._turn = Worker(), asyncio.Lock()
        self._faces = lru_cache(maxsize=512)(partial(answers.faces, thresholds=self.thresholds))

    async def index(self, request: Request) -> Response:
        """The page."""
        return Response(self._document, media_type="text/html", headers=_HEADERS)

    async def asset(self, request: Request) -> Response:
        """A script or the style sheet."""
        name = request.path_params["name"]
        if name not in page.ASSETS:
            return _problem(f"there is no file {name!r}", 404)
        return Response(page.asset(name), media_type=page.ASSETS[name], headers=_HEADERS)

    def faces(self, request: Request) -> Response:
        """Every face of a loss; a plain function, so that it runs beside the others in a thread."""
        query = _query(request)
        try:
            told = self._faces(answers.asked_loss(query), by_handles="handles" in query)
        except answers.BadRequestError as error:
            return _problem(str(error))
        return _json(told)

    async def models(self, request: Request) -> Response:
        """Models of a loss, on one of the data sets: one request after the other, those given up left out."""
        query = _query(request)
        name = query.pop("data", "")
        if name not in self.data:
            return _problem(f"there are no data {name!r}; there are {', '.join(self.data)}")
        try:
            shape = answers.asked_loss(query)
        except answers.BadRequestError as error:
            return _problem(str(error))
        async with self._turn:
            if await request.is_disconnected():
                return _problem("no longer asked for", 499)
            job = partial(fitting.judged, self.data[name], shape.loss, self.thresholds, n_jobs=self.n_jobs)
            try:
                return _json(await asyncio.wrap_future(self._worker.submit(job)))
            except (ValueError, TypeError, ArithmeticError) as error:
                return _problem(str(error))
            except asyncio.CancelledError:  # the server ends, and does not wait for a fit
                return _problem("the explorer has ended", 503)

    def app(self) -> Starlette:
        """The application; it answers requests that name this machine only, and come from no other site."""
        return Starlette(
            routes=[
                Route("/", self.index),
                Route("/faces", self.faces),
                Route("/models", self.models),
                Route("/{name}", self.asset),
            ],
            middleware=[
                Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"]),
                Middleware(OwnPageOnly),
            ],
            exception_handlers={Exception: _fault},
        )


class OwnPageOnly:
    """Middleware that refuses what another site has the browser ask; a link to the page itself is followed.

    A page of another site cannot read the answers, but each would cost a fit. Browsers say where a request
    comes from by ``Sec-Fetch-Site`` and, of some, by ``Origin``.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, or refuse with 403."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
        own = f"http://{request.headers.get('host', '')}"
        is_link = request.url.path == "/" and request.headers.get("sec-fetch-mode") == "navigate"
        if (origin not in (None, own) or site not in ("same-origin", "none")) and not is_link:
            await _problem("another site may not ask the explorer", 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _start(fp_cost: float | None, fn_cost: float | None) -> float:
    if fp_cost is None or fn_cost is None:
        return choices.START_THRESHOLD
    return float(ResolvedCosts.of_mistakes(fp_cost, fn_cost).threshold)


def _query(request: Request) -> dict[str, str]:
    return dict(request.query_params)


def _json(told: Mapping[str, Any]) -> Response:
    return JSONResponse(told, headers=_HEADERS)


def _problem(text: str, code: int = 400) -> Response:
    return JSONResponse({"error": text}, status_code=code, headers=_HEADERS)


async def _fault(request: Request, error: Exception) -> Response:
    """For what should never happen: the server itself writes the trace to the terminal."""
    return _problem(f"a fault of the program, which the terminal shows: {error!r}", 500)


def listen(port: int | None = None) -> socket.socket:
    """A socket on this machine; without a port the usual one, or any that is free.

    Raises
    ------
    OSError
        If the port that was asked for is taken.
    """
    for attempt in (PORT, 0) if port is None else (port,):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, attempt))
        except OSError:
            listening.close()
            if attempt != PORT or port is not None:
                raise
        else:
            listening.listen()
            return listening
    raise AssertionError


def address(listening: socket.socket) -> str:
    """Where the page is."""
    return "http://{}:{}/".format(*listening.getsockname())


def made(explorer: Explorer) -> uvicorn.Server:
    """The server, to be run with a socket."""
    config = uvicorn.Config(
        explorer.app(), log_level="error", access_log=False, timeout_graceful_shutdown=1, lifespan="off"
    )
    # A fit that is given up at the end is no error.
    logging.getLogger("uvicorn.error").addFilter(lambda row: "graceful shutdown" not in row.getMessage())
    return uvicorn.Server(config)


def serve(explorer: Explorer, listening: socket.socket) -> None:
    """Answer until interrupted; Ctrl-C ends it without a trace."""
    with contextlib.suppress(KeyboardInterrupt):
        made(explorer).run(sockets=[listening])
