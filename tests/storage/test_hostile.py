"""Damaged, altered, newer and hostile files are refused with a reason; none is run or read out of bounds."""

import hashlib
import json

import numpy as np
import pytest
from models import fitted
from safetensors.numpy import load, save

import propriety
from propriety.storage import ModelFileError

ZEROS = "0" * 64


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m"
    fitted("boosting")[0].save(path)
    return path.read_bytes()


def document_of(data):
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return json.loads(header["__metadata__"]["propriety"])


def signed(data):
    """Put the right checksum in: what somebody would do who wants to deceive."""
    start = data.index(ZEROS.encode())
    return data[:start] + hashlib.sha256(data).hexdigest().encode() + data[start + 64 :]


def forged(data, arrays=None, document=None):
    """The file with other content, and the right checksum."""
    content = document_of(data)
    tensors = {name: array.copy() for name, array in load(data).items()}
    if arrays is not None:
        arrays(tensors)
    content["sha256"] = ZEROS
    if document is not None:
        document(content)
    return signed(save(tensors, metadata={"propriety": json.dumps(content)}))


def refuse(tmp_path, data, match):
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(ModelFileError, match=match):
        propriety.load(tmp_path / "bad")


def test_a_forged_file_without_changes_is_read(tmp_path, data):
    # So that the refusals below are due to what they change.
    (tmp_path / "same").write_bytes(forged(data))
    model, X = fitted("boosting")
    np.testing.assert_array_equal(propriety.load(tmp_path / "same").predict_proba(X), model.predict_proba(X))


# --- accidents ----------------------------------------------------------------------------------------


def test_every_changed_byte_is_noticed(tmp_path, data):
    rng = np.random.default_rng(0)
    places = np.concatenate([np.arange(200), rng.integers(len(data), size=400), [len(data) - 1]])
    for place in places:
        changed = bytearray(data)
        changed[place] ^= int(rng.integers(1, 256))
        refuse(tmp_path, bytes(changed), "bad: ")


def test_every_truncation_is_noticed(tmp_path, data):
    rng = np.random.default_rng(1)
    for length in [0, 1, 7, 8, 9, len(data) - 1, *rng.integers(len(data), size=100)]:
        refuse(tmp_path, data[:length], "truncated|no model file")


def test_bytes_too_many_and_noise_are_noticed(tmp_path, data):
    refuse(tmp_path, data + b"\0", "checksum does not match")
    rng = np.random.default_rng(2)
    for size in (8, 100, 5000):
        refuse(tmp_path, rng.bytes(size), "no model file|truncated|damaged")
    refuse(tmp_path, save({"a": np.zeros(3)}, metadata={"x": "y"}), "no propriety model")
    refuse(tmp_path, save({"a": np.zeros(3)}), "no propriety model")


def test_a_newer_file_is_refused_before_anything_else(tmp_path, data):
    def newer(d):
        d.update(format=99, written_by="propriety 7.0")

    refuse(tmp_path, forged(data, document=newer), "by propriety 7.0 in format 99.*install a newer")


def test_a_missing_file_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        propriety.load(tmp_path / "nothing")


# --- hostile containers -------------------------------------------------------------------------------


def raw(data, change):
    """The file with its safetensors header changed, and the right checksum."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    content = json.loads(header["__metadata__"]["propriety"])
    content["sha256"] = ZEROS
    header["__metadata__"]["propriety"] = json.dumps(content)
    change(header)
    text = json.dumps(header).encode()
    return signed(len(text).to_bytes(8, "little") + text + data[8 + size :])


CONTAINERS = {
    "beyond the end": lambda h: h["start"].update(data_offsets=[0, 2**60]),
    "before the start": lambda h: h["start"].update(data_offsets=[-8, 0]),
    "overlapping": lambda h: h["bins.edges"].update(data_offsets=h["nodes.value"]["data_offsets"]),
    "huge shape": lambda h: h["start"].update(shape=[2**62, 2**62]),
    "negative shape": lambda h: h["start"].update(shape=[-1]),
    "strange type": lambda h: h["start"].update(dtype="O"),
    "no offsets": lambda h: h["start"].pop("data_offsets"),
    "an array less": lambda h: h.pop("start"),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_hostile_container_is_refused(tmp_path, data, name):
    refuse(tmp_path, raw(data, CONTAINERS[name]), "arrays of this model file cannot be read")


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 99_999_999])
def test_a_huge_header_is_refused(tmp_path, data, length):
    refuse(tmp_path, length.to_bytes(8, "little") + data[8:], "no model file|truncated")


def test_a_deep_header_is_refused(tmp_path):
    text = b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    refuse(tmp_path, len(text).to_bytes(8, "little") + text, "not readable")


# --- hostile trees ------------------------------------------------------------------------------------


def inner(t):
    return np.flatnonzero(t["nodes.feature"] >= 0)


def put(name, value, at=None):
    def change(t):
        where = inner(t)[0] if at is None else at(t)
        t[name][where] = value(t, where) if callable(value) else value

    return change


def leaf(t):
    return np.flatnonzero(t["nodes.feature"] < 0)[0]


def numeric(t):
    return np.flatnonzero((t["nodes.feature"] >= 0) & (t["nodes.feature"] < 3))[0]


def longer(t):
    t["nodes.value"] = np.append(t["nodes.value"], 0.0)


def replaced(name, change):
    def apply(t):
        t[name] = change(t[name])

    return apply


def without_trees(t):
    for name in t:
        if name.startswith("nodes."):
            t[name] = t[name][:0]
    t["trees.start"] = t["trees.start"][:1]


def swapped(t):
    a, b = inner(t)[:2]
    t["nodes.left"][[a, b]] = t["nodes.left"][[b, a]]


TREES = {
    "a cycle": (put("nodes.left", lambda t, i: i), "outside a tree"),
    "a child far away": (put("nodes.left", 2**31 - 2), "outside a tree"),
    "a negative child": (put("nodes.left", -5), "outside a tree"),
    "a child in the next tree": (put("nodes.left", lambda t, i: t["trees.start"][1]), "outside a tree"),
    "two parents": (
        lambda t: put("nodes.left", lambda t, i: t["nodes.left"][i] + 1)(t),
        "parent|depths|outside",
    ),
    "children swapped": (swapped, "outside|depths|parent"),
    "a leaf with children": (put("nodes.left", 1, leaf), "a leaf has children"),
    "no such feature": (put("nodes.feature", 4), "no such feature"),
    "a feature of -2": (put("nodes.feature", -2, leaf), "no such feature"),
    "a deep leaf": (put("nodes.depth", 2**31 - 1, leaf), "depths"),
    "a shallow leaf": (put("nodes.depth", 0, leaf), "depths"),
    "numbers split by a set": (put("nodes.set", 0, numeric), "sets do not belong|split by a set"),
    "a set too many": (replaced("nodes.sets", lambda s: np.vstack([s, s[:1]])), "sets do not belong"),
    "short sets": (replaced("nodes.sets", lambda s: s[:, :4]), "must have"),
    "values not finite": (put("nodes.value", np.nan, leaf), "value is not finite"),
    "a threshold of nan": (put("nodes.threshold", np.nan), "threshold"),
    "a bin of 300": (put("nodes.bin", 300), "no such bin"),
    "missing values to the third child": (put("nodes.missing_left", 2), "missing values"),
    "negative weights": (put("nodes.weight", -1.0), "weight is negative"),
    "columns of other length": (longer, "nodes.value has the shape"),
    "single precision": (replaced("nodes.value", np.float32), "must hold float64"),
    "trees of no node": (replaced("trees.start", lambda s: np.insert(s, 0, 0)), "follow each other"),
    "trees beyond the nodes": (replaced("trees.start", lambda s: s + 3 * (s > 0)), "must have"),
    "trees in disorder": (replaced("trees.start", lambda s: s[::-1].copy()), "follow each other"),
    "no trees": (replaced("trees.start", lambda s: s[:0]), "follow each other"),
    "an unknown array": (lambda t: t.update(more=np.zeros(2)), "arrays of no use: more"),
    "a start of two scores": (replaced("start", lambda s: np.append(s, 0.0)), "start has the shape"),
    "an infinite start": (replaced("start", lambda s: s * np.inf), "not finite"),
    "edges that fall": (replaced("bins.edges", lambda e: e[:, ::-1].copy()), "do not rise"),
    "bin counts swapped": (replaced("bins.count", lambda n: n[::-1].copy()), "not as many edges as bins"),
    "too many bins": (replaced("bins.count", lambda n: n + 300), "too many bins"),
    "a bin of a category that is not there": (replaced("bins.categories.3", lambda b: b + 200), "no bin"),
    "a bin of a category between bins": (replaced("bins.categories.3", lambda b: b + 0.5), "no bin"),
    "a category less": (replaced("bins.categories.3", lambda b: b[:-1]), "must have"),
}


@pytest.mark.parametrize("name", TREES)
def test_a_hostile_tree_is_refused(tmp_path, data, name):
    change, match = TREES[name]
    refuse(tmp_path, forged(data, arrays=change), match)


# --- hostile documents --------------------------------------------------------------------------------


def parameter(name, value):
    return lambda d: d["parameters"].update({name: value})


def state(name, value):
    return lambda d: d["state"].update({name: value})


DOCUMENTS = {
    "an estimator of another package": (lambda d: d.update(estimator="os.system"), "'os.system'"),
    "no estimator": (lambda d: d.pop("estimator"), "None"),
    "another estimator": (lambda d: d.update(estimator="LinearClassifier"), "has no parameter"),
    "a parameter too many": (parameter("__class__", 1), "has no parameter"),
    "a parameter of no type": (parameter("loss", {"pickle": "gASV"}), "no known type"),
    "code as a loss": (parameter("loss", {"loss": "__import__('os').system('true')"}), "cannot read"),
    "a loss that eats memory": (parameter("loss", {"loss": "'a' * 99999999999"}), "cannot read"),
    "a tuple that eats memory": (parameter("loss", {"loss": "(1,) * 99999999999"}), "cannot read"),
    "a deep loss": (parameter("loss", {"loss": "(" * 5000 + "Log()" + ")" * 5000}), "too deep"),
    "a chain of signs": (parameter("loss", {"loss": "-" * 19000 + "1"}), "not valid"),
    "a long sum": (parameter("loss", {"loss": "+".join(["1"] * 9000)}), "not valid|not a loss"),
    "a number as a loss": (parameter("loss", {"loss": "3"}), "not a loss"),
    "many threads": (parameter("n_jobs", 10**9), "n_jobs"),
    "a deep value": (parameter("scoring", eval("[" * 90 + "]" * 90)), None),
    "no loss": (lambda d: d["state"].pop("loss"), "no loss of a score"),
    "a loss without a link": (state("loss", {"loss": "CostWeighted(0.3)"}), "no loss of a score"),
    "a link as the loss": (state("loss", {"loss": "Logit()"}), "no loss for two classes"),
    "a loss for several classes": (state("loss", {"simplex": "Log", "parameters": {}}), "no loss for two"),
    "a class of simplex that is no loss": (
        state("loss", {"simplex": "np", "parameters": {}}),
        "no loss 'np'",
    ),
    "three classes": (state("classes", {"array": ["a", "b", "c"], "dtype": "str"}), "no loss for 3"),
    "one class": (state("classes", {"array": ["a"], "dtype": "str"}), "no classes"),
    "classes out of order": (state("classes", {"array": ["b", "a"], "dtype": "str"}), "not in order"),
    "classes of no type": (state("classes", {"array": [0, 1], "dtype": "datetime64[s]"}), "has the type"),
    "classes that are not of their type": (
        state("classes", {"array": [0.5, 1], "dtype": "int64"}),
        "not of its",
    ),
    "features that are not there": (state("n_features", 10**6), "not 1000000 names"),
    "true as a number": (state("n_features", True), "n_features is"),
    "names twice": (state("feature_names", ["a", "a", "b", "c"]), "occur twice"),
    "columns less": (lambda d: d["state"]["columns"]["categories"].pop(), "not 4 columns"),
    "a category twice": (
        lambda d: d["state"]["columns"].update(categories=[None, None, None, ["a", "a", "b"]]),
        "not plain values",
    ),
    "numbers as categories": (
        lambda d: d["state"]["columns"].update(categories=[["a"], None, None, ["a", "b", "c"]]),
        "bins.categories.0",
    ),
    "categories as numbers": (
        lambda d: d["state"]["columns"].update(categories=[None] * 4),
        "split by a set|no use",
    ),
    "costs of text": (parameter("fp_cost", "much"), "which is no column of it"),
    "negative costs": (parameter("fn_cost", -1), "fn_cost must be"),
    "costs beyond every float": (parameter("fn_cost", 10**400), "fn_cost|too large"),
    "costs of rows": (
        parameter("fp_cost", {"array": [], "dtype": "float64"}),
        "give those to fit and predict",
    ),
    "the link of a number": (state("loss", {"loss": "Log().with_link(Canonical(3))"}), "smooth loss"),
    "a link of no probabilities": (
        state("loss", {"loss": "Log().with_link(FromDistribution('t', (-5,)))"}),
        "outside of what it is defined for",
    ),
    "a link that takes seconds a row": (
        state("loss", {"loss": "Log().with_link(FromDistribution('levy_stable', (1.5, 0.5)))"}),
        "'levy_stable'; a model file can hold",
    ),
    "a slow link inside another": (
        state("loss", {"loss": "Log().with_link(Shifted(FromDistribution('studentized_range', (3, 9)), 1))"}),
        "'studentized_range'",
    ),
    "names other than the columns'": (state("feature_names", ["a", "b", "kind", "c"]), "not those of the"),
    "a value too many": (state("more", 1), "values of no use: more"),
    "a value less": (lambda d: d["state"].pop("seed"), "'seed' is missing"),
    "a huge number": (state("seed", 10**30), "seed"),
    "no state": (lambda d: d.pop("state"), "no state"),
    "a format of text": (lambda d: d.update(format="1"), "its format is '1'"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_hostile_document_is_refused(tmp_path, data, name):
    change, match = DOCUMENTS[name]
    if match is None:  # harmless: a parameter that is only looked at when the model is fitted
        (tmp_path / "m").write_bytes(forged(data, document=change))
        propriety.load(tmp_path / "m")
        return
    refuse(tmp_path, forged(data, document=change), match)


def test_random_arrays_with_the_right_checksum_never_break_a_walk(tmp_path, data):
    """Change numbers of the trees at random: the file is refused, or the model predicts and explains."""
    rng = np.random.default_rng(3)
    _, X = fitted("boosting")
    walked = 0

    def change(t):
        name = rng.choice([n for n in t if t[n].size])
        flat = t[name].reshape(-1)
        raw = flat.view(np.uint8)
        raw[rng.integers(raw.size, size=rng.integers(1, 4))] ^= np.uint8(1 << rng.integers(8))

    for _ in range(150):
        (tmp_path / "m").write_bytes(forged(data, arrays=change))
        try:
            model = propriety.load(tmp_path / "m")
        except ModelFileError:
            continue
        p = model.predict_proba(X)
        assert np.all((p >= 0) & (p <= 1))
        model.predict_contributions(X)
        walked += 1
    assert walked > 10


def first_score(**changes):
    return lambda d: d["state"]["scores"][0].update(changes)


def first_rule(**changes):
    return lambda d: d["state"]["scores"][0]["rules"][0].update(changes)


def twice(d):
    rules = d["state"]["scores"][0]["rules"]
    rules.append(dict(rules[0]))


OTHERS = {
    "coefficients of one column": (
        "linear",
        replaced("coef", lambda c: c[:, :1]),
        None,
        "coef has the shape",
    ),
    "coefficients of nan": ("linear", replaced("coef", lambda c: c * np.nan), None, "coef holds a number"),
    "two intercepts": (
        "linear",
        replaced("intercept", lambda c: np.append(c, 1.0)),
        None,
        "intercept has the",
    ),
    "a curve of no feature": (
        "boosting, curves",
        put("curves.feature", 99, lambda t: 0),
        None,
        "no such feature",
    ),
    "a negative feature": (
        "boosting, curves",
        put("curves.feature", -1, lambda t: 0),
        None,
        "no such feature",
    ),
    "a short curve": ("boosting, curves", replaced("curves.values", lambda v: v[:, :9]), None, "must have"),
    "an infinite curve": (
        "boosting, curves",
        replaced("curves.values", lambda v: v + np.inf),
        None,
        "too large",
    ),
    "negative marginals": (
        "boosting, curves",
        replaced("marginals.weights", lambda v: v - 9),
        None,
        "negative",
    ),
    "trees for curves": ("boosting, curves", None, state("learners", "trees"), "trees.start"),
    "learners of no kind": ("boosting, curves", None, state("learners", "code"), "made of 'code'"),
    "two trees": (
        "tree",
        replaced("trees.start", lambda s: np.array([0, 1, s[1]])),
        None,
        "leaf|outside|parent",
    ),
    "probabilities of two": ("tree", replaced("nodes.probabilities", lambda p: p * 2), None, "add up"),
    "negative sums": ("tree", replaced("nodes.sums", lambda s: -s), None, "no rows"),
    "a bin of a tree's category": ("tree", replaced("bins.categories.3", lambda b: b + 300), None, "no bin"),
    "a price of nan": ("tree", replaced("nodes.collapse", lambda c: c * np.nan), None, "price"),
    "a tree of another loss": ("tree", None, parameter("loss", "Nothing()"), "not valid"),
    "a tree of a slow link": (
        "tree",
        None,
        parameter("link", "FromDistribution('levy_stable', (1.5, 0.5))"),
        "'levy_stable'",
    ),
    "a forest of no tree": ("forest", without_trees, None, "no tree"),
    "a share of two": ("forest", replaced("nodes.value", lambda v: v + 1), None, "between 0 and 1"),
    "base rates of two": ("forest", replaced("base_rates", lambda r: r * 2), None, "add up"),
    "a class without a rate": (
        "forest",
        replaced("base_rates", lambda r: np.array([0.0, 1.0])),
        None,
        "no base rate",
    ),
    "no smoothing": ("forest", None, state("smoothing", 0.0), "not positive"),
    "shares of two": ("forest, three classes", replaced("nodes.shares", lambda s: s * 2), None, "add up"),
    "a rule of no feature": ("rules", None, first_rule(literals=[[9, "0" * 64]]), "no feature"),
    "a rule of feature -1": ("rules", None, first_rule(literals=[[-1, "0" * 64]]), "no feature"),
    "a rule of too many bins": ("rules", None, first_rule(literals=[[0, "f" * 65]]), "no feature"),
    "a rule that is not a number": ("rules", None, first_rule(literals=[[0, "g" * 64]]), "not valid"),
    "a rule twice": ("rules", None, twice, "occurs twice"),
    "a rule of share 2": ("rules", None, first_rule(coverage=2.0), "no shares"),
    "a huge coefficient": ("rules", None, first_rule(coefficient=1e300), "too large"),
    "a score too many": ("rules", None, lambda d: d["state"]["scores"].append({}), "one score for each"),
    "no edges": ("rules", None, first_score(edges=[1]), "no edges"),
    "a link for a loss": ("rules", None, first_score(loss={"loss": "Logit()"}), "no loss"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_hostile_models_are_refused(tmp_path, name):
    model, arrays, document, match = OTHERS[name]
    fitted(model)[0].save(tmp_path / "m")
    refuse(tmp_path, forged((tmp_path / "m").read_bytes(), arrays, document), match)
