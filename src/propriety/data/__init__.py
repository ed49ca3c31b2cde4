"""What a learner is given, read and checked once for all of them: tables, labels and weights, parameters."""
