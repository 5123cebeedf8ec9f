# SPDX-License-Identifier: MIT
"""The package's source, as `python -m build --sdist` packs it: what the module is built of, and nothing else."""
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

backend = pytest.importorskip("scikit_build_core.build", reason="scikit-build-core is not installed")

TREE = Path(__file__).resolve().parents[2]
ROOMS = ("include", "src", "cmake", "lab/rope", "python")
FILES = {"CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
INCLUDED = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source package, unpacked."""
    folder, before = tmp_path_factory.mktemp("sdist"), os.getcwd()
    os.chdir(TREE)
    try:
        name = backend.build_sdist(str(folder))
    finally:
        os.chdir(before)
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder)
    return folder / name[:-len(".tar.gz")]


def files_of(folder, *places):
    return {path.relative_to(folder).as_posix() for place in places for path in (folder / place).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}


def test_files(source):
    assert files_of(source, ".") == FILES | files_of(TREE, *ROOMS)


def test_nothing_is_missing(source):
    """CMake finds each file that it is told of, and each header that a file includes is among them."""
    made = subprocess.run(["cmake", "-S", source, "-B", source.parent / "build", "-G", "Ninja", "-DLOCUS_LAB=OFF",
                           "-DLOCUS_TESTS=OFF", "-DLOCUS_PYTHON_MODULE=ON", f"-DPython_EXECUTABLE={sys.executable}"],
                          capture_output=True, text=True, timeout=300, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    rooms = [source / room for room in ("include", "src", "lab", "python/src")]
    for path in source.rglob("*.[chi]*"):
        if path.suffix in (".c", ".h", ".cpp", ".hpp", ".inc"):
            for name in INCLUDED.findall(path.read_text(encoding="utf-8")):
                assert any((room / name).is_file() for room in (path.parent, *rooms)), f"{path}: {name}"
