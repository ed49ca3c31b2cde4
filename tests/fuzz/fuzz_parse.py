"""Write losses at random, right and wrong ones, and see that reading them refuses them or gives a loss.

    python tests/fuzz/fuzz_parse.py --seconds 300 --seed 1

A text must be refused with a ValueError or a TypeError, within a second, or give a loss, link or composite
whose text reads back as the same. Anything else is a finding.
"""

from __future__ import annotations

import argparse
import signal
import time
import traceback
import warnings
from random import Random
from typing import Any

import numpy as np
import scipy.stats  # noqa: F401  (imported by a link, which would count as its time)

from propriety import links, losses
from propriety.losses import simplex
from propriety.losses.registry import LINKS, LOSSES, SIMPLEX

SLOWEST = 1.0  # seconds for one text
NUMBERS = ("0", "1", "-1", "0.3", "2", "1e-300", "1e300", "1e400", "-0.0", "9" * 20, "1" + "0" * 400)
OTHERS = ("'t'", "'levy_stable'", "'norm'", "(5,)", "(-5,)", "()", "'Log'", "x", "None", "True", "b'a'")
NAMES = (
    *LOSSES.classes,
    *LINKS.classes,
    "Tilted",
    "CanonicalFor",
    *map("simplex.{}".format, SIMPLEX.classes),
)
SIGNS = "()+*-.,'\"0123456789e simplexLogBetawith_link\n\t\x00λ"


def write(random: Random, depth: int = 0) -> str:
    """A text by the grammar of losses, with arguments of any kind."""
    kind = random.randrange(10)
    if depth > 4 or kind <= 1:
        return random.choice(NUMBERS)
    if kind == 2:
        return random.choice(OTHERS)
    if kind == 3:
        return f"{write(random, depth + 1)} {random.choice('+*-/')} {write(random, depth + 1)}"
    if kind == 4:
        method = random.choice(("with_link", "with_gain", "shrunk", "tilted", "composite"))
        return f"{write(random, depth + 1)}.{method}({write(random, depth + 1)})"
    arguments = [write(random, depth + 1) for _ in range(random.choice((0, 0, 1, 1, 2, 3)))]
    if arguments and random.random() < 0.2:
        arguments[-1] = f"{random.choice(('scale', 'loss', 'alpha', 'by', 'args'))}={arguments[-1]}"
    return f"{random.choice(NAMES)}({', '.join(arguments)})"


def damage(text: str, random: Random) -> str:
    """The text with some signs changed, taken away or repeated."""
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice((random.choice(SIGNS), text[at:] * 2, "", "")) + text[at + 1 :]
    return text[:5000]


def attempt(text: str) -> str | None:
    """What is wrong with the way in which a text is read; None if nothing is."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {SLOWEST} seconds")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SLOWEST)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                value = losses.parse(text)
            except (ValueError, TypeError):
                return None
            if isinstance(value, losses.Loss | losses.Composite | links.Link | simplex.SimplexLoss):
                assert losses.parse(repr(value)) == value, f"{value!r} reads back as something else"
                hash(value)
    except Exception:
        return traceback.format_exc(limit=-3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def main() -> None:
    """Run for a while and say what was found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=300)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    random, end = Random(given.seed), time.monotonic() + given.seconds
    count, findings = 0, set()
    while time.monotonic() < end:
        text = write(random)
        if random.random() < 0.3:
            text = damage(text, random)
        problem = attempt(text)
        count += 1
        if problem is not None:
            lines = problem.strip().splitlines()
            where = (lines[-1][:40], next((at for at in reversed(lines) if at.startswith("  File")), ""))
            if where not in findings:
                findings.add(where)
                print(f"--- {text!r}\n{problem}", flush=True)
    print(f"{count} texts, {len(findings)} findings")


if __name__ == "__main__":
    main()
