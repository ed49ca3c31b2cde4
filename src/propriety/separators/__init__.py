"""Linear separators of margins: what linear models and rules share.

``margins`` are the losses of margins v = Mλ, ``uls`` boosts the columns of M (universal linear separators),
``bregman`` has the parallel, sequential and other Bregman-distance updates, ``projection`` solves
their primal problem, ``bags`` are losses to choose from, ``separation`` tells whether the classes can be
separated at all.
"""
