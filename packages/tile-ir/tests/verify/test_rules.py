"""One small program per rule of the verifier, with the finding it must give and its line."""

import pytest

from tile_ir.text import parse_module
from tile_ir.verify import verify

TILE = """tile.ir 1.0 tile
func @f(A: global f16[M, 64], I: global i32[M], n: i32, x: f32) dims (M) {
  kernel @k {
    tiles (b) in (n) {
      alloc S: shared f16[8, 64]
      alloc T: shared f32[8, 64]
      alloc R: fragment f32[8]
      alloc N: shared i32[8]
      alloc P: shared i32[8, 64]
      %s
    }
  }
}
"""
LINE = 10

IN_TILES = [
    ("E0401", "alloc S: shared f16[8]", "S is declared twice"),
    ("E0401", "for n in (0, 4, 1) serial { }", "n is declared twice"),
    ("E0401", "let S = 1", "S is declared twice"),
    ("E0406", "let y: f32 = x % x", "// and % are for integers"),
    ("E0406", "let y = n / n", "division of integers is ambiguous"),
    ("E0406", "let y = exp(n)", "exp works on float, not on i32"),
    ("E0406", "let y = select(n, 1, 2)", "select chooses by i32, not by bool"),
    ("E0406", "let y = bitcast<u16>(n)", "have different widths"),
    ("E0406", "let y = not n", "not of i32 is not bool"),
    ("E0406", "let y = n and n", "land computes in bool, not in i32"),
    ("E0406", "let y = ~x", "bit operation 'bnot' on f32"),
    ("E0406", "let y = broadcast(broadcast(n, 2), 4)", "in every lane is not i32x4"),
    ("E0406", "let y = ramp(x, 1, 4)", "a ramp from f32 is not f32x4"),
    ("E0406", "let y = f32x4(x)", "f32 is cast to f32x4"),
    ("E0408", "let y: f16 = S[x, 0]", "index x of S is f32, not an integer"),
    ("E0408", "fill T[0 : +x, :], 0.0", "index x of T is f32, not an integer"),
    ("E0408", "let y: f16x4 = S[ramp(0, 1, 4), 0]", "a vector index that is not the last one"),
    ("E0410", "fill T[4 : +8, :], 0.0", "a region of T leaves it: 4 : +8 on an axis of 8"),
    ("E0410", "fill T[0 : +0, :], 0.0", "a region of T has extent 0"),
    ("E0438", "shuffle R[:] by N[:] -> T[0, 0 : +4]", "R[8] goes with T[1, 4]"),
    ("E0438", "shuffle R[:] by R[:] -> R[:]", "R, which names lanes, holds f32, not i32"),
    ("E0438", "shuffle R[:] by N[:] -> N[:]", "R holds f32, and N i32"),
    ("E0438", "warp_reduce sum R[:] -> T[0, :]", "R[8] goes with T[1, 64]"),
    ("E0438", "warp_reduce or R[:] -> R[:]", "or of f32 in R"),
    ("E0438", "warp_reduce ballot N[:] -> N[:]", "N of a ballot holds i32, not bool"),
    ("E0431", "warp_reduce mean R[:] -> R[:]", "the kind of reduction"),
    ("E0412", "break", "break stands outside a loop"),
    ("E0412", "for i in (0, 4, 1) serial { parallel (j) in (4) { continue } }", "continue stands"),
    ("E0413", "kernel @inner { }", "kernel inner stands inside another kernel"),
    ("E0414", "tiles (c) in (n) { }", "a tile loop stands inside another one"),
    ("E0415", "alloc Z: shared f32[n]", "is in shared memory and has a symbolic extent"),
    ("E0415", "alloc Z: shared f32x4[8]", "elements of the vector type f32x4"),
    ("E0415", "alloc Z: shared f32[8] strides (1)", "has strides, but is in shared memory"),
    ("E0415", "alloc Z: global f32[8, 8] strides (1)", "has 2 axes and 1 strides"),
    ("E0415", "alloc Z: var f32[1]", "is one scalar per thread but has 1 axes"),
    ("E0415", "alloc Z: shared f32[-1]", "Z has a negative extent, -1"),
    ("E0415", "alloc Z: shared f32[1.0]", "an extent of Z is f32, not an integer"),
    ("E0415", "alloc Z: global f32[8] safe 0", "the safe value of Z is i32, not f32"),
    ("E0415", "alloc Z: shared f32[8] slots 0", "Z has 0 slots"),
    (
        "E0416",
        "alloc Z: shared f32[8, 64] layout [i (4:64) j (64:1)]",
        "covers (4, 64), not",
    ),
    ("E0416", "alloc Z: fragment f32[8] layout [i (8:1)]", "gives offsets in memory"),
    ("E0416", "alloc Z: shared f32[8] layout [thread (8:i*1) value (1:-)]", "registers of threads"),
    ("E0420", "gemm T[:, :], T[:, :] -> T[:, :]", "[8, 64] times [8, 64] does not go into [8, 64]"),
    ("E0420", "gemm R[:], T[:, :] -> T[:, :]", "R[8] is no matrix"),
    ("E0421", "gemm S[:, 0 : +8], T[:, :] -> T[:, :]", "S is f16 and T is f32"),
    ("E0421", "gemm S[:, 0 : +8], S[:, :] -> P[:, :]", "of f16 and f16 are not accumulated in i32"),
    ("E0421", "gemm T[:, 0 : +8], T[:, :] -> S[:, :]", "of f32 and f32 are not accumulated in f16"),
    ("E0422", "copy T[:, :] -> S[:, 0 : +32]", "T[8, 64] is copied to S[8, 32]"),
    ("E0423", "reduce sum T[:, :] -> R[0 : +4] dim = 1", "without axis 1 is not R[4]"),
    ("E0423", "reduce sum T[:, :] -> R[:] dim = 2", "T has 2 axes, none is number 2"),
    ("E0423", "reduce and T[:, :] -> R[:]", "and of f32 in T"),
    ("E0423", "reduce sum T[:, :] -> R[:] dim = 1, parts = (3, 2)", "has no parts (3, 2)"),
    ("E0423", "reduce sum T[:, :] -> R[:] dim = 1, parts = (4)", "has no parts (4,)"),
    ("E0423", "reduce sum T[:, :] -> R[:] dim = 1, parts = (4, 2)", "R[8] is not [8, 4]"),
    ("E0424", "scan sum T[:, :] -> R[:]", "T[8, 64] is scanned into R[8]"),
    ("E0424", "scan sum R[:] -> R[:] dim = 1", "R has 1 axes, none is number 1"),
    ("E0425", "fill T[:, :], 0", "T holds f32, the value is i32"),
    ("E0426", "store T[0, 0] = 0", "T holds f32, the value is i32"),
    ("E0426", "store T[0, ramp(0, 1, 4)] = 0.0", "T holds f32x4, the value is f32"),
    ("E0427", "for i in (0, 4, 0) serial { }", "the step of loop i is not a constant other than 0"),
    ("E0427", "for i in (0, 4, n) serial { }", "the step of loop i is not a constant other than 0"),
    ("E0427", "for i: i64 in (0, 4:i64, 1:i64) serial { }", "i is i64, a bound of it is i32"),
    ("E0428", "atomic add T[0, 0], 1", "T holds f32, the value is i32"),
    ("E0428", "atomic or T[0, 0], 1.0", "atomic or of f32 in T"),
    ("E0428", "atomic add R[0], 1.0", "R is in fragment memory, which one thread alone sees"),
    ("E0428", "atomic add I[0], 1 result = r: f32", "r is f32, I holds i32"),
    ("E0428", "atomic_tile add T[:, :] -> A[0 : +8, :]", "T holds f32, A holds f16"),
    ("E0428", "atomic_tile add N[0 : +4] -> I[0 : +8]", "N[4] is combined into I[8]"),
    ("E0429", "view Z: shared f32[8] of T", "Z has 256 bits, T has 16384"),
    ("E0429", "view Z: local f32[8, 64] of T", "Z is in local, T in shared"),
    ("E0430", "parallel (i) in (4) { fill T[:, :], 0.0 }", "fill stands inside a parallel loop"),
    ("E0430", "parallel (i) in (4) { parallel (j) in (4) { } }", "stands inside another"),
    ("E0431", "for i in (0, 4, 1) fast { }", "the kind of loop is 'fast', not one of serial"),
    ("E0431", "atomic nand I[0], 1", "the kind of atomic is 'nand'"),
    ("E0431", "reduce prod T[:, :] -> R[:]", "the kind of reduction is 'prod'"),
    ("E0431", "copy T[:, :] -> S[:, :] eviction = soon", "the eviction hint is 'soon'"),
    ("E0431", "gemm T[:, 0 : +8], T[:, :] -> T[:, :] policy = round", "the policy is 'round'"),
    ("E0432", "transpose T[:, :] -> S[:, :]", "T[8, 64] transposed is not S[8, 64]"),
    ("E0432", "transpose R[:] -> R[:]", "a transpose needs two axes"),
    ("E0433", "let y: i64 = n", "y is i64, its value is i32"),
    ("E0434", "if n { }", "the condition is i32, not bool: n"),
    ("E0434", "while x { }", "the condition is f32, not bool: x"),
    ("E0434", 'assert n, "m"', "the condition is i32, not bool: n"),
    ("E0434", "gemm T[:, 0 : +8], T[:, :] -> T[:, :] init = n", "init is i32, not bool"),
    (
        "E0435",
        "for i in (0, 4, 1) pipelined order = (0), stage = (0) { }",
        "order has 1 entries",
    ),
    (
        "E0435",
        "for i in (0, 4, 1) pipelined order = (1) { let z = 1 }",
        "order (1,) is no",
    ),
    ("E0435", "for i in (0, 4, 1) pipelined num_stages = -1 { }", "has num_stages -1"),
    ("E0437", "parallel (i, j) in (4) { }", "2 loop variables run over 1 extents"),
    ("E0437", "parallel (i) in (4:i64) { }", "i is i32, its extent is i64"),
    ("E0460", "fence generic -> async", "fence does not exist at stage tile"),
    ("E0460", "commit c", "commit does not exist at stage tile"),
    ("E0413", "role a { role b { } }", "role b stands inside role a"),
    ("E0413", "for i in (0, 4, 1) serial { role a { } }", "role a stands not directly in a tile"),
    ("E0436", "role a threads = -1 { }", "role a has warps 0"),
    ("E0467", "barriers p: [2] arrivals 0", "p is 2 barriers of 0 arrivals"),
    ("E0467", "barriers p: [2] arrivals 1 each = (1)", "the 2 barriers p have the arrivals (1,)"),
    ("E0402", "barrier_wait p[0] phase 0", "there are no barriers p here"),
    (
        "E0402",
        "issue bulk onto = p, index = 0 { copy T[1, :] -> T[0, :] }",
        "there are no barriers p here",
    ),
    ("E0465", "issue bulk { fill T[:, :], 0.0 }", "bulk brings copies, not a fill"),
]


@pytest.mark.parametrize(("code", "statement", "words"), IN_TILES, ids=[s[1] for s in IN_TILES])
def test_statements(code, statement, words):
    found = verify(parse_module(TILE % statement))
    messages = [d.message for d in found]
    assert any(words in m for m in messages), messages
    assert {d.span.line for d in found} == {LINE}
    assert code in {d.code for d in found}


def test_the_frame_of_the_cases_is_valid():
    assert verify(parse_module(TILE % "let y: i64 = i64(n)")) == ()


FUNCTIONS = [
    ("E0401", "func @f(n: i32) { }\nfunc @f() { }", "function f is defined twice"),
    ("E0401", "func @f(n: i32, n: i32) { }", "n is declared twice"),
    ("E0403", "func @f() dims (M: f32) { }", "the dimension M is f32, not an integer"),
    ("E0411", "func @f(A: shared f32[4]) { }", "the parameter A is in shared memory"),
    ("E0411", "func @f(n: i32) results (n) { }", "the result n is no buffer parameter"),
    ("E0411", "func @f(A: global f32[4]) results (A, A) { }", "A is returned twice"),
    ("E0413", "func @f() { parallel (i) in (4) { } }", "parallel stands outside a kernel"),
    ("E0413", "func @f() { alloc S: shared f32[4] }", "S is in shared memory, outside a kernel"),
    ("E0414", "func @f() { kernel @k { } }", "kernel k has 0 tile loops, not one"),
    (
        "E0414",
        "func @f() { kernel @k { if true { } ; tiles (b) in (1) { } } }",
        "if stands beside the tile loop of kernel k",
    ),
    (
        "E0431",
        "func @f() { kernel @k { tiles (b) in (1) claim = luck { } } }",
        "the claim is 'luck'",
    ),
    (
        "E0436",
        "func @f() { kernel @k threads = (0) { tiles (b) in (1) { } } }",
        "kernel k has threads (0,)",
    ),
    (
        "E0436",
        "func @f() { kernel @k cluster = (-1) { tiles (b) in (1) { } } }",
        "kernel k has cluster (-1,)",
    ),
    (
        "E0436",
        "func @f() { kernel @k blocks = 1.0 { tiles (b) in (1) { } } }",
        "kernel k launches f32 blocks",
    ),
    (
        "E0436",
        "func @f(A: global f16[8]) { kernel @k unwritten = (A) { tiles (b) in (1) { } } }",
        "kernel k reads A before it waits",
    ),
    (
        "E0436",
        "func @f(A: global f16[8]) { kernel @k dependent, unwritten = (A) "
        "{ tiles (b) in (1) { parallel (i) in (8) { store A[i] = A[i] } } } }",
        "kernel k writes A, which it says nobody does",
    ),
]


@pytest.mark.parametrize(("code", "text", "words"), FUNCTIONS, ids=[c[1][:40] for c in FUNCTIONS])
def test_functions(code, text, words):
    found = verify(parse_module(f"tile.ir 1.1 tile\n{text}"))
    assert [d.code for d in found] == [code]
    assert words in found[0].message


SCHEDULED = """tile.ir scheduled (tile-ir 0.1.0)
func @f(A: global f16[64]) {
  kernel @k {
    alloc S: shared f16[64] slots 2
    alloc U: shared f16[64] slots 3
    alloc D: shared f16[64]
    %s
    role load warps = 1 {
      %s
    }
    role math warps = 4 {
      %s
    }
  }
}
"""
RING = "channel c: ring(2) carries (S) from role load arrivals 1 to role math arrivals 4"
ELECTED = "channel c: ring(2) carries (S) from role load arrivals 1 to role math arrivals 1"
FILL = "acquire c; copy A[:] -> S@c[:]; commit c"
DRAIN = "wait c; copy S@c[:] -> D[:]; release c"

PROTOCOL = [
    ("E0401", f"{RING}; {RING}", FILL, DRAIN, "channel c is declared twice"),
    ("E0402", RING, f"acquire d; {FILL}", DRAIN, "there is no channel d here"),
    ("E0402", RING, FILL, f"{DRAIN}; settle t", "no group is named t"),
    ("E0402", RING, FILL, f"{DRAIN}; copy D@d[:] -> A[:]", "there is no channel d here"),
    ("E0462", RING, f"copy A[:] -> S@c[:]; {FILL}", DRAIN, "S@c is accessed where no slot"),
    ("E0462", RING, f"{FILL}; copy A[:] -> S@c[:]", DRAIN, "S@c is accessed where no slot"),
    ("E0462", RING, FILL, f"{DRAIN}; copy S@c[:] -> D[:]", "S@c is accessed where no slot"),
    ("E0462", RING, FILL, "wait c; copy S@c[-1][:] -> D[:]; release c", "S@c is accessed where"),
    ("E0462", RING, FILL, f"release c; {DRAIN}", "release c without a slot held"),
    ("E0462", RING, f"commit c; {FILL}", DRAIN, "commit c without a slot held"),
    ("E0463", RING, "acquire c; copy A[:] -> S[:]; commit c", DRAIN, "this access names none"),
    ("E0463", RING, "acquire c; copy A[:] -> D@c[:]; commit c", DRAIN, "c does not carry D"),
    ("E0463", RING.replace("(S)", "(S, U)"), FILL, DRAIN, "channel c has 2 slots, U has 3"),
    ("E0463", f"{RING}; {RING.replace('c:', 'd:')}", FILL, DRAIN, "S is carried by c and by d"),
    ("E0464", RING, f"{FILL}; acquire c", f"{DRAIN}; acquire c", "acquire c in role math, not in"),
    ("E0464", RING, "acquire c; copy A[:] -> S@c[:]", DRAIN, "c has acquire but no commit"),
    ("E0464", RING.replace("role load", "role lode"), FILL, DRAIN, "role lode, which is missing"),
    ("E0464", f"{RING} filled = 3", FILL, DRAIN, "channel c starts with 3 of 2 slots filled"),
    (
        "E0464",
        RING.replace("role math arrivals 4", "engine store"),
        FILL,
        DRAIN,
        "wait c: its consumer is the engine store",
    ),
    (
        "E0464",
        RING.replace("role load arrivals 1", "engine copy arrivals 1"),
        FILL,
        DRAIN,
        "engine copy completes by itself and has no arrivals",
    ),
    ("E0431", RING.replace("role load", "lord load"), FILL, DRAIN, "the kind of end is 'lord'"),
    ("E0431", f"{RING} scope = town", FILL, DRAIN, "the scope of the channel is 'town'"),
    ("E0431", RING, FILL, f"{DRAIN}; sync town", "the scope of the barrier is 'town'"),
    ("E0413", RING, f"{FILL}; role r {{ }}", DRAIN, "role r stands inside role load"),
    ("E0436", f"{RING}; role r groups = 0 {{ }}", FILL, DRAIN, "role r has warps 0, groups 0"),
    ("E0465", RING, FILL, f"{DRAIN}; issue mma {{ }}", "mma is issued nothing"),
    ("E0465", RING, FILL, f"{DRAIN}; settle_count mma <= -1", "at most -1 groups of mma"),
    ("E0465", RING, FILL, f"group mma -> t; {DRAIN}; settle t back = -1", "settle t looks -1"),
    ("E0465", RING, FILL, f"{DRAIN}; pin S@c[:] before mma", "S is in shared memory"),
    ("E0402", RING, f"{FILL}; issue copy onto = d {{ copy A[:] -> D[:] }}", DRAIN, "no channel d"),
    ("E0466", ELECTED, FILL, DRAIN, "release c by elected threads while others may still read"),
]


@pytest.mark.parametrize(
    ("code", "channel", "load", "math", "words"), PROTOCOL, ids=[c[-1][:40] for c in PROTOCOL]
)
def test_protocol(code, channel, load, math, words):
    found = verify(parse_module(SCHEDULED % (channel, load, math)))
    assert code in {d.code for d in found if words in d.message}, [d.message for d in found]


@pytest.mark.parametrize(
    ("channel", "load", "math"),
    [
        (RING, FILL, DRAIN),
        (ELECTED, FILL, "wait c; copy S@c[:] -> D[:]; sync role; release c"),
        (ELECTED, FILL, "wait c; issue mma { copy S@c[:] -> D[:] } ; settle mma; release c"),
        (RING, f"for i in (0, 4, 1) serial {{ {FILL} }}", f"while true {{ {DRAIN} }}"),
        (
            RING,
            FILL,
            "for i in (0, 4, 1) serial { wait c; if i > 0 { copy S@c[-1][:] -> D[:]; release c } }"
            "; release c",
        ),
        ("channel t: ring(1) carries () from role load to role math", "commit t", "wait t"),
    ],
)
def test_legal_protocols(channel, load, math):
    assert verify(parse_module(SCHEDULED % (channel, load, math))) == ()
