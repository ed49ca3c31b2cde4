"""The best split of a node, by gradient and curvature.

What a split is worth is asked of :mod:`~propriety.trees.split_score`. Of what a set of categories seems to
gain, only the part that :mod:`~propriety.trees.categories` takes for real is counted.
"""

from __future__ import annotations

import numpy as np

from propriety.trees.binned import BINS, CELLS, CURVATURES, WEIGHTS
from propriety.trees.categories import real_share
from propriety.trees.gradient_histogram import LOW, apart, count_feature, count_together
from propriety.trees.gradient_layout import GROUP
from propriety.trees.intrinsics import bits_of, occupied, trailing_zeros
from propriety.trees.jit import inner
from propriety.trees.random import scramble
from propriety.trees.split_score import floor_of, leaf_value, penalty_of, score_cut, score_within

#: A histogram that was made without weights holds none that mean anything, so nothing is asked of them.
_ANY_WEIGHT = -(2**62)
#: The rows of ``scratch.sums``, and the forms that sums come in: gradient, curvature and rows together,
#: gradient and curvature together, or each by itself.
_GRADIENT, _CURVATURE, _WEIGHT, _TOGETHER = range(4)
_COUNTED, _PACKED, _WIDE = range(3)
_I, _U = np.int64, np.uint64


@inner
def _accumulate(cells, order, size, node, scratch):
    """Sums of the first 1, 2, … bins in order; returns their form. Packed sums stay so."""
    g, h, w, sums = _I(0), _I(0), _I(0), scratch.sums
    at = _TOGETHER if node.packed else _GRADIENT
    for i in range(_U(size)):
        g += cells[order[i]]
        w += cells[order[i] + _U(WEIGHTS)]
        sums[at, i], sums[_WEIGHT, i] = g, w
    if node.packed:
        return _I(_PACKED)
    for i in range(_U(size)):
        h += cells[order[i] + _U(CURVATURES)]
        sums[_CURVATURE, i] = h
    return _I(_WIDE)


@inner
def _accumulate_all(cells, size, start, node, scratch):
    """The same of the bins 0, 1, … after the bin ``start`` (−1: none), without looking their order up.

    A cut after an empty bin is the one before it once more, and of equal cuts the first is taken.
    """
    g, h, w, sums = _I(0), _I(0), _I(0), scratch.sums
    if start >= 0:
        g, h, w = cells[start], cells[start + CURVATURES], cells[start + WEIGHTS]
    at = _TOGETHER if node.packed else _GRADIENT
    for i in range(_U(size)):
        g += cells[i]
        sums[at, i] = g
    if node.has_weights:
        for i in range(_U(size)):
            w += cells[i + _U(WEIGHTS)]
            sums[_WEIGHT, i] = w
    if node.packed:
        return _I(_PACKED)
    for i in range(_U(size)):
        h += cells[i + _U(CURVATURES)]
        sums[_CURVATURE, i] = h
    return _I(_WIDE)


@inner
def _sums_at(sums, i, form):
    """Gradient, curvature and weight left of a cut."""
    if form == _COUNTED:
        return apart(sums[_TOGETHER, i])
    if form == _PACKED:
        return sums[_TOGETHER, i] >> 32, sums[_TOGETHER, i] & LOW, sums[_WEIGHT, i]
    return sums[_GRADIENT, i], sums[_CURVATURE, i], sums[_WEIGHT, i]


@inner
def _range_of_cuts(sums, size, form, node, params):
    """The first cut that leaves enough on both sides, and the one after the last.

    Sums rise from cut to cut, so all cuts between them do, and are scored without a test.
    """
    first, last, least, unit = _U(0), _U(size), params.min_curvature, params.curvature_unit
    few = params.min_weight if node.has_weights else _I(_ANY_WEIGHT)
    while first < last:
        _, h, w = _sums_at(sums, first, form)
        if h > 0 and h * unit >= least and w >= few:
            break
        first += _U(1)
    while first < last:
        _, h, w = _sums_at(sums, last - _U(1), form)
        if h < node.curvature and (node.curvature - h) * unit >= least and node.weight - w >= few:
            break
        last -= _U(1)
    return first, last


@inner
def _score_cuts(scratch, first, last, form, node, params):
    """Score some cuts; returns the bits of the largest score, none of which is NaN, −1 if there is none.

    Bits of numbers that are not negative are in the order of the numbers. A loop for each form, so that all
    are compiled to vector instructions.
    """
    # Everything in locals: a field of the node might alias the scores, as far as the compiler knows.
    sums, scores, penalty, top = scratch.sums, scratch.scores, penalty_of(params), _I(-1)
    G, H = float(node.gradient), float(node.curvature)
    gu, hu = params.gradient_unit, params.curvature_unit
    # Sums that share a number have less than 32 bits each, which vector instructions turn into real numbers,
    # unlike 64; so all differences of real numbers are exact as well.
    if form == _COUNTED:
        for i in range(first, last):
            cell = sums[_TOGETHER, i]
            g, h = np.int32(cell >> 36), np.int32((cell >> 9) & 0x7FFFFFF)
            scores[i] = score_cut(float(g), float(h), G, H, gu, hu, penalty)
            top = max(top, bits_of(scores[i]))
    elif form == _PACKED:
        for i in range(first, last):
            cell = sums[_TOGETHER, i]
            g, h = np.int32(cell >> 32), np.int32(cell & LOW)
            scores[i] = score_cut(float(g), float(h), G, H, gu, hu, penalty)
            top = max(top, bits_of(scores[i]))
    else:
        for i in range(first, last):
            g, h = float(sums[_GRADIENT, i]), float(sums[_CURVATURE, i])
            scores[i] = score_cut(g, h, G, H, gu, hu, penalty)
            top = max(top, bits_of(scores[i]))
    return top


@inner
def _first_cut(sums, size, form, curvature):
    """The first cut that has at least so much curvature on its left, ``size`` if there is none."""
    low, high = _U(0), _U(size)
    while low < high:
        middle = (low + high) >> _U(1)
        _, h, _ = _sums_at(sums, middle, form)
        if h < curvature:
            low = middle + _U(1)
        else:
            high = middle
    return low


@inner
def _drawn_cut(sums, size, form, node, params, f):
    """One of the cuts that leave any curvature on both sides; −1 if there is none.

    Cuts of equal curvature are one: a bin without rows of the node makes none of its own, in any form of the
    sums. Whether too few rows would be on a side is asked afterwards, so that the draw is the same where it
    is not yet known.
    """
    first, end = _first_cut(sums, size, form, _I(1)), _first_cut(sums, size, form, node.curvature)
    if first >= end:
        return _I(-1)
    count = _I(1)
    for i in range(first + _U(1), end):
        count += _I(_sums_at(sums, i, form)[1] != _sums_at(sums, i - _U(1), form)[1])
    drawn = _I(scramble(~scramble(params.seed + node.key) + _U(f)) % _U(count))
    if count == _I(end - first):
        return _I(first) + drawn
    for i in range(first + _U(1), end):
        if drawn == 0:
            break
        if _sums_at(sums, i, form)[1] != _sums_at(sums, i - _U(1), form)[1]:
            drawn -= 1
            first = i
    return _I(first)


@inner
def _is_allowed(sums, i, form, node, params):
    """Whether a cut leaves enough on both sides."""
    _, h, w = _sums_at(sums, i, form)
    few = params.min_weight if node.has_weights else _I(_ANY_WEIGHT)
    enough = min(h, node.curvature - h) * params.curvature_unit >= params.min_curvature
    return enough and min(w, node.weight - w) >= few


@inner
def _best_cut(scratch, size, form, node, params, f, sign):
    """The position of the best cut if it beats ``scratch.best``, else −1; its sums go to ``scratch.left``.

    The best of all that leave enough on both sides or, if cuts are drawn, the drawn one if it does.
    """
    left, scores, sums = scratch.left, scratch.scores, scratch.sums
    if params.random_cuts != 0:
        cut = _drawn_cut(sums, size, form, node, params, f)
        if cut < 0 or not _is_allowed(sums, _U(cut), form, node, params):
            return _I(-1)
        first, last = _U(cut), _U(cut + 1)
    else:
        first, last = _range_of_cuts(sums, size, form, node, params)
    top = _score_cuts(scratch, first, last, form, node, params)
    if top <= bits_of(scratch.best):  # which is not negative
        return _I(-1)
    if params.any_monotone != 0:
        cut = _best_monotone(scratch, first, last, form, node, params, sign)
        if cut < 0:
            return cut
    else:
        cut = _I(first)
        while bits_of(scores[_U(cut)]) != top:
            cut += 1
        scratch.best = scores[cut]
    left[0], left[1], left[2] = _sums_at(sums, _U(cut), form)
    return cut


@inner
def _best_monotone(scratch, first, last, form, node, params, sign):
    """The same among cuts whose values are within bounds, in the order that the feature's sign asks for."""
    scores, best, cut = scratch.scores, scratch.best, _I(-1)
    for i in range(first, last):
        if scores[i] > best:
            g, h, _ = _sums_at(scratch.sums, i, form)
            gl, hl = g * params.gradient_unit, h * params.curvature_unit
            gr = (node.gradient - g) * params.gradient_unit
            hr = (node.curvature - h) * params.curvature_unit
            score = score_within(gl, hl, gr, hr, params, sign, node)
            if score > best:
                best, cut = score, _I(i)
    scratch.best = best
    return cut


@inner
def _sums_of_bin(cells, b, node):
    """Gradient and curvature of a bin."""
    if node.packed:
        return cells[b] >> 32, cells[b] & LOW
    return cells[b], cells[b + CURVATURES]


@inner
def _order_of_categories(cells, n_bins, node, params, scratch):
    """Non-empty bins by their mean gradient: the best set of them is a prefix of this order."""
    size, order, keys = _I(0), scratch.order, scratch.scores
    for b in range(n_bins + 1):
        g, h = _sums_of_bin(cells, b, node)
        if g == 0 and h == 0:
            continue
        key = g * params.gradient_unit / (h * params.curvature_unit + params.set_smoothing)
        at = size
        while at > 0 and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, _U(b)
        size += 1
    return size


@inner
def _take(node, f, bin_, left):
    node.feature, node.bin = f, bin_
    node.left_gradient, node.left_curvature = left[0], left[1]
    node.left_weight = left[2] if node.has_weights else 0


@inner
def _split_numeric(cells, feature, f, node, params, scratch):
    g, h = _sums_of_bin(cells, feature.n_bins, node)
    missing_seen = g != 0 or h != 0
    # With missing values on the right, a cut after the last bin separates them from all others.
    for missing_left in range(2 if missing_seen else 1):
        start = feature.n_bins if missing_left else _I(-1)
        form = _accumulate_all(cells, feature.n_bins, start, node, scratch)
        cut = _best_cut(scratch, feature.n_bins, form, node, params, f, feature.monotone)
        if cut >= 0:
            _take(node, f, cut, scratch.left)
            node.missing_left, node.by_set, node.missing_seen = missing_left, 0, missing_seen


@inner
def _real_share(cells, size, held, noise, node, params, scratch):
    """The share of the node's spread over the categories of a feature that is real.

    ``held`` has the number of categories in each bin. A bin of a node of few rows holds at most as many
    categories as rows. At the root noise is counted as it will be when the effects of the categories are
    learned; further down they have more to tell than that, which is not known.
    """
    spread, levels, order = 0.0, 0.0, scratch.order
    for i in range(_U(size)):
        b = _I(order[i])
        g, h = _sums_of_bin(cells, b, node)
        if h > 0:
            gradient = g * params.gradient_unit
            spread += gradient * gradient / (h * params.curvature_unit)
        count = held[b]
        if node.few:
            count = min(count, cells[b + WEIGHTS] * params.weight_unit)
        levels += count
    gradient, curvature = node.gradient * params.gradient_unit, node.curvature * params.curvature_unit
    spread -= gradient * gradient / curvature
    return real_share(spread, levels - 2.0, (noise if node.depth == 0 else 1.0) * params.dispersion)


@inner
def _unseen_left(left, drift, node, params):
    """Whether categories without rows in the node go left: where they stay nearest to an average row.

    That is the side that brings the sum of what they got so far, over all splits of the feature, near 0.
    """
    penalty, lower, upper = penalty_of(params), node.lower, node.upper
    g, h = node.gradient * params.gradient_unit, node.curvature * params.curvature_unit
    gl, hl = left[0] * params.gradient_unit, left[1] * params.curvature_unit
    own = leaf_value(g, h, penalty, lower, upper)
    below = leaf_value(gl, hl, penalty, lower, upper) - own
    above = leaf_value(g - gl, h - hl, penalty, lower, upper) - own
    return abs(drift + node.weight * below) <= abs(drift + node.weight * above)


@inner
def _split_categorical(cells, feature, held, f, own, node, params, scratch, bins_left):
    order, to_beat = scratch.order, scratch.best
    size = _order_of_categories(cells, feature.n_bins, node, params, scratch)
    share = _real_share(cells, size, held, feature.noise, node, params, scratch)
    if share <= 0.0:
        return
    scratch.best = own + (to_beat - own) / share
    form = _accumulate(cells, order, size, node, scratch)
    cut = _best_cut(scratch, size, form, node, params, f, _I(0))
    if cut < 0:
        scratch.best = to_beat
        return
    scratch.best = own + share * (scratch.best - own)
    _take(node, f, _I(0), scratch.left)
    unseen = np.uint32(0)
    if _unseen_left(scratch.left, feature.drift, node, params):
        unseen = np.uint32(0xFFFFFFFF)
    for word in range(bins_left.size):
        bins_left[word] = unseen
    for i in range(size):
        b = _I(order[i])
        bit = np.uint32(1) << np.uint32(b & 31)
        if i <= cut:
            bins_left[b >> 5] |= bit
        else:
            bins_left[b >> 5] &= ~bit
    missing = feature.n_bins
    node.missing_left = (bins_left[missing >> 5] >> np.uint32(missing & 31)) & np.uint32(1)
    node.by_set = 1
    g, h = _sums_of_bin(cells, missing, node)
    node.missing_seen = g != 0 or h != 0


@inner
def _split_feature(cells, feature, levels, f, own, node, params, scratch, bins_left):
    if feature.categorical != 0:
        _split_categorical(cells, feature, levels[f], f, own, node, params, scratch, bins_left)
    else:
        _split_numeric(cells, feature, f, node, params, scratch)


@inner
def best_split(histogram, table, allowed, params, scratch, node, bins_left, first, last):
    """Write the best split over the features first … last−1 into ``node`` and ``bins_left``.

    ``node.gain`` is half the scores' difference, or −1 when no split is worth making.
    """
    own, scratch.best = floor_of(node, params)
    node.gain, node.feature = -1.0, -1
    features, levels = table.features, table.levels
    for f in range(first, last):
        if allowed[f]:
            cells = histogram[f * CELLS : (f + 1) * CELLS]
            _split_feature(cells, features[f], levels, f, own, node, params, scratch, bins_left)
    if node.feature >= 0:
        node.gain = 0.5 * (scratch.best - own)


@inner
def _accumulate_occupied(cells, n_bins, scratch):
    """Sums of the bins up to a cut, of cells that :func:`count_together` has made; returns their number.

    Only where a bin holds rows: a cut after an empty one is the one before it once more. The first bin is
    always there: nothing but missing values may be on the left of its cut.
    """
    sums, order, total, size = scratch.sums, scratch.order, _I(0), _U(0)
    for first in range(_U(0), _U(n_bins), _U(64)):
        waiting = occupied(cells, first) | _U(first == 0)
        while waiting != 0:
            b = first + trailing_zeros(waiting)
            total += cells[b]
            sums[_TOGETHER, size], order[size] = total, b
            size += _U(1)
            waiting &= waiting - _U(1)
    return _I(size)


@inner
def _split_together(cells, feature, f, node, params, scratch):
    """As :func:`_split_numeric`, of cells that :func:`count_together` has made."""
    missing, sums = cells[feature.n_bins], scratch.sums
    missing_seen = missing >> 9 != 0  # as a histogram sees them: by gradient and curvature
    cells[feature.n_bins] = 0
    size = _accumulate_occupied(cells, feature.n_bins, scratch)
    for missing_left in range(2 if missing_seen else 1):
        if missing_left:
            for i in range(_U(size)):
                sums[_TOGETHER, i] += missing
        cut = _best_cut(scratch, size, _I(_COUNTED), node, params, f, feature.monotone)
        if cut >= 0:
            _take(node, f, _I(scratch.order[cut]), scratch.left)
            node.missing_left, node.by_set, node.missing_seen = missing_left, 0, missing_seen


@inner
def _next_group(features, allowed, f, last, group):
    """Gather allowed features of numbers from ``f`` on, as many as are counted at once.

    Returns where to go on, and how many.
    """
    width = _I(0)
    while f < last and width < GROUP and features[f].categorical == 0:
        group[width] = f
        width += _I(allowed[f] != 0)
        f += 1
    return f, width


@inner
def _spread(cells, size):
    """Cells of rows that were counted together in the form that a histogram has.

    They lie at the beginning of so many that the other numbers of a bin have room behind them.
    """
    for b in range(_U(size)):
        g, h, w = apart(cells[b])
        cells[b], cells[b + _U(WEIGHTS)] = (g << 32) + h, w


@inner
def _split_group(features, width, node, params, scratch):
    """Look for a split among the features that were counted together; clear their cells."""
    for k in range(width):
        f = _I(scratch.features[k])
        cells = scratch.together[k * BINS : (k + 1) * BINS]
        _split_together(cells, features[f], f, node, params, scratch)
        for b in range(_U(features[f].n_bins + 1)):
            cells[b] = 0


@inner
def best_split_of_rows(table, gradients, index, allowed, params, scratch, node, bins_left, first, last):
    """The same for a node of few rows, without a histogram: only the bins that occur are looked at."""
    together, group, features, levels = scratch.together, scratch.features, table.features, table.levels
    rows, packed, parts = table.rows, gradients.packed, gradients.parts
    own, scratch.best = floor_of(node, params)
    node.gain, node.feature, node.has_weights = -1.0, -1, 1
    while first < last:
        # Categories, and weighted rows, need room for three numbers a bin, so they are counted one by one.
        f, width = first, _I(1)
        at_once = params.weighted == 0 and features[f].categorical == 0
        if at_once:
            first, width = _next_group(features, allowed, f, last, group)
        else:
            first += 1
            group[0] = f
            if not allowed[f]:
                continue
        if params.weighted != 0:
            count_feature(rows, parts, index, node.start, node.stop, f, together)
        else:
            count_together(rows, packed, index, node.start, node.stop, group, width, together)
        if at_once:
            _split_group(features, width, node, params, scratch)
        else:
            if params.weighted == 0:
                _spread(together, features[f].n_bins + 1)
            _split_feature(together, features[f], levels, f, own, node, params, scratch, bins_left)
            for b in range(_U(CELLS)):
                together[b] = 0
    if node.feature >= 0:
        node.gain = 0.5 * (scratch.best - own)
