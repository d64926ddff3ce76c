"""The host part as text, run against a stand-in for a device; what arrays have to be aligned to."""

from tile_ir.text import parse_function
from tile_passes.emit.captures import Parameter
from tile_passes.emit.kernels import EmittedKernel, Source
from tile_passes.launch.alignments import alignments
from tile_passes.launch.host_code import host_source

PROGRAM = """
func @f(X: global f32[N], Y: global f16[N], a: f32) dims (N) results (Y) {
  assert N < 1000, "few"
  let half: i32 = N // 2
  alloc w: global f32[N]
  if half > 3 {
    kernel @first threads = (128) {
      tiles (bx) in (ceildiv(N, 128)) {
        let t: i32 = thread_index()
        store w[ramp(t * 4, 1, 4)] = X[ramp(t * 4, 1, 4)]
      }
    }
  }
  kernel @second threads = (64), blocks = device_workers() {
    let rows: i32 = N + 1
    tiles (bx, by) in (rows, 3) claim = static { store Y[0] = f16(w[0] * a) }
  }
}
"""
POINTERS = {name: Parameter(name=name, declaration=f"float *{name}", format="P") for name in "XYw"}
SCALAR = Parameter(name="a", declaration="float a", format="f")


class Device:
    def __init__(self):
        self.said = []

    def kernel(self, name, formats, threads, shared):
        bound = (name, formats, threads, shared)
        return lambda blocks, *values: self.said.append((*bound, blocks, values))

    def allocate(self, size):
        self.said.append(("allocate", size))
        return object(), "workspace"

    def workers(self):
        return 5

    def failed(self, message):
        self.said.append(("failed", message.split(" at ")[0]))


def bound():
    first = (POINTERS["w"], POINTERS["X"])
    second = (POINTERS["Y"], POINTERS["w"], SCALAR)
    source = Source(
        text="",
        kernels=(
            EmittedKernel(name="first", parameters=first, threads=128, shared_bytes=512),
            EmittedKernel(name="second", parameters=second, threads=64, shared_bytes=0),
        ),
        names={n: n for n in ("X", "Y", "w", "a", "N", "half", "rows")},
    )
    namespace = {}
    exec(host_source(parse_function(PROGRAM), source), namespace)
    device = Device()
    return device, namespace["bind"](device)


def test_launches_come_in_order_with_sizes_and_values():
    device, call = bound()
    call("x", "y", 1.5, 300)
    assert device.said == [
        ("allocate", 1200),
        ("first", "PP", 128, 512, 3, ("workspace", "x")),
        ("second", "PPf", 64, 0, 5, ("y", "workspace", 1.5)),
    ]


def test_branches_and_assertions_are_taken_on_the_host():
    device, call = bound()
    call("x", "y", 1.5, 7)
    assert [row[0] for row in device.said] == ["allocate", "second"]
    call("x", "y", 1.5, 2000)
    assert ("failed", "few") in device.said


def test_nothing_is_launched_for_no_tiles():
    device, call = bound()
    call("x", "y", 1.5, -1)
    assert [row[0] for row in device.said] == ["allocate"]


def test_an_array_is_aligned_to_its_widest_access_or_to_what_else_is_asked():
    fn = parse_function(PROGRAM)
    assert alignments(fn) == (16, 2, 1)
    assert alignments(fn, {"Y": 16}) == (16, 16, 1)


VIEWED = """
func @f(X: global f32[8, 16], Y: global f32[128]) {
  view flat: global f32[128] of X
  kernel @f threads = (128) {
    tiles (bx) in (1) { store Y[thread_index()] = flat[thread_index()] }
  }
}
"""


def test_a_view_of_an_array_is_its_address():
    names = ("flat", "Y")
    parameters = tuple(Parameter(name=n, declaration=f"float *{n}", format="P") for n in names)
    kernel = EmittedKernel(name="f", parameters=parameters, threads=128, shared_bytes=0)
    source = Source(text="", kernels=(kernel,), names={n: n for n in ("X", "Y", "flat")})
    namespace = {}
    exec(host_source(parse_function(VIEWED), source), namespace)
    device = Device()
    namespace["bind"](device)("x", "y")
    assert device.said == [("f", "PP", 128, 0, 1, ("x", "y"))]
