"""Fuzzes the reader of arrow; `readers` says how to run it."""

from readers import read_bytes, run

if __name__ == "__main__":
    run(lambda data: read_bytes(data, "arrow"))
