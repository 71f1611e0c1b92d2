"""The release wheel that `make wheel` builds, and what compresses it."""

import importlib.util
import pathlib
import zipfile

import pytest

PROJECT = pathlib.Path(__file__).parents[2]
# PyPI and users count in millions of bytes.
LARGEST = 16_000_000


def test_the_release_wheel_is_small():
    wheels = list(PROJECT.glob("dist/*linux*_x86_64.whl"))
    if not wheels:
        pytest.skip("no release wheel for Linux on x86-64 in dist/")
    with zipfile.ZipFile(wheels[0]) as wheel:
        if b"Linker: LLD" not in wheel.read("flowmill/_core.abi3.so"):
            pytest.skip("linked by a linker without the options for small modules")
    assert wheels[0].stat().st_size <= LARGEST


def test_compressed_wheels_have_the_same_files(tmp_path):
    pytest.importorskip("zopfli")
    spec = importlib.util.spec_from_file_location("compress_wheel", PROJECT / "python" / "compress_wheel.py")
    compress_wheel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compress_wheel)
    path = tmp_path / "some.whl"
    script = zipfile.ZipInfo("bin/script", (2024, 2, 29, 23, 59, 58))
    script.external_attr = 0o100755 << 16
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        wheel.writestr("package/text.py", "x = 1\n" * 1000 + "".join(map(str, range(5000))))
        wheel.writestr("package/empty", "")
        wheel.writestr("package/short", "a")
        wheel.writestr(script, "#!/bin/sh\n")
    facts = ("filename", "date_time", "external_attr", "create_system", "CRC", "file_size")
    with zipfile.ZipFile(path) as wheel:
        before = [[getattr(info, fact) for fact in facts] + [wheel.read(info)] for info in wheel.infolist()]
    size = path.stat().st_size
    compress_wheel.main(str(path))
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        assert [[getattr(info, fact) for fact in facts] + [wheel.read(info)] for info in wheel.infolist()] == before
    assert path.stat().st_size < size
    assert list(tmp_path.iterdir()) == [path]
