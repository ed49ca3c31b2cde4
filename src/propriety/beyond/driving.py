"""Driving a fit: stations that fit together are begun, answered, watched, and begun again if one is lost.

Knows nothing of Dask: a `Fleet` has the stations, wherever they are.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from propriety.beyond.following import pass_on
from propriety.beyond.hub import combined
from propriety.beyond.station import News, Place
from propriety.model.following import Follower

#: Seconds that a look takes if there is nothing new, and between two looks at all stations.
_LOOK, _OFTEN = 0.25, 0.2
#: How often a fit is begun again.
_ATTEMPTS = 10


class Lost(RuntimeError):
    """A station does not answer any more."""


class Remote(Protocol):
    """A station as the driver sees it; every method may raise `Lost`."""

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method and wait for what it returns."""
        ...

    def start(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Call a method, and return a function that waits for what it returns."""
        ...


class Fleet(Protocol):
    """The stations of a fit."""

    def stations(self) -> Sequence[Remote]:
        """New stations with all rows, none without any: those that were lost are read again."""
        ...

    def dismiss(self, stations: Sequence[Remote]) -> None:
        """Let stations go."""
        ...


class Interrupted(Exception):
    """The fit was broken off; what was learned so far is there."""

    def __init__(self, learned: dict[str, Any] | None) -> None:
        super().__init__("the fit was broken off")
        self.learned = learned


def drive(
    fleet: Fleet,
    model: Any,
    extra: Callable[[int, int], dict[str, Any]],
    known: Callable[[dict[str, Any]], Sequence[Any]],
    told: Callable[[News], None],
    follower: Follower | None = None,
) -> dict[str, Any]:
    """Fit the model over the rows of a fleet, and return what it has learned.

    Parameters
    ----------
    fleet : Fleet
    model : estimator
        Not changed; its copies are fitted.
    extra : callable
        What `fit` of the process with this rank, of so many, is given besides its rows.
    known : callable
        The rounds that are in what was learned by a fit that was broken off.
    told : callable
        Is told how far it is.
    follower : Follower, optional
        Follows the rounds, if the model says that it is ``_followed``.
    """
    learned: dict[str, Any] | None = None
    for attempt in range(_ATTEMPTS):
        stations = fleet.stations()
        try:
            speakers = _begin(stations, model, extra)
            return _watch(stations, speakers, told, follower)
        except (Lost, _Parted) as error:
            learned = _longest([learned, *_stop(stations)], known)
            if learned is not None:
                model._known_rounds = known(learned)
            if attempt == _ATTEMPTS - 1:
                raise Interrupted(learned) from error
        except KeyboardInterrupt:
            learned = _longest([learned, *_stop(stations)], known)
            raise Interrupted(learned) from None
        except BaseException:
            _stop(stations)
            raise
        finally:
            fleet.dismiss(stations)
    raise AssertionError("unreachable")


class _Parted(Exception):
    """The stations have broken off."""


def _begin(
    stations: Sequence[Remote], model: Any, extra: Callable[[int, int], dict[str, Any]]
) -> list[Remote]:
    """Tell every station its place; returns those that speak for their machines, if there are several."""
    marks = [station.call("machine") for station in stations]
    machines = list(dict.fromkeys(marks))
    crews = [[s for s, mark in zip(stations, marks, strict=True) if mark == machine] for machine in machines]
    content, waits, rank = pickle.dumps(model), [], 0
    for k, crew in enumerate(crews):
        path = crew[0].call("open", len(crew))
        for here, station in enumerate(crew):
            place = Place(rank, len(stations), k, len(crews), here, len(crew), path)
            waits.append(station.start("begin", content, place, extra(rank, len(stations))))
            rank += 1
    for wait in waits:
        wait()
    return [crew[0] for crew in crews] if len(crews) > 1 else []


def _watch(
    stations: Sequence[Remote],
    speakers: Sequence[Remote],
    told: Callable[[News], None],
    follower: Follower | None,
) -> dict[str, Any]:
    """Answer what the speakers ask, and look at all stations now and then, until they have done."""
    asked: dict[int, Any] = {}
    answer: Any = None
    looked = -_OFTEN
    while True:
        quiet = [k for k in range(len(speakers)) if k not in asked]
        waits = [speakers[k].start("look", answer, _LOOK) for k in quiet]
        news = {k: wait() for k, wait in zip(quiet, waits, strict=True)}
        answer = None
        asked |= {k: one.asked for k, one in news.items() if one.asked is not None}
        if speakers and len(asked) == len(speakers):
            answer = (combined(asked[0][0], [asked[k][1] for k in range(len(speakers))]),)
            asked = {}
        if any(one.event or one.state not in ("working", "asking") for one in news.values()):
            looked = -_OFTEN
        if time.monotonic() - looked >= _OFTEN:
            looked = time.monotonic()
            learned = _look(stations, 0.0 if speakers else _LOOK, told, follower)
            if learned is not None:
                return learned


def _look(
    stations: Sequence[Remote],
    patience: float,
    told: Callable[[News], None],
    follower: Follower | None,
) -> dict[str, Any] | None:
    """See how the stations are; returns what was learned, if they have done."""
    first: News = stations[0].call("state", patience)  # the one that has events
    waits = [station.start("state", 0.0) for station in stations[1:]]
    news = [first, *(wait() for wait in waits)]
    told(max(news, key=lambda one: one.done))
    for station, one in zip(stations, news, strict=True):
        if one.state == "failed":
            raise pickle.loads(station.call("result"))
        if one.event is not None and follower is not None:
            pass_on(one.event, station, follower)
    if any(one.state == "parted" for one in news):
        raise _Parted
    if not all(one.state == "done" for one in news):
        return None
    results = [station.call("result") for station in stations]
    return pickle.loads(next(result for result in results if result))


def _stop(stations: Sequence[Remote]) -> list[dict[str, Any] | None]:
    """Break off, and return what each station that is left has learned so far."""
    found: list[dict[str, Any] | None] = []
    for station in stations:
        try:
            station.call("stop")
        except Lost:
            continue
    end = time.monotonic() + 60.0
    for station in stations:
        try:
            while station.call("state", _LOOK).state == "working" and time.monotonic() < end:
                pass
            if station.call("state", 0.0).state == "parted":
                found.append(pickle.loads(station.call("result")))
        except Lost:
            continue
    return found


def _longest(
    learned: list[dict[str, Any] | None], known: Callable[[dict[str, Any]], Sequence[Any]]
) -> dict[str, Any] | None:
    some = [one for one in learned if one]
    return max(some, key=lambda one: len(known(one)), default=None)
