"""Compresses the files of a wheel with Zopfli, which makes Deflate streams 3 % smaller than zlib's best. Every installer reads them.

    compress_wheel.py WHEEL

The unwind tables of libraries are made small before, which changes no function, and the wheel's list of files has the new hashes.
"""
import base64
import hashlib
import os
import struct
import sys
import zipfile
import zlib

import zopfli.zlib
from unwind_table import compacted

LOCAL_HEADER = struct.Struct("<4s5H3L2H")
CENTRAL_HEADER = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")
VERSION = 20


def compress(data):
    """Returns the data's compression method and the shortest stream found. Empty files are stored."""
    # A zlib stream is a Deflate stream with a header of two bytes and a checksum of four.
    # A maximum of zero lets Zopfli split a megabyte into as many blocks as make it smaller.
    deflated = zopfli.zlib.compress(data, numiterations=5, blocksplittingmax=0)[2:-4]
    return (zipfile.ZIP_DEFLATED, deflated) if len(deflated) < len(data) else (zipfile.ZIP_STORED, data)


def entry(info, data, offset):
    """Returns the bytes of a file of the archive, and its entry in the central directory."""
    name = info.filename.encode("ascii")
    year, month, day, hour, minute, second = info.date_time
    method, stream = compress(data)
    fields = (0, method, hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day, zlib.crc32(data), len(stream), len(data), len(name), 0)
    made_by = info.create_system << 8 | VERSION
    central = CENTRAL_HEADER.pack(b"PK\1\2", made_by, VERSION, *fields, 0, 0, 0, info.external_attr, offset)
    return LOCAL_HEADER.pack(b"PK\3\4", VERSION, *fields) + name + stream, central + name


def contents(wheel):
    """Returns the bytes of each file by its name, with small unwind tables in libraries."""
    files = {name: wheel.read(name) for name in wheel.namelist()}
    changed = {name: new for name, data in files.items() if name.endswith(".so") and (new := compacted(data)) != data}
    for name in files:
        if changed and name.endswith(".dist-info/RECORD"):
            lines = (line.split(",") for line in files[name].decode().splitlines())
            changed[name] = "".join(f"{record(file, changed[file]) if file in changed else ','.join((file, *rest))}\n" for file, *rest in lines).encode()
    return files | changed


def record(name, data):
    """Returns the line of a file in ``RECORD``: its name, its hash and its size."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def main(path):
    new, directory, offset = path + ".new", [], 0
    with zipfile.ZipFile(path) as old, open(new, "wb") as out:
        files = contents(old)
        for info in old.infolist():
            file, central = entry(info, files[info.filename], offset)
            out.write(file)
            directory.append(central)
            offset += len(file)
        central = b"".join(directory)
        out.write(central + END.pack(b"PK\5\6", 0, 0, len(directory), len(directory), len(central), offset, 0))
    os.replace(new, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
