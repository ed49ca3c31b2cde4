"""The command line: ``propriety fit table.csv --target y --fp-cost 1 --fn-cost 9``."""
