"""Checks that no library needs more than MOST bytes of static thread-local storage: glibc has little left for dlopen().

usage: static_tls.py MOST LIBRARY...
"""
import struct
import sys

PT_TLS = 7


def tls_bytes(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"\x7fELF" or data[4] != 2:
        sys.exit(f"{path} is no 64-bit ELF file")
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    found = 0
    for i in range(count):
        kind, _, _, _, _, _, memory, _ = struct.unpack_from("<IIQQQQQQ", data, table + i * size)
        if kind == PT_TLS:
            found += memory
    return found


most = int(sys.argv[1])
libraries = {path: tls_bytes(path) for path in sys.argv[2:]}
for path, size in libraries.items():
    print(f"{path}: {size} bytes")
sys.exit(any(size > most for size in libraries.values()))
