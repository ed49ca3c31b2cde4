"""Where to split: the few cuts of each column that can be best, for any entropy.

With (a, b) the class sums on the left of a cut and (A, B) those of the node, the loss after the split is
h(a, b) + h(A − a, B − b), h(a, b) = (a + b) H(b/(a + b)). For concave H that is a concave function of the
point (a, b), so over any set of cuts it is least at a vertex of their convex hull. The vertices are few (some
twenty for 100,000 random rows), and finding them takes one pass that does not know the entropy, which is
then computed by its own formula there and nowhere else. This carries Fayyad and Irani's rule further, that
only cuts between runs of different classes matter; for more than two classes that rule itself is used.

The same holds for sets of categories in the order of their class share, whose cuts are the vertices of all
possible partitions. What they gain is worth less than it seems, and how much it is worth is found here too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.engine.categories import real_share, whole_step
from propriety.engine.compiling import inner, kernel, small

BINNED, CATEGORICAL, SORTED = 0, 1, 2
MISSING = np.int64(2**31 - 1)  # the rank of a missing value
_ROW = np.int64(2**32 - 1)
_U = np.uint64
_UROW, _USHIFT = np.uint64(2**32 - 1), np.uint64(32)  # unsigned indices need no test for negative ones
CELLS = 256


class SearchColumns(NamedTuple):
    """The table as numbers: bins for a column of few values, else rows in the order of their values."""

    kinds: NDArray[np.int64]  # (d,) of BINNED, CATEGORICAL, SORTED
    places: NDArray[np.int64]  # (d,): row of `codes` or of `order`
    codes: NDArray[np.uint8]  # (·, n)
    n_bins: NDArray[np.int64]  # (d,): a missing value has this number as its bin
    order: NDArray[np.int64]  # (·, n): rank · 2³² + row, those of a node side by side
    monotone: NDArray[np.int64]  # (d,): −1, 0 or 1
    levels: NDArray[np.float64]  # (d, 256): categories that share a bin


class Sample(NamedTuple):
    """The training rows; sums of weights are whole numbers of a unit, so their order does not matter."""

    rows: NDArray[np.int64]  # label · 2³² + row, those of a node side by side
    labels: NDArray[np.uint8]
    weights: NDArray[np.float64]  # empty: all 1
    unit: float = 1.0  # of the weights, in rows
    dispersion: float = 1.0  # by how much more sums of the weights vary than numbers of rows


class Nodes(NamedTuple):
    """The nodes to search."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    sums: NDArray[np.float64]  # (m, K)
    lower: NDArray[np.float64]  # bounds on the share of class 1, from monotone constraints above
    upper: NDArray[np.float64]
    slots: NDArray[np.int64]  # (m,): where their class sums are; −1: not counted


class Scratch(NamedTuple):
    """Room for one worker."""

    cells: NDArray[np.float64]  # (256, K)
    left: NDArray[np.float64]  # (3, K): sums so far, sums before the last block, sums of missing values
    shares: NDArray[np.float64]  # (256,)
    bins: NDArray[np.int64]  # (256,)
    points: NDArray[np.float64]  # (4, 2, n + 1): hulls under construction
    cuts: NDArray[np.int64]  # (4, n + 1)
    path: NDArray[np.float64]  # (2, 2, 2): the last two points, without and with missing values
    fits: NDArray[np.int64]  # (2, 2): their cuts + 1, or 0 if they are not allowed
    tops: NDArray[np.int64]  # (4,)
    found: NDArray[np.int64]  # (capacity, 4): node, feature, cut, how
    found_sums: NDArray[np.float64]  # (capacity, K): of the left side
    found_worth: NDArray[np.float64]  # (capacity,): the part of the gain that counts


def scratch(n: int, n_classes: int, capacity: int, any_sorted: bool) -> Scratch:
    """Room for a worker; `capacity` cuts."""
    size = (n if any_sorted else CELLS) + 1
    return Scratch(
        np.zeros((CELLS, n_classes)),
        np.zeros((3, n_classes)),
        np.zeros(CELLS),
        np.zeros(CELLS, dtype=np.int64),
        np.zeros((4, 2, size)),
        np.zeros((4, size), dtype=np.int64),
        np.zeros((2, 2, 2)),
        np.zeros((2, 2), dtype=np.int64),
        np.zeros(4, dtype=np.int64),
        np.zeros((capacity, 4), dtype=np.int64),
        np.zeros((capacity, n_classes)),
        np.zeros(capacity),
    )


@inner
def _fits(a, b, A, B, least, lower, upper, sign):
    """Whether a cut leaves enough weight on both sides and respects the monotone constraints."""
    left, right = a + b, A + B - a - b
    if left < least or right < least or left <= 0 or right <= 0:
        return False
    if sign == 0 and lower <= 0 and upper >= 1:
        return True
    p, q = b / left, (B - b) / right
    return sign * (q - p) >= 0 and p >= lower and p <= upper and q >= lower and q <= upper


@small
def _push(x, y, cuts, top, turn, a, b, cut):
    """Add a point to a hull of `top` points, both coordinates rising; returns how many it has then."""
    while top >= 2:
        cross = (x[top - 1] - x[top - 2]) * (b - y[top - 2]) - (y[top - 1] - y[top - 2]) * (a - x[top - 2])
        if turn * cross > 0:
            break
        top -= 1
    x[top], y[top], cuts[top] = a, b, cut
    return top + 1


@inner
def _push_to(room, which, turn, a, b, cut):
    """Add a point to one of the hulls in the room."""
    points = room.points[which]
    room.tops[which] = _push(points[0], points[1], room.cuts[which], room.tops[which], turn, a, b, cut)


@inner
def _offer(room, a, b, nodes, node, least, sign, any_missing, cut):
    """A cut with the sums (a, b) on its left and missing values on the right, or also with them on the left.

    Decides about the cut before: between two other points of the set, it can only be a vertex of the hull to
    which the path turns there.
    """
    A, B = nodes.sums[node, 0], nodes.sums[node, 1]
    lower, upper = nodes.lower[node], nodes.upper[node]
    for side in range(2 if any_missing else 1):
        x, y = a + side * room.left[2, 0], b + side * room.left[2, 1]
        fits = cut >= 0 and _fits(x, y, A, B, least, lower, upper, sign)
        last, before = room.path[side, 0], room.path[side, 1]
        if room.fits[side, 0]:
            turn = 0.0
            if fits and room.fits[side, 1]:
                turn = (last[0] - before[0]) * (y - last[1]) - (last[1] - before[1]) * (x - last[0])
            if turn > 0 or not (fits and room.fits[side, 1]):
                _push_to(room, 2 * side, 1, last[0], last[1], room.fits[side, 0] - 1)
            if turn < 0 or not (fits and room.fits[side, 1]):
                _push_to(room, 2 * side + 1, -1, last[0], last[1], room.fits[side, 0] - 1)
        before[0], before[1], room.fits[side, 1] = last[0], last[1], room.fits[side, 0]
        last[0], last[1], room.fits[side, 0] = x, y, cut + 1 if fits else 0


@small
def _decide(room, tops, last_x, last_y, fitted, x, y, cut, a, b, fits):
    """Add the cut at (x, y), between those at (last_x, last_y) and (a, b), to the hulls that it can be in.

    `fitted` and `fits` say whether the other two are allowed. Returns how many points both hulls have then.
    """
    below, above, n_below, n_above = room.points[0], room.points[1], tops[0], tops[1]
    inside, turn = fits and fitted, 0.0
    if inside:
        turn = (x - last_x) * (b - y) - (y - last_y) * (a - x)
    if turn > 0 or not inside:
        n_below = _push(below[0], below[1], room.cuts[0], n_below, 1, x, y, cut)
    if turn < 0 or not inside:
        n_above = _push(above[0], above[1], room.cuts[1], n_above, -1, x, y, cut)
    return n_below, n_above


@inner
def _offer_bins(room, nodes, node, least, sign, n_bins):
    """`_offer` every cut between the bins of a column without missing values, and decide about all of them.

    The same in less time, since nothing that is carried from bin to bin goes through the room.
    """
    A, B, lower, upper = nodes.sums[node, 0], nodes.sums[node, 1], nodes.lower[node], nodes.upper[node]
    cells, tops = room.cells, (room.tops[0], room.tops[1])
    a = b = x = y = last_x = last_y = 0.0
    cut, fits, fitted = np.int64(0), False, False
    for bin in range(np.uint64(0), np.uint64(n_bins + 1)):
        ends = bin == n_bins
        if not ends and cells[bin, 0] + cells[bin, 1] <= 0:
            continue
        fits_now = False
        if not ends:
            a, b = a + cells[bin, 0], b + cells[bin, 1]
            fits_now = _fits(a, b, A, B, least, lower, upper, sign)
        if fits:
            tops = _decide(room, tops, last_x, last_y, fitted, x, y, cut, a, b, fits_now)
        last_x, last_y, fitted, x, y, fits, cut = x, y, fits, a, b, fits_now, np.int64(bin) + 1
    room.tops[0], room.tops[1] = tops


@inner
def _offer_rows(room, sample, nodes, node, least, sign, order):
    """The same between the values of a column without missing ones, whose rows are in their order."""
    A, B, lower, upper = nodes.sums[node, 0], nodes.sums[node, 1], nodes.lower[node], nodes.upper[node]
    start, stop, tops = _U(nodes.starts[node]), _U(nodes.stops[node]), (room.tops[0], room.tops[1])
    a = b = x = y = last_x = last_y = 0.0
    cut, fits, fitted = np.int64(0), False, False
    following = _U(order[start])
    for i in range(start, stop):
        entry = following
        amount = _amount(sample, entry & _UROW)
        if sample.labels[entry & _UROW]:
            b += amount
        else:
            a += amount
        if i + _U(1) < stop:
            following = _U(order[i + _U(1)])
            if following >> _USHIFT == entry >> _USHIFT:
                continue
        fits_now = _fits(a, b, A, B, least, lower, upper, sign)
        if fits:
            tops = _decide(room, tops, last_x, last_y, fitted, x, y, cut, a, b, fits_now)
        last_x, last_y, fitted, x, y, fits, cut = x, y, fits, a, b, fits_now, np.int64(i + _U(1) - start)
    if fits:
        tops = _decide(room, tops, last_x, last_y, fitted, x, y, cut, a, b, False)
    room.tops[0], room.tops[1] = tops


@inner
def _take_hulls(room, nodes, node, feature, any_missing, count):
    """Move the vertices to the cuts found; returns their number, or more than there is room for."""
    _offer(room, 0.0, 0.0, nodes, node, 0.0, 0, any_missing, -1)
    for which in range(4):
        ends = which % 2  # the other hull of the pair has the same two ends
        for i in range(ends, room.tops[which] - ends):
            if count < room.found.shape[0]:
                room.found[count, 0], room.found[count, 1] = node, feature
                room.found[count, 2], room.found[count, 3] = room.cuts[which, i], which // 2
                room.found_sums[count, 0] = room.points[which, 0, i]
                room.found_sums[count, 1] = room.points[which, 1, i]
            count += 1
        room.tops[which] = 0
    return count


@inner
def _take(room, sums, nodes, node, feature, cut, how, with_missing, least, count):
    """One cut of more than two classes."""
    left, total = 0.0, 0.0
    for k in range(sums.size):
        left += sums[k] + (room.left[2, k] if with_missing else 0.0)
        total += nodes.sums[node, k]
    right = total - left
    if left < least or right < least or left <= 0 or right <= 0:
        return count
    if count < room.found.shape[0]:
        room.found[count, 0], room.found[count, 1] = node, feature
        room.found[count, 2], room.found[count, 3] = cut, how
        for k in range(sums.size):
            room.found_sums[count, k] = sums[k] + (room.left[2, k] if with_missing else 0.0)
    return count + 1


@inner
def _block(room, nodes, node, feature, how, least, any_missing, before, cut, previous, pure, count):
    """The end of a block of equal values, of more than two classes: decides about the cut before it.

    `room.left[0]` are the sums up to its end, `room.left[1]` those before it; `previous` and `pure` are the
    only class of the block before and of this one, or −1.
    """
    if before > 0 and (previous != pure or pure < 0):
        count = _take(room, room.left[1], nodes, node, feature, before, how, False, least, count)
        if any_missing:
            count = _take(room, room.left[1], nodes, node, feature, before, 1, True, least, count)
    for k in range(nodes.sums.shape[1]):
        room.left[1, k] = room.left[0, k]
    return count


@small
def _amount(sample, row):
    """The weight of a row."""
    return 1.0 if sample.weights.size == 0 else sample.weights[row]


@small
def _empty(cells, last):
    for b in range(last + 1):
        for k in range(cells.shape[1]):
            cells[b, k] = 0.0


@inner
def count_bins(codes, sample, start, stop, cells, last):
    """Class sums of each bin."""
    _empty(cells, last)
    for i in range(start, stop):
        entry = _U(sample.rows[i])
        cells[_U(codes[entry & _UROW]), entry >> _USHIFT] += _amount(sample, entry & _UROW)


@inner
def count_two(codes, others, sample, start, stop, cells, other_cells, last, other_last):
    """The same of two columns, so that each row is looked up once."""
    _empty(cells, last)
    _empty(other_cells, other_last)
    for i in range(start, stop):
        entry = _U(sample.rows[i])
        row, label = entry & _UROW, entry >> _USHIFT
        amount = _amount(sample, row)
        cells[_U(codes[row]), label] += amount
        other_cells[_U(others[row]), label] += amount


@inner
def _clear(room):
    for k in range(room.left.shape[1]):
        room.left[0, k] = 0.0
        room.left[1, k] = 0.0
        room.left[2, k] = 0.0
    room.fits[0, 0] = room.fits[0, 1] = room.fits[1, 0] = room.fits[1, 1] = 0


@inner
def _occupied(room, size, k, by_share):
    """Occupied bins, as they come or in rising share of class k."""
    n = 0
    for b in range(size):
        total = 0.0
        for j in range(room.cells.shape[1]):
            total += room.cells[b, j]
        if total > 0:
            share = room.cells[b, k] / total
            at = n
            while by_share and at > 0 and room.shares[at - 1] > share:
                room.shares[at], room.bins[at] = room.shares[at - 1], room.bins[at - 1]
                at -= 1
            room.shares[at], room.bins[at] = share, b
            n += 1
    return n


@inner
def _worth(columns, sample, sums, feature, room):
    """What a set of categories gains of what it seems to gain, going by the χ² of their class sums."""
    total, classes, spread, held = 0.0, 0, 0.0, 0.0
    for k in range(sums.size):
        total += sums[k]
        classes += sums[k] > 0
    for b in range(columns.n_bins[feature] + 1):
        weight = 0.0
        for k in range(sums.size):
            weight += room.cells[b, k]
        if weight > 0:
            held += min(columns.levels[feature, b], weight * sample.unit)
            for k in range(sums.size):
                expected = weight * sums[k] / total
                if expected > 0:
                    spread += (room.cells[b, k] - expected) ** 2 / expected
    return whole_step(real_share(spread * sample.unit, (held - 2.0) * (classes - 1.0), sample.dispersion))


@inner
def _search_bins(columns, sample, nodes, node, feature, least, room, places, counted, count):
    """Cuts of a binned or categorical column, with their worth."""
    slot, n_bins, worth, first = nodes.slots[node], columns.n_bins[feature], 1.0, count
    if slot < 0:
        codes = columns.codes[columns.places[feature]]
        count_bins(codes, sample, nodes.starts[node], nodes.stops[node], room.cells, n_bins)
    else:
        for b in range(n_bins + 1):
            for k in range(room.cells.shape[1]):
                room.cells[b, k] = counted[slot, places[feature] + b, k]
    if columns.kinds[feature] == CATEGORICAL:
        worth = _worth(columns, sample, nodes.sums[node], feature, room)
    elif room.cells.shape[1] == 2 and room.cells[n_bins, 0] + room.cells[n_bins, 1] == 0:
        _clear(room)
        _offer_bins(room, nodes, node, least, columns.monotone[feature], n_bins)
        count = _take_hulls(room, nodes, node, feature, False, count)
        _price(room, first, count, 1.0)
        return count
    if worth > 0.0:
        count = _cuts_of_bins(columns, nodes, node, feature, least, room, count)
    _price(room, first, count, worth)
    return count


@inner
def _price(room, first, last, worth):
    """Write down what the cuts first … last−1 are worth."""
    for i in range(first, min(last, room.found_worth.size)):
        room.found_worth[i] = worth


@inner
def _cuts_of_bins(columns, nodes, node, feature, least, room, count):
    """Cuts of a binned or categorical column whose class sums are counted."""
    K, n_bins = room.cells.shape[1], columns.n_bins[feature]
    categorical = columns.kinds[feature] == CATEGORICAL
    # Missing is one more category; of other columns it may go either way.
    first = 1 if K == 2 or not categorical else 0
    for k in range(first, K if categorical else first + 1):
        _clear(room)
        n = _occupied(room, n_bins + 1 if categorical else n_bins, k, categorical)
        any_missing = False
        if not categorical:
            for j in range(K):
                room.left[2, j] = room.cells[n_bins, j]
                any_missing |= room.left[2, j] > 0
        how = k if categorical else 0
        previous, pure, before = -1, -1, 0
        for i in range(n):
            b = room.bins[i]
            previous, pure = pure, -1
            classes = 0
            for j in range(K):
                room.left[0, j] += room.cells[b, j]
                if room.cells[b, j] > 0:
                    classes += 1
                    pure = j
            pure = pure if classes == 1 else -1
            cut = i + 1 if categorical else b + 1
            if K == 2:
                a, c = room.left[0, 0], room.left[0, 1]
                _offer(room, a, c, nodes, node, least, columns.monotone[feature], any_missing, cut)
            else:
                count = _block(
                    room, nodes, node, feature, how, least, any_missing, before, cut, previous, pure, count
                )
            before = cut
        if K == 2:
            count = _take_hulls(room, nodes, node, feature, any_missing, count)
        elif any_missing and before > 0:
            count = _take(room, room.left[1], nodes, node, feature, before, 0, False, least, count)
    return count


@inner
def _search_sorted(columns, sample, nodes, node, feature, least, room, count):
    """Cuts of a column whose rows are in the order of its values; a cut is a number of rows."""
    K, start, stop, first = room.cells.shape[1], nodes.starts[node], nodes.stops[node], count
    order, unit = columns.order[columns.places[feature]], sample.weights.size == 0
    _clear(room)
    if K == 2 and stop > start and order[stop - 1] >> 32 != MISSING:
        _offer_rows(room, sample, nodes, node, least, columns.monotone[feature], order)
        count = _take_hulls(room, nodes, node, feature, False, count)
        _price(room, first, count, 1.0)
        return count
    while stop > start and order[stop - 1] >> 32 == MISSING:
        stop -= 1
        row = order[stop] & _ROW
        room.left[2, sample.labels[row]] += 1.0 if unit else sample.weights[row]
    any_missing = stop < nodes.stops[node]
    previous, pure, before, rank = -1, -2, 0, np.int64(-1)
    for i in range(start, stop + 1):
        following = order[i] >> 32 if i < stop else MISSING
        if following != rank and i > start:
            cut = i - start
            if K == 2:
                a, c = room.left[0, 0], room.left[0, 1]
                _offer(room, a, c, nodes, node, least, columns.monotone[feature], any_missing, cut)
            else:
                count = _block(
                    room, nodes, node, feature, 0, least, any_missing, before, cut, previous, pure, count
                )
            before, previous, pure = cut, pure, -2
        if i < stop:
            rank = following
            row = order[i] & _ROW
            label = np.int64(sample.labels[row])
            room.left[0, label] += 1.0 if unit else sample.weights[row]
            pure = label if pure == -2 or pure == label else -1  # noqa: PLR1714
    if K == 2:
        count = _take_hulls(room, nodes, node, feature, any_missing, count)
    elif any_missing and before > 0:
        count = _take(room, room.left[1], nodes, node, feature, before, 0, False, least, count)
    _price(room, first, count, 1.0)
    return count


@kernel
def search(columns, sample, nodes, first, last, least, room, places, counted):
    """Find the cuts of the features first … last−1 that can be best in each node.

    Nodes with a slot have their class sums in ``counted[slot]``, those of a feature from ``places[feature]``
    on. Returns the number of cuts; if it is larger than the room for them, some were not kept.
    """
    count = np.int64(0)
    for feature in range(first, last):
        for node in range(nodes.starts.size):
            if columns.kinds[feature] == SORTED:
                count = _search_sorted(columns, sample, nodes, node, feature, least, room, count)
            else:
                count = _search_bins(
                    columns, sample, nodes, node, feature, least, room, places, counted, count
                )
    return count


@kernel
def mark_order(order, start, stop, cut, missing_left, side):
    """Set the sides of a node's rows in the order of their values: the first `cut` of them go left.

    Returns the last row on the left, the first beyond it, −1 if there is none, and how many are missing.
    """
    n_missing = 0
    for i in range(start, stop):
        entry = order[i]
        missing = entry >> 32 == MISSING
        side[_U(entry) & _UROW] = missing_left if missing else np.uint8(i - start < cut)
        n_missing += missing
    beyond = order[start + cut] & _ROW if start + cut < stop else np.int64(-1)
    return order[start + cut - 1] & _ROW, beyond, n_missing


@kernel
def mark_bins(rows, start, stop, codes, cut, missing, missing_left, side, beside):
    """Set the sides of a node's rows by their bins: those below the cut go left, missing values either way.

    Lists the rows of the last bin on the left at the beginning of `beside`, and at its end, backwards, those
    of the first bin on the right that holds values. Returns the numbers of both, and of missing values.
    """
    above, n_low, n_high, n_missing = np.int64(missing), 0, 0, 0
    for i in range(start, stop):
        row = _U(rows[i]) & _UROW
        code = np.int64(codes[row])
        side[row] = missing_left if code == missing else np.uint8(code < cut)
        n_missing += code == missing
        above = min(above, code if code >= cut else above)
    for i in range(start, stop):
        row = _U(rows[i]) & _UROW
        code = np.int64(codes[row])
        if code == cut - 1:
            beside[n_low] = row
            n_low += 1
        if code == above and code != missing:
            n_high += 1
            beside[beside.size - n_high] = row
    return n_low, n_high, n_missing


@kernel
def count_cells(columns, sample, starts, stops, first, last, places, totals):
    """Class sums of the bins of the features first … last−1: in each node from ``places[feature]`` on."""
    for feature in range(first, last):
        codes, n_bins = columns.codes[columns.places[feature]], columns.n_bins[feature]
        for node in range(starts.size):
            cells = totals[node, places[feature] : places[feature] + n_bins + 1]
            count_bins(codes, sample, starts[node], stops[node], cells, n_bins)


@kernel
def partition(order, first, last, starts, stops, side, room, middles):
    """Move the rows with side 1 of each node before the others, keeping the order of each group.

    Where the others begin is written to `middles`.
    """
    for f in range(first, last):
        entries = order[f]
        for node in range(starts.size):
            left, right = _U(starts[node]), _U(0)
            for i in range(_U(starts[node]), _U(stops[node])):
                entry = entries[i]
                goes = _U(side[_U(entry) & _UROW] != 0)
                entries[left] = entry
                room[right] = entry
                left += goes
                right += _U(1) - goes
            for i in range(right):
                entries[left + i] = room[i]
            middles[node] = left
