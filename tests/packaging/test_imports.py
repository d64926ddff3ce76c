"""What importing costs and drags in, measured in a fresh interpreter."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"numpy", "ml_dtypes", "networkx", "torch", "yaml", "importlib.metadata", "sympy"}
TARGETS = {"tile_cpu", "tile_cuda", "tile_rocm", "tile_metal"}
BUDGET_MS = 50


def imported_by(statement):
    """Return the modules that a fresh interpreter holds after `statement`."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def own_milliseconds(package):
    """Return the time that importing `package` adds, from `-X importtime`."""
    command = [sys.executable, "-X", "importtime", "-c", f"import {package}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    row = re.compile(r"import time:\s*\d+ \|\s*(\d+) \|\s*(\S+)$", re.M)
    return next(int(us) for us, name in row.findall(done.stderr) if name == package) / 1000


def test_the_ir_imports_fast():
    assert min(own_milliseconds("tile_ir") for _ in range(5)) < BUDGET_MS


@pytest.mark.parametrize("package", ["tile_ir", "tile_passes"])
def test_the_compile_path_imports_nothing_heavy(package):
    assert imported_by(f"import {package}") & HEAVY == set()


def test_the_frontend_loads_no_target():
    assert imported_by("import tile_frontend") & TARGETS == set()


def test_manifests_load_nothing_but_the_contract():
    """Asking what targets there are must not load an emitter, a toolchain or a runtime."""
    for target in sorted(TARGETS):
        modules = imported_by(f"import {target}.manifest")
        inside = {name for name in modules if name.startswith(f"{target}.")}
        assert inside <= {f"{target}.manifest", f"{target}._version"}, target


def interpreters():
    """Return other Python versions on this machine: on the path, or kept by pyenv."""
    from shutil import which

    found = {}
    for minor in range(10, 15):
        kept = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        path = str(kept[-1]) if kept else which(f"python3.{minor}")
        if path and _runs(path, minor):
            found[f"3.{minor}"] = path
    return found


def _runs(path, minor):
    code = f"import sys; sys.exit(sys.version_info[:2] != (3, {minor}))"
    return subprocess.run([path, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(("version", "python"), interpreters().items())
def test_sources_compile_and_import_elsewhere(version, python, root, tmp_path):
    """The standard-library core imports on every Python that is here; all sources compile."""
    sources = [str(path) for path in root.glob("packages/*/src")]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sources)}
    env["PYTHONPYCACHEPREFIX"] = str(tmp_path)
    compiled = subprocess.run(
        [python, "-W", "error", "-m", "compileall", "-q", *sources],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert compiled.returncode == 0, compiled.stdout
    code = "import tile_ir, tile_ir.target, tile_ir.plugin, tile_passes, tile_cuda, tile_tune"
    done = subprocess.run(
        [python, "-W", "error", "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{version}: {done.stderr}"
