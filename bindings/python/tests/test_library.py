"""Owns proof that the library is found where it should be, and that one which does not fit is told as such."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import wfstudio
from wfstudio import _generated, _library

PACKAGE = pathlib.Path(wfstudio.__file__).parent
REAL = os.environ.get("WFSTUDIO_LIBRARY")


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    """Makes a library that says another version of itself and does nothing else."""
    folder = tmp_path_factory.mktemp("stubs")

    def make(abi, version):
        told = {"studio_abi_version": f"unsigned studio_abi_version(void) {{ return {abi[0] << 16 | abi[1]}; }}"}
        told["studio_version"] = f'const char *studio_version(void) {{ return "{version}"; }}'
        for name, _, _ in _generated.FUNCTIONS:
            told.setdefault(name, f"int {name}(void) {{ return 0; }}")
        made = folder / f"{abi[0]}-{abi[1]}-{version}.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", made, "-x", "c", "-"], input="\n".join(told.values()).encode(), check=True)
        return made

    return make


def load(tmp_path, bundled=None, before="", **variables):
    """Imports a copy of the package in another process; what it says."""
    place = tmp_path / "place"
    shutil.copytree(PACKAGE, place / "wfstudio", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    if bundled:
        shutil.copy(bundled, place / "wfstudio" / "uniffi" / _library.FILE)
    kept = {name: value for name, value in os.environ.items() if name not in ("WFSTUDIO_LIBRARY", "LD_LIBRARY_PATH")}
    program = f"{before}\nimport wfstudio\nprint(wfstudio.native.library_version())"
    done = subprocess.run([sys.executable, "-c", program], env={**kept, "PYTHONPATH": str(place), **variables}, cwd=tmp_path, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


NEXT = (_generated.ABI[0] + 1, 0)


@pytest.mark.parametrize(
    "case, ends, says",
    [
        ("relative", 1, "the path is not absolute"),
        ("missing", 1, "/nowhere/libwfstudio.so: cannot open shared object file"),
        ("nothing", 1, "bundled"),
        ("major", 1, f"it speaks version {NEXT[0]}.0 of the interface"),
        ("minor", 1, "of the interface, this package needs"),
        ("no-library", 1, "invalid ELF header"),
        ("bundled-version", 1, "it is version 9.9.9, this package is"),
        ("named-version", 0, "RuntimeWarning: WFSTUDIO_LIBRARY: it is version 9.9.9"),
        ("bundled", 0, _generated.VERSION),
        ("system", 0, _generated.VERSION),
    ],
)
def test_each_place_is_looked_at_in_its_order(tmp_path, stub, case, ends, says):
    text = tmp_path / "text.so"
    text.write_text("no library" * 100)
    system = tmp_path / "system"
    system.mkdir()
    right = stub(_generated.ABI, _generated.VERSION)
    shutil.copy(right, system / _library.SYSTEM)
    given = {
        "relative": {"WFSTUDIO_LIBRARY": "libwfstudio.so"},
        # What is named is not replaced by another one.
        "missing": {"WFSTUDIO_LIBRARY": "/nowhere/libwfstudio.so", "bundled": right},
        "nothing": {},
        "major": {"WFSTUDIO_LIBRARY": str(stub(NEXT, _generated.VERSION))},
        "minor": {"bundled": stub((_generated.ABI[0], _generated.ABI[1] - 1), _generated.VERSION)},
        "no-library": {"WFSTUDIO_LIBRARY": str(text)},
        "bundled-version": {"bundled": stub(_generated.ABI, "9.9.9")},
        "named-version": {"WFSTUDIO_LIBRARY": str(stub(_generated.ABI, "9.9.9"))},
        "bundled": {"bundled": right},
        "system": {"LD_LIBRARY_PATH": str(system)},
    }[case]
    code, told = load(tmp_path, **given)
    assert (code, says in told) == (ends, True), told
    if ends:
        assert "UnsupportedPlatform: no wfstudio library for " in told and "WFSTUDIO_LIBRARY" in told, told
    if case == "nothing":
        assert "bundled (" in told and "system (libwfstudio.so.1)" in told, told


@pytest.mark.skipif(not REAL, reason="WFSTUDIO_LIBRARY names the library")
def test_a_second_copy_in_one_process_is_refused(tmp_path):
    copy = tmp_path / "libwfstudio.so"
    copy.symlink_to(REAL)
    assert load(tmp_path, before=f"import ctypes; ctypes.CDLL({str(copy)!r})", WFSTUDIO_LIBRARY=REAL)[0] == 0, "the same file is no second copy"
    shutil.rmtree(tmp_path / "place")
    copy.unlink()
    shutil.copy(REAL, copy)
    code, told = load(tmp_path, before=f"import ctypes; ctypes.CDLL({str(copy)!r})", WFSTUDIO_LIBRARY=REAL)
    assert code == 1 and str(copy) in told and REAL in told, told


def test_the_c_library_says_itself_what_it_is(monkeypatch):
    assert _library.triple().startswith(sys.platform) or sys.platform != "linux"
    monkeypatch.setattr(os, "confstr", lambda name: (_ for _ in ()).throw(ValueError(name)))
    monkeypatch.setattr(sys, "platform", "linux")
    assert _library.triple().endswith("-musl")
