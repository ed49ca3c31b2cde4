"""Driving a fit: stations that fit together are begun, watched, and begun again if one is lost.

Knows nothing of Dask: a `Fleet` has the stations, wherever they are.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from propriety.beyond.following import pass_on
from propriety.beyond.hub import above
from propriety.beyond.station import News, Place
from propriety.model.following import Follower

#: Seconds that a look at a station takes if there is nothing new.
_LOOK = 0.25
#: How often a fit is begun again.
_ATTEMPTS = 10


class Lost(RuntimeError):
    """A station does not answer any more."""


class Remote(Protocol):
    """A station as the driver sees it; every method may raise `Lost`."""

    @property
    def where(self) -> Any:
        """By which another station finds the way to this one."""
        ...

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
        try:
            stations = fleet.stations()
        except BaseException as error:
            if learned is None:
                raise
            raise Interrupted(learned) from error
        try:
            _begin(stations, model, extra)
            return _watch(stations, told, follower)
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


def _begin(stations: Sequence[Remote], model: Any, extra: Callable[[int, int], dict[str, Any]]) -> None:
    """Tell every station its place; the first of each machine speaks for it."""
    marks = _all(stations, "machine")
    machines = list(dict.fromkeys(marks))
    crews = [[s for s, mark in zip(stations, marks, strict=True) if mark == machine] for machine in machines]
    # All speakers can be sent parts before anyone begins.
    opened = [crew[0].start("open", len(crew), k, len(crews)) for k, crew in enumerate(crews)]
    paths = [wait() for wait in opened]
    content, waits, rank = pickle.dumps(model), [], 0
    for k, crew in enumerate(crews):
        for here, station in enumerate(crew):
            up = crews[above(k)][0].where if k and not here else None
            place = Place(rank, len(stations), k, len(crews), here, len(crew), paths[k], up)
            waits.append(station.start("begin", content, place, extra(rank, len(stations))))
            rank += 1
    for wait in waits:
        wait()


def _all(stations: Sequence[Remote], method: str, *arguments: Any) -> list[Any]:
    """Call a method of all stations at once."""
    waits = [station.start(method, *arguments) for station in stations]
    return [wait() for wait in waits]


def _watch(
    stations: Sequence[Remote], told: Callable[[News], None], follower: Follower | None
) -> dict[str, Any]:
    """Look at the stations until they have done."""
    while (learned := _look(stations, told, follower)) is None:
        pass
    return learned


def _look(
    stations: Sequence[Remote], told: Callable[[News], None], follower: Follower | None
) -> dict[str, Any] | None:
    """See how the stations are; returns what was learned, if they have done."""
    first: News = stations[0].call("state", _LOOK)  # the one that has events
    news = [first, *_all(stations[1:], "state", 0.0)]
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
    results = _all(stations, "result")
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
