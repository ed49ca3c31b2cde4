"""The best split of a node, read off its histogram.

With gradient sum G and curvature sum H, a leaf of value v changes the loss by G v + ½ (H + l2) v² to
second order; its best value is v = −G / (H + l2), and the gain of a split is what two such leaves save
beyond one. Of what a set of categories seems to gain, only the part that :mod:`~propriety.engine.categories`
takes for real is counted.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.categories import real_share
from propriety.engine.compiling import inner, small
from propriety.engine.drawing import draw_below
from propriety.engine.histogram import LOW, apart, count_feature, count_together, subtract
from propriety.engine.intrinsics import bits_of, occupied, trailing_zeros
from propriety.engine.layout import BINS, CELLS, CURVATURES, GROUP, WEIGHTS

#: A histogram that was not counted holds no meaningful weights, so nothing is asked of them.
_ANY_WEIGHT = -(2**62)
#: Nodes up to this many rows may count them per bin; above, a split is checked when it is made.
COUNTED_ROWS = 2048
#: The rows of ``room.sums``, and the forms that sums come in: gradient, curvature and rows together, gradient
#: and curvature together, or each by itself.
_GRADIENT, _CURVATURE, _WEIGHT, _TOGETHER = range(4)
_COUNTED, _PACKED, _WIDE = range(3)
_I, _U = np.int64, np.uint64
_TINY_GAIN = 1e-12  # of the children's scores: what rounding alone may show as a gain


@inner
def leaf_value(gradient, curvature, l2, lower, upper):
    """−G / (H + l2), within the bounds."""
    value = -gradient / (curvature + l2) if curvature + l2 > 0 else 0.0
    return min(max(value, lower), upper)


@inner
def bound_children(signal, rules, node, a, b):
    """Hand the bounds down; across a monotone split, the middle of the two values parts the children."""
    a.lower, a.upper, b.lower, b.upper = node.lower, node.upper, node.lower, node.upper
    sign = rules.monotone[node.feature]
    if sign == 0:
        return
    g, h = signal.gradient_unit, signal.curvature_unit
    left = leaf_value(a.gradient * g, a.curvature * h, rules.l2, node.lower, node.upper)
    right = leaf_value(b.gradient * g, b.curvature * h, rules.l2, node.lower, node.upper)
    middle = 0.5 * (left + right)
    if sign > 0:
        a.upper, b.lower = middle, middle
    else:
        a.lower, b.upper = middle, middle


@inner
def _saving(gradient, curvature, l2, lower, upper):
    """−2 (G v + ½ (H + l2) v²) at the leaf's value v."""
    v = leaf_value(gradient, curvature, l2, lower, upper)
    return -v * (2.0 * gradient + (curvature + l2) * v)


@inner
def _score(gl, hl, gr, hr, rules, sign, lower, upper):
    """What two leaves save, doubled, within bounds; −1 where a monotone constraint forbids them."""
    left = leaf_value(gl, hl, rules.l2, lower, upper)
    right = leaf_value(gr, hr, rules.l2, lower, upper)
    if sign * (right - left) < 0:
        return -1.0
    return _saving(gl, hl, rules.l2, lower, upper) + _saving(gr, hr, rules.l2, lower, upper)


@inner
def _accumulate(cells, order, size, node, room):
    """Sums of the first 1, 2, … bins in order; returns their form. Packed sums stay so."""
    g, h, w, sums = 0, 0, 0, room.sums
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
def _accumulate_all(cells, size, start, node, room):
    """The same of the bins 0, 1, … after the bin ``start`` (−1: none), without looking their order up.

    A cut after an empty bin is the one before it once more, and of equal cuts the first is taken.
    """
    g, h, w, sums = 0, 0, 0, room.sums
    if start >= 0:
        g, h, w = cells[start], cells[start + CURVATURES], cells[start + WEIGHTS]
    at = _TOGETHER if node.packed else _GRADIENT
    for i in range(_U(size)):
        g += cells[i]
        sums[at, i] = g
    if node.counted:
        for i in range(_U(size)):
            w += cells[i + _U(WEIGHTS)]
            sums[_WEIGHT, i] = w
    if node.packed:
        return _I(_PACKED)
    for i in range(_U(size)):
        h += cells[i + _U(CURVATURES)]
        sums[_CURVATURE, i] = h
    return _I(_WIDE)


@small
def _sums_at(sums, i, form):
    """Gradient, curvature and weight left of a cut."""
    if form == _COUNTED:
        return apart(sums[_TOGETHER, i])
    if form == _PACKED:
        return sums[_TOGETHER, i] >> 32, sums[_TOGETHER, i] & LOW, sums[_WEIGHT, i]
    return sums[_GRADIENT, i], sums[_CURVATURE, i], sums[_WEIGHT, i]


@inner
def _range_of_cuts(sums, size, form, node, signal, rules):
    """The first cut that leaves enough on both sides, and the one after the last.

    Sums rise from cut to cut, so all cuts between them do, and are scored without a test.
    """
    first, last, least, unit = _U(0), _U(size), rules.min_curvature, signal.curvature_unit
    few = rules.min_weight if node.counted else _ANY_WEIGHT
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


@small
def _score_cut(g, h, gradient, curvature, g_unit, h_unit, l2):
    """G_l² / (H_l + l2) + G_r² / (H_r + l2).

    Without a branch, and with a single division, so that it is compiled to vector instructions.
    """
    a, b = h * h_unit + l2, (curvature - h) * h_unit + l2
    gl, gr = g * g_unit, (gradient - g) * g_unit
    return (gl * gl * b + gr * gr * a) / (a * b)


@inner
def _score_cuts(room, first, last, form, node, signal, rules):
    """Score some cuts; returns the bits of the largest score, none of which is NaN, −1 if there is none.

    Bits of numbers that are not negative are in the order of the numbers. A loop for each form, so that all
    are compiled to vector instructions.
    """
    # Everything in locals: a field of the node might alias the scores, as far as the compiler knows.
    sums, scores, l2, top = room.sums, room.scores, rules.l2, _I(-1)
    G, H, gu, hu = node.gradient, node.curvature, signal.gradient_unit, signal.curvature_unit
    # Sums that share a number have less than 32 bits each, which vector instructions turn into real numbers,
    # unlike 64; so all differences of real numbers are exact as well.
    if form == _COUNTED:
        for i in range(first, last):
            g, h, _ = _sums_at(sums, i, _COUNTED)
            scores[i] = _score_cut(np.int32(g), np.int32(h), float(G), float(H), gu, hu, l2)
            top = max(top, bits_of(scores[i]))
    elif form == _PACKED:
        for i in range(first, last):
            g, h, _ = _sums_at(sums, i, _PACKED)
            scores[i] = _score_cut(np.int32(g), np.int32(h), float(G), float(H), gu, hu, l2)
            top = max(top, bits_of(scores[i]))
    else:
        for i in range(first, last):
            g, h, _ = _sums_at(sums, i, _WIDE)
            scores[i] = _score_cut(g, h, G, H, gu, hu, l2)
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
def _drawn_cut(sums, size, form, node, rules, f):
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
        count += _sums_at(sums, i, form)[1] != _sums_at(sums, i - _U(1), form)[1]
    drawn = draw_below(rules, node.key, f, count)
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
def _is_allowed(sums, i, form, node, signal, rules):
    """Whether a cut leaves enough on both sides."""
    _, h, w = _sums_at(sums, i, form)
    few, unit = rules.min_weight if node.counted else _ANY_WEIGHT, signal.curvature_unit
    enough = min(h, node.curvature - h) * unit >= rules.min_curvature
    return enough and min(w, node.weight - w) >= few


@inner
def _best_cut(room, size, form, node, signal, rules, f, sign):
    """The position of the best cut if it beats ``room.best``, else −1; its sums go to ``room.left``.

    The best of all that leave enough on both sides or, if cuts are drawn, the drawn one if it does.
    """
    left, scores = room.left, room.scores
    if rules.random_cuts:
        cut = _drawn_cut(room.sums, size, form, node, rules, f)
        if cut < 0 or not _is_allowed(room.sums, _U(cut), form, node, signal, rules):
            return _I(-1)
        first, last = _U(cut), _U(cut + 1)
    else:
        first, last = _range_of_cuts(room.sums, size, form, node, signal, rules)
    top = _score_cuts(room, first, last, form, node, signal, rules)
    if top <= bits_of(room.best):  # which is not negative
        return _I(-1)
    if rules.any_monotone:
        cut = _best_monotone(room, first, last, form, node, signal, rules, sign)
        if cut < 0:
            return cut
    else:
        cut = _I(first)
        while bits_of(scores[_U(cut)]) != top:
            cut += 1
        room.best = scores[cut]
    left[0], left[1], left[2] = _sums_at(room.sums, _U(cut), form)
    return cut


@inner
def _best_monotone(room, first, last, form, node, signal, rules, sign):
    """The same among cuts whose values are within bounds, in the order that the feature's sign asks for."""
    scores, best, cut = room.scores, room.best, _I(-1)
    for i in range(first, last):
        if scores[i] > best:
            g, h, _ = _sums_at(room.sums, i, form)
            gl, hl = g * signal.gradient_unit, h * signal.curvature_unit
            gr = (node.gradient - g) * signal.gradient_unit
            hr = (node.curvature - h) * signal.curvature_unit
            score = _score(gl, hl, gr, hr, rules, sign, node.lower, node.upper)
            if score > best:
                best, cut = score, _I(i)
    room.best = best
    return cut


@inner
def _order_of_categories(cells, n_bins, node, smoothing, signal, room):
    """Non-empty bins by their mean gradient: the best set of them is a prefix of this order."""
    size, order, keys = 0, room.order, room.scores
    for b in range(n_bins + 1):
        g, h = cells[b], cells[b + CURVATURES]
        if node.packed:
            g, h = g >> 32, g & LOW
        if g == 0 and h == 0:
            continue
        key = g * signal.gradient_unit / (h * signal.curvature_unit + smoothing)
        at = size
        while at > 0 and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, np.uint64(b)
        size += 1
    return size


@inner
def _holds_any(cells, b, node):
    return cells[b] != 0 or (not node.packed and cells[b + CURVATURES] != 0)


@inner
def _take(node, f, bin_, left):
    node.feature, node.bin = f, bin_
    node.left_gradient, node.left_curvature = left[0], left[1]
    node.left_weight = left[2] if node.counted else 0


@inner
def _split_numeric(cells, n_bins, f, node, signal, rules, room):
    missing_seen = _holds_any(cells, n_bins, node)
    # With missing values on the right, a cut after the last bin separates them from all others.
    for missing_left in range(2 if missing_seen else 1):
        start = n_bins if missing_left else _I(-1)
        form = _accumulate_all(cells, n_bins, start, node, room)
        cut = _best_cut(room, n_bins, form, node, signal, rules, f, rules.monotone[f])
        if cut >= 0:
            _take(node, f, cut, room.left)
            node.missing_left, node.by_set, node.missing_seen = missing_left, 0, missing_seen


@inner
def _real_share(cells, size, held, noise, node, signal, room):
    """The share of the node's spread over the categories of a feature that is real.

    ``held`` has the number of categories in each bin. A bin of a node of few rows holds at most as many
    categories as rows. At the root noise is counted as it will be when the effects of the categories are
    learned; further down they have more to tell than that, which is not known.
    """
    spread, levels, order = 0.0, 0.0, room.order
    bounded = signal.packed.size == 0 or node.weight <= COUNTED_ROWS
    for i in range(_U(size)):
        b = order[i]
        g, h = cells[b], cells[b + _U(CURVATURES)]
        if node.packed:
            g, h = g >> 32, g & LOW
        if h > 0:
            gradient = g * signal.gradient_unit
            spread += gradient * gradient / (h * signal.curvature_unit)
        count = held[b]
        if bounded:
            count = min(count, cells[b + _U(WEIGHTS)] * signal.weight_unit)
        levels += count
    gradient, curvature = node.gradient * signal.gradient_unit, node.curvature * signal.curvature_unit
    spread -= gradient * gradient / curvature
    return real_share(spread, levels - 2.0, (noise if node.depth == 0 else 1.0) * signal.dispersion)


@inner
def _unseen_left(room, f, node, signal, rules):
    """Whether categories without rows in the node go left: where they stay nearest to an average row.

    That is the side that brings the sum of what they got so far, over all splits of the feature, near 0.
    """
    g, h = node.gradient * signal.gradient_unit, node.curvature * signal.curvature_unit
    gl, hl = room.left[0] * signal.gradient_unit, room.left[1] * signal.curvature_unit
    own = leaf_value(g, h, rules.l2, node.lower, node.upper)
    left = leaf_value(gl, hl, rules.l2, node.lower, node.upper) - own
    right = leaf_value(g - gl, h - hl, rules.l2, node.lower, node.upper) - own
    return abs(rules.drift[f] + node.weight * left) <= abs(rules.drift[f] + node.weight * right)


@inner
def _split_categorical(cells, n_bins, levels, noise, f, own, node, signal, rules, room, bins_left):
    if levels is None:  # A table without categories: the rest is not compiled.
        return
    order, to_beat = room.order, room.best
    size = _order_of_categories(cells, n_bins, node, rules.set_smoothing, signal, room)
    share = _real_share(cells, size, levels[f], noise[f], node, signal, room)
    if share <= 0.0:
        return
    room.best = own + (to_beat - own) / share
    form = _accumulate(cells, order, size, node, room)
    cut = _best_cut(room, size, form, node, signal, rules, f, np.int8(0))
    if cut < 0:
        room.best = to_beat
        return
    room.best = own + share * (room.best - own)
    _take(node, f, _I(0), room.left)
    bins_left[:] = np.uint32(0xFFFFFFFF) if _unseen_left(room, f, node, signal, rules) else np.uint32(0)
    for i in range(size):
        b = np.int64(order[i])
        bit = np.uint32(1) << np.uint32(b & 31)
        if i <= cut:
            bins_left[b >> 5] |= bit
        else:
            bins_left[b >> 5] &= ~bit
    node.missing_left = (bins_left[n_bins >> 5] >> np.uint32(n_bins & 31)) & np.uint32(1)
    node.by_set = 1
    node.missing_seen = _holds_any(cells, n_bins, node)


@inner
def _floor(node, signal, rules):
    """The score that the node has by itself, and the score that a split must beat."""
    gradient = node.gradient * signal.gradient_unit
    curvature = node.curvature * signal.curvature_unit
    own = _saving(gradient, curvature, rules.l2, node.lower, node.upper)
    return own, (max(own, 0.0) + 2.0 * rules.min_gain) * (1.0 + _TINY_GAIN)


@inner
def _split_feature(cells, binned, f, own, node, signal, rules, room, bins_left):
    n_bins = binned.n_bins[f]
    if binned.categorical[f]:
        levels, noise = binned.levels, binned.noise
        _split_categorical(cells, n_bins, levels, noise, f, own, node, signal, rules, room, bins_left)
    else:
        _split_numeric(cells, n_bins, f, node, signal, rules, room)


@inner
def best_split(histogram, allowed, binned, signal, rules, room, node, bins_left, first, last):
    """Write the best split over the features first … last−1 into ``node`` and ``bins_left``.

    ``node.gain`` is half the scores' difference, or −1 when no split is worth making.
    """
    own, room.best = _floor(node, signal, rules)
    node.gain, node.feature = -1.0, -1
    for f in range(first, last):
        if allowed[f]:
            cells = histogram[f * CELLS : (f + 1) * CELLS]
            _split_feature(cells, binned, f, own, node, signal, rules, room, bins_left)
    if node.feature >= 0:
        node.gain = 0.5 * (room.best - own)


@inner
def _accumulate_occupied(cells, n_bins, room):
    """Sums of the bins up to a cut, of cells that :func:`count_together` has made; returns their number.

    Only where a bin holds rows: a cut after an empty one is the one before it once more. The first bin is
    always there: nothing but missing values may be on the left of its cut.
    """
    sums, order, total, size = room.sums[_TOGETHER], room.order, _I(0), _U(0)
    for first in range(_U(0), _U(n_bins), _U(64)):
        waiting = occupied(cells, first) | _U(first == 0)
        while waiting != 0:
            b = first + trailing_zeros(waiting)
            total += cells[b]
            sums[size], order[size] = total, b
            size += _U(1)
            waiting &= waiting - _U(1)
    return _I(size)


@inner
def _split_together(cells, n_bins, f, node, signal, rules, room):
    """As :func:`_split_numeric`, of cells that :func:`count_together` has made."""
    missing, sums = cells[n_bins], room.sums[_TOGETHER]
    missing_seen = missing >> 9 != 0  # as a histogram sees them: by gradient and curvature
    cells[n_bins] = 0
    size = _accumulate_occupied(cells, n_bins, room)
    for missing_left in range(2 if missing_seen else 1):
        if missing_left:
            for i in range(_U(size)):
                sums[i] += missing
        cut = _best_cut(room, size, _I(_COUNTED), node, signal, rules, f, rules.monotone[f])
        if cut >= 0:
            _take(node, f, _I(room.order[cut]), room.left)
            node.missing_left, node.by_set, node.missing_seen = missing_left, 0, missing_seen


@inner
def _spread(binned, signal, index, node, f, together, cells):
    """The cells of one feature in the form that a histogram has."""
    if signal.packed.size == 0:
        count_feature(binned, signal.parts, index, node.start, node.stop, f, cells)
        return
    for b in range(_U(binned.n_bins[f] + 1)):
        g, h, w = apart(together[b])
        cells[b], cells[b + _U(WEIGHTS)] = (g << 32) + h, w


@inner
def _next_group(allowed, every, f, last, features):
    """Gather features from ``f`` on, every one or those allowed, as many as are counted at once.

    Returns where to go on, and how many.
    """
    width = _I(0)
    while f < last and width < GROUP:
        features[width] = f
        width += every or allowed[f] != 0
        f += 1
    return f, width


@inner
def best_split_of_rows(
    allowed, binned, signal, rules, index, room, node, bins_left, first, last, parent, sibling, whole
):
    """The same for a node of few rows, without its histogram: only the bins that occur are looked at.

    If its sibling has one, which is ``whole``, what is counted here is subtracted from it.
    """
    cells, together, features = room.cells[:], room.together, room.features  # [:]: of a histogram's type
    own, room.best = _floor(node, signal, rules)
    unit, to_subtract = signal.packed.size > 0, sibling.slot >= 0
    node.gain, node.feature = -1.0, -1
    while first < last:
        first, width = _next_group(allowed, to_subtract, first, last, features)
        if unit:
            count_together(binned, signal.packed, index, node.start, node.stop, features, width, together)
        for k in range(width):
            f = _I(features[k])
            n_bins, own_cells = binned.n_bins[f], together[k * BINS : (k + 1) * BINS]
            at_once = unit and not binned.categorical[f]
            if to_subtract or not at_once:
                _spread(binned, signal, index, node, f, own_cells, cells)
            if to_subtract:
                rest = whole[f * CELLS : (f + 1) * CELLS]
                subtract(n_bins, parent.packed != 0, node, sibling, cells, rest)
            if allowed[f] and at_once:
                _split_together(own_cells, n_bins, f, node, signal, rules, room)
            elif allowed[f]:
                _split_feature(cells, binned, f, own, node, signal, rules, room, bins_left)
            own_cells[: n_bins + 1] = 0
    if node.feature >= 0:
        node.gain = 0.5 * (room.best - own)
