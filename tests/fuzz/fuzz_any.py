"""Fuzzes what finds out the format, the compression and the encoding; `readers` says how to run it."""

from readers import read_bytes, run


def target(data: bytes) -> None:
    """The first byte chooses how the rest is opened."""
    choice = data[0] if data else 0
    encoding = (None, "cp1252", "utf-16-le", "utf-32", "utf-7", "unicode_escape", "shift_jis", "idna")[
        choice & 7
    ]
    read_bytes(data[1:], None, encoding=encoding, header=not choice & 8, chunk_bytes=4096)


if __name__ == "__main__":
    run(target)
