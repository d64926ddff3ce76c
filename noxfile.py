"""Every check of the workspace, as sessions computed from packages/*/pyproject.toml.

A new package under packages/ is tested, type-checked, built and tried alone without an edit here.
Sessions use plain venv and share nothing, so `pip install nox` is all that a machine needs.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import nox
from nox.project import dependency_groups, load_toml

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "venv"
nox.options.error_on_external_run = True
nox.options.sessions = ["lint", "types", "imports", "tests"]

ROOT = Path(__file__).parent
WORKSPACE = load_toml("pyproject.toml")
PACKAGES: dict[str, Path] = {
    load_toml(str(file))["project"]["name"]: file.parent
    for file in sorted(ROOT.glob("packages/*/pyproject.toml"))
}
TOY_PASS = "tests/plugins/tile-toy-pass"
STRANGERS = (TOY_PASS, "tests/plugins/opencl", "tests/plugins/foreign")
"""Distributions that are not ours; each is installed from its wheel, as its users would."""
LANGUAGE = "tests/language"
"""Whole programs of the language, most of which ask for no target."""
TORCH_FOR_CPU = os.environ.get("TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
QUICKSTART = ("tile-ir", "tile-passes", "tile-cpu", "tile-frontend")
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?\s*(.*)")


def requirements(package: str, *extras: str) -> list[str]:
    """Return what a package declares, with the named extras."""
    project = load_toml(str(PACKAGES[package] / "pyproject.toml"))["project"]
    optional = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(r for extra in extras for r in optional.get(extra, ()))]


def closure(package: str, *extras: str) -> set[str]:
    """Return the package and the siblings that it declares, directly or not."""
    found = {package}
    for requirement in requirements(package, *extras):
        name, _, _ = REQUIREMENT.fullmatch(requirement).groups()  # type: ignore[union-attr]
        if name in PACKAGES and name != package:
            found |= closure(name)
    return found


def install_all(session: nox.Session, *more: str) -> None:
    """Install every package editable, with what the oracle needs and the tools named by `more`."""
    oracle = (r for r in requirements("tile-ir", "oracle") if not r.startswith("tile-"))
    session.install(*(f"--editable={path}" for path in PACKAGES.values()), *oracle, *more)


def build_wheels(session: nox.Session, packages: set[str], folder: Path) -> list[Path]:
    """Build the packages' wheels into an empty folder and return them in the packages' order."""
    shutil.rmtree(folder, ignore_errors=True)
    paths = [str(PACKAGES[name]) for name in sorted(packages)]
    session.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), *paths)
    return sorted(folder.glob("*.whl"))


def compiler_extra() -> str:
    """Return the extra of tile-cpu that brings a C compiler, if this machine has none."""
    known = (os.environ.get("CC"), "gcc", "clang")
    has_one = any(name and shutil.which(name) for name in known)
    return "" if has_one else "[toolchain]"


@nox.session(tags=["fast"])
def lint(session: nox.Session) -> None:
    """Rules and formatting."""
    session.install(*dependency_groups(WORKSPACE, "lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(tags=["fast"])
def types(session: nox.Session) -> None:
    """The sources of all packages, checked strictly and against each other."""
    install_all(session, *dependency_groups(WORKSPACE, "types"))
    session.run("mypy", *(str(path / "src") for path in PACKAGES.values()), "noxfile.py")


@nox.session(tags=["fast"])
def imports(session: nox.Session) -> None:
    """The direction of dependencies, as written in pyproject.toml."""
    install_all(session, *dependency_groups(WORKSPACE, "imports"))
    session.run("lint-imports")


@nox.session
def tests(session: nox.Session) -> None:
    """Every test that needs no accelerator, with a third-party plugin installed."""
    extras = {r for name in PACKAGES for r in requirements(name, "test") if r[:5] != "tile-"}
    install_all(session, *dependency_groups(WORKSPACE, "test"), *sorted(extras), f"./{TOY_PASS}")
    session.run("pytest", "-n", "2", *(session.posargs or ("-m", "not gpu and not gates")))


@nox.session
def gates(session: nox.Session) -> None:
    """Every example and the corpus through the vendors' compilers, for several architectures; no
    accelerator is needed."""
    extras = {r for name in PACKAGES for r in requirements(name, "test") if r[:5] != "tile-"}
    install_all(session, *dependency_groups(WORKSPACE, "test"), *sorted(extras))
    session.run(
        "pytest", "-n", "2", "-m", "gates", "--error-on-skip", "tests/gates", *session.posargs
    )


@nox.session
def torch(session: nox.Session) -> None:
    """Operators of torch and arrays of JAX on this processor; CI leaves them out for their size."""
    session.install("torch", f"--index-url={TORCH_FOR_CPU}")  # without the libraries of GPUs
    install_all(session, *dependency_groups(WORKSPACE, "test"), "jax", "numpy")
    page = "tests/docs/test_programs.py::test_a_page_does_what_it_says[docs/tutorial/10-torch.md]"
    folders = ("tests/torch", "tests/e2e/test_torch_ops.py", "tests/e2e/test_libraries.py", page)
    session.run("pytest", "-n", "1", "-m", "not gpu", *(session.posargs or folders))


@nox.session
def sanitize(session: nox.Session) -> None:
    """A few small kernels on this machine's GPU under the vendor's checker of accesses and
    races."""
    cuda = requirements("tile-cuda", "cuda13")
    install_all(session, *cuda, *dependency_groups(WORKSPACE, "test"))
    session.run("python", "tests/gpu/sanitize.py", *session.posargs)


@nox.session
def anchors(session: nox.Session) -> None:
    """Each primitive that the emulator knows, on this machine's GPU: equal bit for bit."""
    cuda = requirements("tile-cuda", "cuda13")
    install_all(session, *cuda, *dependency_groups(WORKSPACE, "test"))
    wanted = ("-m", "gpu", "--error-on-skip", "tests/anchors")
    session.run("pytest", *(session.posargs or wanted))


@nox.session
def emulate(session: nox.Session) -> None:
    """What was emitted for GPUs, executed on the CPU with every fault reported."""
    extras = {r for name in PACKAGES for r in requirements(name, "test") if r[:5] != "tile-"}
    install_all(session, *dependency_groups(WORKSPACE, "test"), *sorted(extras))
    folders = ("tests/emulate", *(str(p) for p in sorted(ROOT.glob("packages/*/tests/emulate"))))
    if session.posargs[:1] == ["--on"]:  # the language's own tests, compiled for that target
        target, *chosen = session.posargs[1:]
        session.run("pytest", "-n", "2", f"--on={target}", *(chosen or [LANGUAGE]))
        return
    session.run("pytest", "-n", "2", *(session.posargs or folders))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Planted mistakes are found; then random programs, `-- --count 10000 --seed 1` of them."""
    install_all(session, *dependency_groups(WORKSPACE, "test"))
    session.run("pytest", "-n", "2", "-m", "slow", "tests/fuzz")
    session.run("tile", "fuzz", *(session.posargs or ("--count", "200")))


@nox.session
def plugins(session: nox.Session) -> None:
    """Strangers' distributions, from wheels and with our wheels only: a pass, a target that runs
    its kernels for real, another compiler. The target passes conformance through level run."""
    folder = Path(session.create_tmp()) / "wheels"
    ours = build_wheels(session, {"tile-ir", "tile-passes", "tile-frontend"}, folder)
    strange = folder / "strange"
    session.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(strange), *STRANGERS)
    testing = requirements("tile-ir", "oracle", "testing")
    session.install(*map(str, ours), *(r for r in testing if r[:5] != "tile-"), "hatchling>=1.25")
    session.install(*(f"{w}[run]" if "opencl" in w.name else str(w) for w in strange.glob("*.whl")))
    session.run("pip", "check")
    opencl_device(session)
    session.env["POCL_CACHE_DIR"] = str(folder.parent / "pocl")
    tested = ("python", "-m", "tile_ir.testing.conformance")
    report = folder.parent / "opencl.json"
    session.run(*tested, "opencl", "--level", "run", "--json", str(report))
    session.run(*tested, "fold-times-one", "--pass")
    session.run("pytest", "-q", "--error-on-skip", "tests/plugins", *session.posargs)
    sources = sorted((ROOT / STRANGERS[1]).rglob("*.py"))
    counts = {f.name: len(f.read_text().splitlines()) for f in sources}
    session.log(f"tile-opencl: {sum(counts.values())} lines of Python {counts}")


def opencl_device(session: nox.Session) -> None:
    """Have a device that runs OpenCL on this machine's CPU: Debian's, or that of PyPI."""
    if any(Path("/etc/OpenCL/vendors").glob("*.icd")):
        return
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        session.run("apt-get", "update", "-qq", external=True)
        wanted = ("install", "-y", "-qq", "--no-install-recommends", "pocl-opencl-icd")
        session.run("apt-get", *wanted, external=True, silent=True)
        return
    session.install("pocl-binary-distribution>=3.0")


@nox.session
def surface(session: nox.Session) -> None:
    """Write the stub and every generated page but docs/errors.md; `-- --check` compares."""
    extras = {r for name in PACKAGES for r in requirements(name, "test") if r[:5] != "tile-"}
    install_all(session, *sorted(extras))
    scripts = ("stubs", "reference", "surface", "pictures", "performance", "cookbook", "llms")
    for script in scripts:  # the last one tells of the others
        session.run("python", f"docs/generate/{script}.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The site in build/site, every warning an error; its programs are run by `tests`."""
    session.install(*dependency_groups(WORKSPACE, "docs"))
    quiet = {"NO_MKDOCS_2_WARNING": "1"}  # the theme's notice of its successor
    session.run("mkdocs", "build", "--strict", *session.posargs, env=quiet)


@nox.session
def typing(session: nox.Session) -> None:
    """The examples as an editor sees them: every name of the language known, nothing wrong."""
    install_all(
        session, *dependency_groups(WORKSPACE, "types"), *dependency_groups(WORKSPACE, "typing")
    )
    session.run("pyright", "--pythonpath", str(Path(session.bin) / "python"))
    session.run("mypy", "--config-file", "examples/mypy.ini", "examples")


@nox.session
def quickstart(session: nox.Session) -> None:
    """What a new user does: install four packages, run one kernel on this CPU."""
    extras = {"tile-cpu": compiler_extra()}
    session.install(*(f"{PACKAGES[name]}{extras.get(name, '')}" for name in QUICKSTART))
    session.run("python", "examples/quickstart.py", *session.posargs)


@nox.session
@nox.parametrize("package", list(PACKAGES), ids=list(PACKAGES))
def isolated(session: nox.Session, package: str) -> None:
    """One package from its wheel, with what it declares and nothing else."""
    wheels = build_wheels(session, closure(package, "test"), Path(session.create_tmp()) / "wheels")
    tested = f"{package.replace('-', '_')}-"
    session.install(*(f"{w}[test]" if w.name.startswith(tested) else str(w) for w in wheels))
    session.run("pip", "check")
    # What runs the tests side by side is no dependency of any package.
    session.install(*(r for r in dependency_groups(WORKSPACE, "test") if "xdist" in r))
    tests_of = PACKAGES[package] / "tests"
    session.run("pytest", "-q", "-n", "2", "-m", "not gpu", str(tests_of), *session.posargs)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build every wheel into dist/ and check what is in it."""
    session.install(*dependency_groups(WORKSPACE, "test"))
    build_wheels(session, set(PACKAGES), ROOT / "dist")
    alone = "--confcutdir=tests/packaging"  # what other tests share needs our packages installed
    session.run("pytest", "-q", alone, "tests/packaging/test_wheels.py")


@nox.session
def minimums(session: nox.Session) -> None:
    """Every test on the oldest releases that the packages claim to work with."""
    declared = {
        requirement
        for package in PACKAGES
        for requirement in requirements(package, "oracle", "testing")
    }
    pins = Path(session.create_tmp()) / "minimums.txt"
    pins.write_text("\n".join(sorted(oldest(declared))) + "\n")
    install_all(session, *dependency_groups(WORKSPACE, "test"), f"--constraint={pins}")
    session.run("pytest", "-n", "2", "-m", "not gpu and not gates", *session.posargs)


def oldest(declared: set[str]) -> set[str]:
    """Return each lower bound of a requirement on a stranger as an exact pin."""
    parsed = (REQUIREMENT.fullmatch(requirement) for requirement in declared)
    return {
        f"{match[1]}=={match[3].removeprefix('>=')}"
        for match in parsed
        if match and match[1] not in PACKAGES and match[3].startswith(">=")
    }
