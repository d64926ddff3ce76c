"""What a wheel holds: pure Python, small, typed, licensed, with its data and without its tests."""

import subprocess
import sys
import zipfile

import pytest

LIMIT_BYTES = 1_000_000


@pytest.fixture
def wheel(folder, tmp_path):
    """Return the package's wheel, opened."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_wheel(wheel, folder, module):
    name = wheel.filename
    assert name.endswith("-py3-none-any.whl")
    assert sum(item.compress_size for item in wheel.infolist()) < LIMIT_BYTES
    files = set(wheel.namelist())
    outside = {f for f in files if not f.startswith((f"{module}/", f"{module}-"))}
    assert outside == set()
    assert f"{module}/py.typed" in files
    assert any(f.endswith("/licenses/LICENSE") for f in files)
    assert not any("/tests/" in f or f.endswith((".so", ".pyc", ".dylib")) for f in files)
    source = folder / "src" / module
    here = {
        f"{module}/{path.relative_to(source)}"
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    assert here <= files
