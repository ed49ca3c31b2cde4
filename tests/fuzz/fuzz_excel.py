"""Fuzzes the reader of excel; `readers` says how to run it."""

from readers import read_bytes, run

if __name__ == "__main__":
    run(lambda data: read_bytes(data, "excel"))
