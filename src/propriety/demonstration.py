"""The table of the demonstration: tumours, of which the malignant must not be missed.

The data set ships with scikit-learn. Five measurements of the cell nuclei are kept: with all thirty every
model is nearly perfect.
"""

from __future__ import annotations

import csv
from pathlib import Path

FP_COST, FN_COST = 1.0, 9.0
TARGET = "diagnosis"
COLUMNS = 5


def write_table(path: str) -> None:
    """Write the tumours to a CSV file, a row each; the last column is malignant or benign.

    >>> import tempfile
    >>> path = str(Path(tempfile.mkdtemp()) / "tumours.csv")
    >>> write_table(path)
    >>> Path(path).read_text().splitlines()[0]
    'mean radius,mean texture,mean perimeter,mean area,mean smoothness,diagnosis'
    """
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*data.feature_names[:COLUMNS], TARGET])
        for row, label in zip(data.data[:, :COLUMNS].tolist(), data.target, strict=True):
            writer.writerow([*row, data.target_names[label]])
