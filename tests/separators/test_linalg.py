import numpy as np

from propriety.separators.linalg import inverse_of


def test_inverse_leaves_out_what_is_zero_and_flips_what_is_negative():
    solve = inverse_of(np.array([[1.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_allclose(solve(np.array([2.0, 2.0])), [1.0, 1.0])
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    A = A @ A.T + np.eye(6)
    x = rng.standard_normal(6)
    np.testing.assert_allclose(A @ inverse_of(A)(x), x, atol=1e-10)
    indefinite = np.array([[0.0, 1.0], [1.0, 0.0]])
    step = inverse_of(indefinite + np.diag([1e-3, 1e-3]))(np.array([1.0, -1.0]))
    assert step @ np.array([1.0, -1.0]) > 0
