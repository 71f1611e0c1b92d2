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
LARGEST = 14_000_000


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


def test_exceptions_pass_through_small_unwind_tables(scripts, library, tmp_path):
    compacted = scripts("unwind_table").compacted
    original = library.read_bytes()
    backwards = compacted(original, lambda address: -address)
    forwards = compacted(original)
    assert len(backwards) == len(original) and backwards != forwards
    assert compacted(backwards) == forwards and compacted(forwards) == forwards
    for name, data in (("backwards", backwards), ("forwards", forwards)):
        path = tmp_path / f"{name}.so"
        path.write_bytes(data)
        call = ctypes.CDLL(str(path)).call
        assert [call(i) for i in range(4)] == [0, 102, 2, 302]


@pytest.fixture
def rust_library(tmp_path):
    """A shared library whose functions, of frames of several kinds, panic; what they hold is dropped on the way out."""
    source, path = tmp_path / "panicking.rs", tmp_path / "libpanicking.so"
    source.write_text("""
        use std::hint::black_box;
        struct Guard<'a>(&'a mut i64, i64);
        impl Drop for Guard<'_> { fn drop(&mut self) { *self.0 = *self.0 * 31 + self.1; } }
        #[inline(never)] fn small(i: i64) -> i64 { if i == 0 { std::panic::resume_unwind(Box::new(1)) } black_box(i) }
        #[inline(never)] fn several(i: i64, log: &mut i64) -> i64 {
            let guard = Guard(log, i);
            if i > 40 { return i }
            let (a, b, c, d) = (black_box(i * 3), black_box(i * 5), black_box(i * 7), black_box(i * 11));
            let first = small(i);
            let second = small(a - b + 2 * i);
            guard.1 + first + second + a + b + c + d
        }
        #[inline(never)] fn wide(i: i64, log: &mut i64) -> i64 {
            let mut array = black_box([i; 100]);
            array[(i as usize * 7) % 100] += 1;
            let found = several(i, log);
            { let guard = Guard(log, 2); black_box(guard.1); if i % 2 == 0 { array[1] = several(i / 2, guard.0); } }
            found + array.iter().sum::<i64>()
        }
        #[inline(never)] fn many(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64, log: &mut i64) -> i64 {
            let guard = Guard(log, 5);
            let found = wide(black_box(i), guard.0);
            let (x, y) = (black_box(a + b + c + d), black_box(e + f + g + h));
            found + wide(i - 1, guard.0) + x * y
        }
        #[no_mangle] pub extern "C" fn call(i: i64) -> i64 {
            let mut log = 1;
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| many(1, 2, 3, 4, 5, 6, 7, 8, i, &mut log)));
            log * 1_000_003 + result.unwrap_or(-1)
        }
    """)
    subprocess.run(["rustc", "--crate-type=cdylib", "-Copt-level=3", "-Cdebuginfo=0", "--edition=2021", source, "-o", path], check=True)
    return path


def test_only_tables_of_x86_64_are_shortened(scripts, rust_library):
    compacted = scripts("unwind_table").compacted
    original = bytearray(rust_library.read_bytes())
    of_arm = original.copy()
    of_arm[0x12:0x14] = (183).to_bytes(2, "little")  # EM_AARCH64
    x86, arm = compacted(bytes(original)), bytearray(compacted(bytes(of_arm)))
    arm[0x12:0x14] = original[0x12:0x14]
    assert arm != original and x86.count(0) > arm.count(0)


def test_panics_pass_through_shortened_unwind_tables(scripts, rust_library, tmp_path):
    original = rust_library.read_bytes()
    shortened = scripts("unwind_table").compacted(original)
    path = tmp_path / "shortened.so"
    path.write_bytes(shortened)
    before, after = (ctypes.CDLL(str(library)).call for library in (rust_library, path))
    for call in (before, after):
        call.restype, call.argtypes = ctypes.c_int64, [ctypes.c_int64]
    assert [after(i) for i in range(60)] == [before(i) for i in range(60)]
    assert len({before(i) for i in range(4)}) == 4
    assert len(shortened) == len(original) and shortened.count(0) > original.count(0)


ADVANCE, SAVES = b"\x41", b"\x83\x03\x8e\x02"  # rbx and r14, the second and third word below the frame's begin


def frame(*sizes):
    return b"".join(ADVANCE + bytes([0x0E, size]) for size in sizes)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (frame(16, 24, 32) + SAVES + frame(24, 16, 8), b"\x0e\x20" + SAVES),
        (frame(16, 24) + SAVES + frame(16, 8, 24, 16, 8, 24), b"\x0e\x18" + SAVES),
        (frame(16, 24, 32) + SAVES, b"\x0e\x20" + SAVES),
        (b"\x02\x80\x0e\x90\x01\x03\x00\x01\x0e\x08\0\0", b"\x0e\x90\x01"),
    ],
    ids=["one epilogue", "two epilogues", "no return", "no saved register"],
)
def test_programs_of_one_frame_are_shortened(scripts, program, expected):
    assert scripts("unwind_table").at_calls(program) == expected


@pytest.mark.parametrize(
    "program",
    [
        b"",
        frame(16, 24, 32, 24, 16, 8),  # without registers, the second step may be an argument's
        frame(16, 24) + SAVES + frame(32, 24, 16, 8),
        frame(16, 24, 32, 40) + SAVES + frame(8),
        frame(16) + SAVES + frame(24, 16, 8),
        frame(16, 24, 32) + SAVES + frame(24, 32, 24, 8),
        frame(16, 24, 32) + SAVES + frame(24),
        frame(16, 24, 32) + SAVES + frame(8, 24),
        frame(16, 24, 32) + SAVES + b"\x2e\x10" + frame(8),
        frame(16) + b"\x86\x02" + ADVANCE + b"\x0d\x06",
        frame(8),
    ],
)
def test_programs_of_several_frames_stay(scripts, program):
    assert scripts("unwind_table").at_calls(program) == program


def test_other_files_keep_their_bytes(scripts):
    for data in (b"", b"no library", b"\x7fELF\1\1 of 32 bits"):
        assert scripts("unwind_table").compacted(data) == data


def test_compressed_wheels_list_the_hashes_of_their_files(scripts, library, tmp_path):
    pytest.importorskip("zopfli")
    path = tmp_path / "some.whl"
    backwards = scripts("unwind_table").compacted(library.read_bytes(), lambda address: -address)
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("some/lib.so", backwards)
        wheel.writestr("some/text.py", "x = 1\n")
        wheel.writestr("some-1.dist-info/RECORD", "some/lib.so,sha256=old,1\nsome/text.py,sha256=same,6\nsome-1.dist-info/RECORD,,\n")
    scripts("compress_wheel").main(str(path))
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        data = wheel.read("some/lib.so")
        record = wheel.read("some-1.dist-info/RECORD").decode()
    assert data == scripts("unwind_table").compacted(backwards) != backwards
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
