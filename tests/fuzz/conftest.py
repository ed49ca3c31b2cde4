"""The drivers are run by hand."""

collect_ignore_glob = ["*.py"]
