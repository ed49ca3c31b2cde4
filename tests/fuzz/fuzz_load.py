"""Change model files at random, mend their checksum, and see that loading refuses them or the model works.

    python tests/fuzz/fuzz_load.py --seconds 300 --seed 1 --keep /tmp/findings

The files of past releases are taken apart into document and arrays, changed there, and put together again. A
file must be refused with a `ModelFileError`, or its model must predict, decide, explain and save without an
error, in time, and with probabilities. Anything else is a finding; its bytes are written to ``--keep``.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import json
import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from propriety.model import files
from propriety.storage import ModelFileError

GOLDEN = Path(__file__).parents[1] / "storage" / "golden" / "0.1.0"
SLOWEST = 10  # seconds for one file
ZEROS = "0" * 64
LOSSES = (
    "Log()",
    "Beta(1e-300, 1)",
    "Beta(1e9, 1e-9)",
    "Log().with_link(Logit(1e-99))",
    "Squared().with_link(Identity(0, 1e-300))",
    "CostWeighted(0.3)",
    "Canonical(Power(0.3))",
    "Log().with_link(FromDistribution('t', (1e-9,)))",
    "Log().with_link(Shifted(Logit(), 1e300))",
    "simplex.OneVsRest(Log())",
    "simplex.Power(1e9)",
    "1e300 * Log() + 1e-300 * Squared()",
    "Tailored(0.001, 1e6)",
)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, 3, 255, 256, 2**31, 2**63, 10**400, 0.5, -0.0, 1e-320, 1e99, 1e308,
    "", "x", "auto", "Log()", "nan", [], {}, [None], ["a", "b"], {"float": "nan"}, {"float": "inf"},
    {"tuple": []}, {"map": []}, {"set": [1]}, {"array": [0, 1], "dtype": "int64"},
    {"array": [], "dtype": "float64"}, *({"loss": text} for text in LOSSES),
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 0.5, 1e99, 1e100, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan, 2**31 - 1, -(2**31))


class Parts:
    """A model file taken apart."""

    def __init__(self, data: bytes) -> None:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        self.document: Any = json.loads(header["__metadata__"]["propriety"])
        self.arrays = {name: array.copy() for name, array in load_arrays(data).items()}

    def join(self) -> bytes:
        """The bytes of a file with this content, and the right checksum."""
        document = {**self.document, "sha256": ZEROS}
        tensors = {name: np.ascontiguousarray(array) for name, array in self.arrays.items()}
        data = save_arrays(tensors, metadata={"propriety": json.dumps(document)})
        start = data.index(ZEROS.encode())
        return data[:start] + hashlib.sha256(data).hexdigest().encode() + data[start + 64 :]


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from places(node[key])


def change_document(parts: Parts, random: Random) -> None:
    """Put a strange value somewhere, take one away, or exchange two."""
    every = [(c, k) for c, k in places(parts.document) if k not in ("format", "sha256", "written_by")]
    container, key = random.choice(every)
    other, place = random.choice(every)
    kind = random.randrange(6)
    if kind <= 2:
        container[key] = copy.deepcopy(random.choice(VALUES))
    elif kind == 3:
        del container[key]
    elif kind == 4:
        container[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(container[key])
    elif isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    elif isinstance(container[key], int | float) and not isinstance(container[key], bool):
        container[key] = random.choice((-1, 2, 1e3, 1e-3)) * container[key]


def change_arrays(parts: Parts, random: Random) -> None:
    """Change numbers, order, length, type or name of an array."""
    name = random.choice(list(parts.arrays))
    array = parts.arrays[name]
    kind = random.randrange(9)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if kind <= 2 and array.size:
            array.reshape(-1)[random.randrange(array.size)] = np.array(random.choice(NUMBERS)).astype(
                array.dtype
            )
        elif kind == 3 and array.size:
            array.reshape(-1).view(np.uint8)[random.randrange(array.nbytes)] ^= 1 << random.randrange(8)
        elif kind == 4 and array.size:
            parts.arrays[name] = array[np.array(random.sample(range(len(array)), len(array)))]
        elif kind == 5 and array.size:
            parts.arrays[name] = random.choice((array[1:], array[:-1], np.concatenate([array, array[:1]])))
        elif kind == 6:
            parts.arrays[name] = array.astype(random.choice(("f4", "f8", "i4", "i8", "u1", "?")))
        elif kind == 7:
            other = random.choice(list(parts.arrays))
            parts.arrays[name], parts.arrays[other] = parts.arrays[other], array
        elif kind == 8:
            array[...] = np.array(random.choice(NUMBERS)).astype(array.dtype)


def mutate(data: bytes, random: Random) -> bytes:
    """The file with one to three changes."""
    parts = Parts(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        change = change_document if random.random() < 0.5 else change_arrays
        with contextlib.suppress(KeyError, IndexError, TypeError, OverflowError):  # nothing to change there
            change(parts, random)
    return parts.join()


def use(model: Any) -> None:
    """Do with a loaded model what a user does; raise if it does not work."""
    if type(model).__name__ == "TableModel":
        table = pd.read_csv(GOLDEN / "table.csv").head(20)
        with contextlib.suppress(ValueError):  # a file may ask for other columns than these
            check(model.predict_proba(table))
            model.predict(table)
        return
    d = model.n_features_in_
    if d > 1000:
        raise AssertionError(f"{d} features that no array speaks of")
    random = np.random.default_rng(0)
    X: Any = random.normal(size=(20, d)) * random.choice([0.0, 1.0, 50.0], size=(20, d))
    if "feature_names_in_" in vars(model):
        X = pd.DataFrame(X, columns=model.feature_names_in_)
    try:
        check(model.predict_proba(X))
    except ValueError as error:
        if "is no finite number" in str(error):  # coefficients may be as large as floats are
            return
        raise
    assert np.all(np.isin(model.predict(X), model.classes_))
    model.contributions(X)
    model.importances()
    model.words(X)
    files.from_bytes(files.to_bytes(model))


def check(p: Any) -> None:
    """Rows of probabilities."""
    assert np.all((p >= 0) & (p <= 1)), "probabilities beyond 0 and 1, or NaN"
    assert np.allclose(p.sum(axis=1), 1), "probabilities that do not add up to 1"


def attempt(data: bytes) -> str | None:
    """What is wrong with the way in which a file is read; None if nothing is."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {SLOWEST} seconds")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SLOWEST)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                model = files.from_bytes(data)
            except ModelFileError as error:
                return None if "TimeoutError" not in str(error) else str(error)
            use(model)
    except Exception:
        return traceback.format_exc(limit=-3)
    finally:
        signal.alarm(0)
    return None


def main() -> None:
    """Run for a while and say what was found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=300)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep", type=Path, default=None)
    given = options.parse_args()
    random = Random(given.seed)
    seeds = {path.stem: path.read_bytes() for path in sorted(GOLDEN.glob("*.propriety"))}
    for data in seeds.values():  # what is compiled now takes no file's time
        use(files.from_bytes(data))
    count, findings = 0, {}
    end = time.monotonic() + given.seconds
    while time.monotonic() < end:
        name = random.choice(list(seeds))
        data = mutate(seeds[name], random)
        problem = attempt(data)
        count += 1
        if problem is not None and (line := problem.strip().splitlines()[-1]) not in findings:
            findings[line] = data
            print(f"--- {name}, file {count}\n{problem}", flush=True)
            if given.keep is not None:
                given.keep.mkdir(exist_ok=True)
                (given.keep / f"{name}-{count}.propriety").write_bytes(data)
    print(f"{count} files, {len(findings)} findings")


if __name__ == "__main__":
    main()
