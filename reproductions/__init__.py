"""The experiments of the five papers, repeated: what was printed beside what this library finds.

An experiment is a value, `Experiment`: where it stands in its paper, its protocol as data, what was printed,
and a function that runs it in a `Context` and gives an `Outcome`. There is one module a paper; `registry`
has all of them by name, ``python -m reproductions`` runs them.

To add one, in the module of its paper:

1. what was printed, as `Printed` (every number that the paper states, with the page and the table);
2. the protocol, as `Setting`s, each with its source: "paper", "inferred" or "ours", and what was tried;
3. ``def run(context) -> Outcome``: data by ``context.data.load(name)``, sizes by
   ``context.choose(full, quick, toy)``, fits by ``context.map(part, function, items)``, which keeps each
   result by the code of the function (`fingerprint`), so that a second run goes on where the first ended and
   words can be changed without fitting anew; tables by ``printed.beside(ours)``; one `Verdict` a claim;
4. its figures as `Drawing`s: a function of an empty matplotlib figure and of the numbers that the outcome
   keeps;
5. its name in `registry`.
"""

from __future__ import annotations

from reproductions.experiment import (
    Cell,
    Drawing,
    Experiment,
    Outcome,
    Paper,
    Printed,
    Setting,
    Table,
    Verdict,
)

__all__ = ["Cell", "Drawing", "Experiment", "Outcome", "Paper", "Printed", "Setting", "Table", "Verdict"]
