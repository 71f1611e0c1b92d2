"""The release wheel that `make wheel` builds, and what compresses it."""

import base64
import ctypes
import hashlib
import importlib
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

PROJECT = pathlib.Path(__file__).parents[2]
# PyPI and users count in millions of bytes.
LARGEST = 15_300_000


def test_the_release_wheel_is_small():
    wheels = list(PROJECT.glob("dist/*linux*_x86_64.whl"))
    if not wheels:
        pytest.skip("no release wheel for Linux on x86-64 in dist/")
    with zipfile.ZipFile(wheels[0]) as wheel:
        if b"Linker: LLD" not in wheel.read("flowmill/_core.abi3.so"):
            pytest.skip("linked by a linker without the options for small modules")
    assert wheels[0].stat().st_size <= LARGEST


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(PROJECT / "python")
    yield importlib.import_module
    for name in ("compress_wheel", "unwind_table"):
        sys.modules.pop(name, None)


@pytest.fixture
def library(tmp_path):
    """A shared library whose functions throw and catch exceptions."""
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("no C++ compiler")
    source, path = tmp_path / "throwing.cpp", tmp_path / "libthrowing.so"
    # The noise keeps the compiler from making one function of the two.
    source.write_text("""
        volatile int noise;
        struct Guard { int& count; ~Guard() { ++count; } };
        __attribute__((noinline)) int thrower(int i, int& count) { Guard guard{count}; if (i % 2) throw i; ++noise; return i; }
        __attribute__((noinline)) int middle(int i, int& count) { Guard guard{count}; return thrower(i, count) + noise - noise; }
        extern "C" int call(int i) { int count = 0; try { return middle(i, count); } catch (int thrown) { return 100 * thrown + count; } }
    """)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", source, "-o", path], check=True)
    return path


def test_exceptions_pass_through_sorted_unwind_tables(scripts, library, tmp_path):
    reordered = scripts("unwind_table").reordered
    original = library.read_bytes()
    backwards = reordered(original, lambda address: -address)
    forwards = reordered(original)
    assert len(backwards) == len(original) and backwards != forwards
    assert reordered(backwards) == forwards and reordered(forwards) == forwards
    for name, data in (("backwards", backwards), ("forwards", forwards)):
        path = tmp_path / f"{name}.so"
        path.write_bytes(data)
        call = ctypes.CDLL(str(path)).call
        assert [call(i) for i in range(4)] == [0, 102, 2, 302]


def test_other_files_keep_their_bytes(scripts):
    for data in (b"", b"no library", b"\x7fELF\1\1 of 32 bits"):
        assert scripts("unwind_table").reordered(data) == data


def test_compressed_wheels_list_the_hashes_of_their_files(scripts, library, tmp_path):
    pytest.importorskip("zopfli")
    path = tmp_path / "some.whl"
    backwards = scripts("unwind_table").reordered(library.read_bytes(), lambda address: -address)
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("some/lib.so", backwards)
        wheel.writestr("some/text.py", "x = 1\n")
        wheel.writestr("some-1.dist-info/RECORD", "some/lib.so,sha256=old,1\nsome/text.py,sha256=same,6\nsome-1.dist-info/RECORD,,\n")
    scripts("compress_wheel").main(str(path))
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        data = wheel.read("some/lib.so")
        record = wheel.read("some-1.dist-info/RECORD").decode()
    assert data == scripts("unwind_table").reordered(backwards) != backwards
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    assert record == f"some/lib.so,sha256={digest},{len(data)}\nsome/text.py,sha256=same,6\nsome-1.dist-info/RECORD,,\n"


def test_compressed_wheels_have_the_same_files(scripts, tmp_path):
    pytest.importorskip("zopfli")
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
    scripts("compress_wheel").main(str(path))
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        assert [[getattr(info, fact) for fact in facts] + [wheel.read(info)] for info in wheel.infolist()] == before
    assert path.stat().st_size < size
    assert list(tmp_path.iterdir()) == [path]
