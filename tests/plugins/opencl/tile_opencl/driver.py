"""The target as its users see it: print a function, build it, load it, call it with host arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from tile_ir.diag import TileError
from tile_opencl.emit import emit_function
from tile_passes.launch.alignments import alignments
from tile_passes.launch.artifact import DeviceArtifact, artifact_of
from tile_passes.launch.container import Archive, Contents
from tile_passes.launch.files import write_atomically
from tile_passes.launch.host_code import bound_host, host_source
from tile_passes.launch.messages import CLANG_PLACED, Messages

__all__ = ["Runtime", "Toolchain", "emit", "host_arch"]

OPTIONS = ["-cl-std=CL1.2"]
UNPLACED, MISSING = re.compile("^error: (?P<text>.*)$", re.M), re.compile("requires .* extension")
MESSAGES = Messages(placed=CLANG_PLACED, unplaced=UNPLACED, missing=MISSING, compiler="OpenCL")
ARCHIVE = Archive(code="kernel.cl", usage=dict)


@cache
def _context():
    """pyopencl, a context on the first device with doubles, and its queue. Raises E3008."""
    try:
        import pyopencl as cl

        device = next(d for p in cl.get_platforms() for d in p.get_devices() if d.double_fp_config)
    except Exception as error:  # no package, no platform, no such device: nothing runs here
        raise TileError("E3008", "there is no OpenCL device that has doubles", None,
                        (repr(error),), "Install pyopencl and PoCL.") from error  # fmt: skip
    context = cl.Context([device])
    return cl, context, cl.CommandQueue(context)


def host_arch():
    """The description for this machine. Raises TileError E3008 where nothing can run."""
    _context()
    return "cl12"


def emit(fn, spec, plan=None):
    """Print a function of stage `simt`. Raises TileError E3010 for too much local memory."""
    made = emit_function(fn, spec)
    host = host_source(fn, made)
    return artifact_of(DeviceArtifact, fn, made, spec, plan, host=host, alignments=alignments(fn))


def _build(source):
    cl, context, _ = _context()
    try:
        return cl.Program(context, source).build(options=OPTIONS)
    except cl.RuntimeError as error:
        raise MESSAGES.refusal(str(error), source, " ".join(OPTIONS)) from error


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The compiler of the device that is here; it makes machine code anew when a file is loaded."""

    spec: object
    suffix = ".zip"
    source_suffix = ".cl"

    def fingerprint(self, strict=False):
        """Device, driver and options."""
        device = _context()[1].devices[0]
        return " ".join((device.platform.version, device.name, *OPTIONS))

    def compile(self, artifact, out, flags=()):
        """Build the source to see that it is right, and write it to `out` with the host part."""
        _build(artifact.source)
        contents = Contents(code=artifact.source.encode(), host=artifact.host, usage={})
        write_atomically(out, ARCHIVE.pack(contents))


@dataclass(frozen=True, slots=True)
class Runtime:
    """Loads files into this process."""

    spec: object

    def load(self, artifact, path):
        """A function of the arrays (numpy, in host memory), scalars and dimensions."""
        return Loaded(path, artifact.signature)


class Loaded:
    """A loaded function. The arguments have been checked by who calls it."""

    arguments = "arrays"

    def __init__(self, path, signature):
        self.cl, self.context, self.queue = _context()
        contents, self.signature = ARCHIVE.unpack(path), signature
        self.program = _build(contents.code.decode())
        self.bound = bound_host(contents.host, path, self)

    def __call__(self, *args):
        args = [np.asarray(a).reshape(-1).view(np.uint8) if k == "ptr" and a is not None else a
                for a, k in zip(args, self.signature, strict=True)]  # fmt: skip
        flags, read = self.cl.mem_flags, self.cl.map_flags.READ
        make = partial(self.cl.Buffer, self.context, flags.READ_WRITE | flags.USE_HOST_PTR, 0)
        held = {n: make(a) for n, a in enumerate(args) if isinstance(a, np.ndarray) and a.size}
        self.bound(*(held.get(n) if k == "ptr" else args[n] for n, k in enumerate(self.signature)))
        for n, buffer in held.items():  # mapping is what makes the host see what the device wrote
            place = (read, 0, args[n].shape, args[n].dtype)
            self.cl.enqueue_map_buffer(self.queue, buffer, *place)[0].base.release()
        self.queue.finish()

    def kernel(self, name, formats, threads, shared):
        """A launch of (work-groups, *arguments)."""
        kernel = self.cl.Kernel(self.program, name)

        def launch(groups, *values):
            passed = (v if f == "P" else np.dtype(f).type(v)
                      for v, f in zip(values, formats, strict=True))  # fmt: skip
            kernel(self.queue, (groups * threads,), (threads,), *passed)

        return launch

    def allocate(self, size):
        """A workspace, twice: it is its own address."""
        made = self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, max(size, 1))
        return made, made

    def workers(self):
        """Work-groups that run at once."""
        return self.context.devices[0].max_compute_units

    def failed(self, message):
        """Raise TileError E3013 for an assertion about the arguments."""
        raise TileError("E3013", message, help="Call it with arguments for which that holds.")
