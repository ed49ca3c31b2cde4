"""Models for others to run: what a fitted model computes, as values, and as an ONNX graph.

`formula` states a model's computation in a few kinds of parts, which every estimator gives by its
``_formula``; the other files turn these parts into operators. No formula of a loss, a link or a cost is
written here a second time: links that ONNX has no operators for become tables of their own values.
"""
