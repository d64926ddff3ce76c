"""Reading PTX and writing it as C, without running anything."""

import pytest

from tile_cuda.emulate.ptx import Instruction, parse, split_operands
from tile_cuda.emulate.source import source_of
from tile_cuda.emulate.translate import OPCODES, translate
from tile_ir.diag import TileError

TEXT = """.version 9.5
.target sm_90a
.extern .shared .align 1024 .b8 arena[];
.shared .align 4 .b8 table[12];
.visible .entry first(
  .param .u64 .ptr .align 1 first_param_0,
  .param .u32 first_param_1,
  .param .align 64 .b8 first_param_2[128]
)
.reqnctapercluster 2, 1, 1
{
  .local .align 8 .b8 depot[24];
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .loc 1 4 0
  ld.param.u32 %r1, [first_param_1];
  .loc 1 2 3, function_name $L__info_string0, inlined_at 1 7 5
  // begin inline asm
  {
  .reg .pred p;
W:
  setp.eq.u32 p, %r1, 0;
  @!p bra W;
  }
  // end inline asm
  ret;
}
"""


def test_a_kernel_is_taken_apart():
    (kernel,) = parse(TEXT).kernels
    assert kernel.name == "first"
    assert list(kernel.parameters.values()) == [(0, 8), (8, 4), (64, 128)]
    assert (kernel.parameter_bytes, kernel.cluster, kernel.local) == (192, 2, {"depot": 0})
    assert (kernel.shared, kernel.shared_bytes) == ({"table": 0, "arena": 1024}, 1024)
    steps = [s for s in kernel.body if isinstance(s, Instruction)]
    assert [s.opcode for s in steps] == ["ld.param.u32", "setp.eq.u32", "bra", "ret"]
    assert steps[2].guard == "p__1"
    assert steps[2].negated
    assert steps[2].operands == ("W__1",)


def test_lines_are_those_of_the_call():
    module = parse(TEXT)
    lines = {s.opcode: module.source_lines[s.line] for s in module.kernels[0].body[:1]}
    assert lines == {"ld.param.u32": 4}
    branch = next(
        s for s in module.kernels[0].body if isinstance(s, Instruction) and s.opcode == "bra"
    )
    assert module.source_lines[branch.line] == 7


def test_places_name_the_users_line():
    source = "// a\n" * 5 + "// user.py:3: x\nfirst_call();\n"
    made = source_of(TEXT, source, "", "", {"user.py": "/there/user.py"})
    places = {opcode: (line, text, user) for opcode, line, text, user in made.places.values()}
    assert places["bra"] == (7, "first_call();", "/there/user.py:3")
    assert made.kernels[0].cluster == 2


def test_operands_in_lists_stay_whole():
    assert split_operands("{%r1, %r2}, [%rd1, {%r3, %r4}], 5") == (
        "{%r1, %r2}",
        "[%rd1, {%r3, %r4}]",
        "5",
    )


@pytest.mark.parametrize(
    "opcode", ["tcgen05.alloc.sync.aligned.shared::cta.b32 [%r1], 32", "wgmma.odd.sync", "cp.odd"]
)
def test_an_unknown_instruction_is_named(opcode):
    text = TEXT.replace("ret;", f"{opcode};")
    with pytest.raises(TileError) as caught:
        translate(parse(text))
    assert caught.value.code == "E2301"
    assert opcode.split()[0] in caught.value.message


def test_an_unknown_name_is_refused():
    with pytest.raises(TileError) as caught:
        translate(parse(TEXT.replace("%r1, 0;", "%r1, nowhere;")))
    assert caught.value.code == "E2302"


def test_every_family_has_a_writer():
    assert {"ld", "st", "mma", "wgmma", "mbarrier", "cp", "bar", "shfl", "setp"} <= OPCODES.keys()
