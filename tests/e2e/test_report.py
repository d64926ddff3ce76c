"""The report of a kernel, made for GPUs on a machine without one: what it says, that it needs
nothing else, and, where a Chromium is at hand, how it looks in narrow and wide windows."""

import html
import json
import re
import shutil
import subprocess
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires
from tile_passes.model.timeline import overlap

HERE = Path(__file__).parent
HOPPER = "cuda -arch=sm_90a"
WIDTHS = (1280, 390)
WHOLE = ("time", "timeline", "roofline", "memory", "layouts", "counters", "source", "decisions")
VOID = frozenset(("meta", "link", "input", "br", "hr", "img"))
FETCHES = re.compile(r"""(?:src|href)\s*=\s*["'](?!data:|#)|url\(|@import|<script\s+src""")


@T.prim_func
def matmul(
    A: T.Tensor((2048, 2048), T.float16),
    B: T.Tensor((2048, 2048), T.float16),
    C: T.Tensor((2048, 2048), T.float16),
):
    with T.Kernel(8, 16, threads=256) as (bx, by):
        A_s = T.alloc_shared((128, 64), T.float16)
        B_s = T.alloc_shared((64, 256), T.float16)
        C_l = T.alloc_fragment((128, 256), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(32, num_stages=4):
            T.copy(A[by * 128, k * 64], A_s)
            T.copy(B[k * 64, bx * 256], B_s)
            T.gemm(A_s, B_s, C_l)
        T.copy(C_l, C[by * 128, bx * 256])


@T.prim_func
def doubled(X: T.Tensor((1 << 16,), T.float32), Y: T.Tensor((1 << 16,), T.float32)):
    with T.Kernel(64, threads=128) as b:
        x = T.alloc_fragment((1024,), T.float32)
        T.copy(X[b * 1024], x)
        for i in T.Parallel(1024):
            x[i] = x[i] * 2.0
        T.copy(x, Y[b * 1024])


@pytest.fixture(scope="module")
def product(cache_of_the_session):
    return tile.compile(matmul, target=HOPPER)


@pytest.fixture(scope="module")
def attention(cache_of_the_session, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE.parents[1] / "examples"))
        module = module_at(HERE.parents[1] / "examples" / "attention_tuned.py")
    made = tile.jit(target=HOPPER)(module.attention.kernel.fn)
    return made.compile(B=1, H=16, S=4096, D=128, dtype="float16", causal=True)


@pytest.fixture(scope="module")
def pages(product, attention, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    kernels = {"product": product, "attention": attention}
    return {n: k.report(folder / f"{n}.html", measured=5e-5) for n, k in kernels.items()}


class Balance(HTMLParser):
    """Tags that are open, ids, and those closed out of order."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.wrong = [], [], []

    def handle_starttag(self, tag, attrs):
        self.ids += [v for k, v in attrs if k == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))


@pytest.mark.parametrize("name", ["product", "attention"])
def test_a_page_is_whole_and_needs_nothing_else(pages, name):
    text = pages[name].read_text("utf-8")
    found = Balance()
    found.feed(text)
    assert (found.open, found.wrong) == ([], [])
    assert [i for i in WHOLE if i not in found.ids] == []
    assert len(set(found.ids)) == len(found.ids)
    assert FETCHES.findall(text) == []
    assert "$" not in re.sub(r"<pre>.*?</pre>|<code>.*?</code>", "", text, flags=re.S)


def test_a_page_says_what_was_decided_and_measured(pages, product):
    text = pages["product"].read_text("utf-8")
    assert "Measured: 50 µs" in text
    assert html.escape("matmul.A_s.layout") in text
    assert text.count('class="decision"') == len(tuple(product.plan))
    assert "T.gemm(A_s, B_s, C_l)" in text
    assert "plan-layout" not in text, "a pass that changes no program has no difference"
    assert "expand-pipeline" in text
    trace = re.search(r"data:application/json;base64,([A-Za-z0-9+/=]+)", text)
    events = json.loads(b64decode(trace.group(1)))["traceEvents"]
    assert {"producer", "matrix"} <= {e["args"].get("name") for e in events if e["ph"] == "M"}


@pytest.mark.parametrize("name", ["product", "attention"])
def test_producer_and_consumers_overlap(request, name):
    (launch,) = request.getfixturevalue(name).predict().kernels
    matrix = sum(s.end - s.start for s in launch.spans if s.kind == "matrix")
    assert overlap(launch.spans, "copy", "matrix") > 0.3 * matrix
    assert {s.lane for s in launch.spans} >= {"producer", "compute 0", "compute 1", "matrix"}


def test_threads_and_matrix_units_overlap_in_attention(attention):
    (launch,) = attention.predict().kernels
    matrix = sum(s.end - s.start for s in launch.spans if s.kind == "matrix")
    assert overlap(launch.spans, "work", "matrix") > 0.5 * matrix


@pytest.mark.parametrize(
    "target", ["cuda -arch=sm_80", "cpu -arch=x86-64-v3", "rocm -arch=gfx942", "metal -arch=apple9"]
)
def test_every_target_has_reports(target, tmp_path, cache_of_the_session):
    from tile_frontend.driver import lowered
    from tile_frontend.report.page import page
    from tile_frontend.target_select import select

    chosen = select(target)
    artifact, _ = lowered(doubled.function, chosen)
    text = page(Unbuilt(doubled.function, chosen, artifact))
    assert "<h1>doubled</h1>" in text
    assert "Predicted to take" in text


def test_a_landscape_of_a_tuning_run_is_shown(product, tmp_path):
    picture = '<svg xmlns="http://www.w3.org/2000/svg"><title>trials</title></svg>'
    text = product.report(tmp_path / "page.html", landscape=picture).read_text("utf-8")
    assert 'id="tuning"' in text
    assert picture in text


class Unbuilt:
    """A kernel for which no device's compiler was asked."""

    made_with = (None, ())

    def __init__(self, function, target, artifact):
        self.function, self.target, self.compiled = function, target, self
        self.launch, self.plan, self.kernel_source = None, artifact.plan, artifact.source


def test_a_page_that_cannot_be_written_is_the_users_error(product, tmp_path):
    with pytest.raises(TileError) as caught:
        product.report(tmp_path / "none" / "page.html")
    assert caught.value.code == "E0803"


def test_a_notebook_shows_the_verdict(product):
    text = product._repr_html_()
    assert text.startswith("<iframe")
    assert "Predicted to take" in html.unescape(text)


# -- in a browser


PROBE = """<script>
var wide = [].slice.call(document.querySelectorAll("main *")).filter(function (e) {
  return e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll");
});
document.querySelectorAll("details").forEach(function (d) { d.open = true; });
var box = document.getElementById("filter");
box.value = "a_s layout";
box.dispatchEvent(new Event("input"));
var shown = [].slice.call(document.querySelectorAll(".decision")).filter(function (d) {
  return !d.hidden;
});
parent.document.title = JSON.stringify({
  width: innerWidth, scroll: document.documentElement.scrollWidth, shown: shown.length,
  out: wide.slice(0, 5).map(function (e) { return e.tagName + "." + e.getAttribute("class"); })
});
</script></body>"""


@pytest.fixture(scope="module")
def chromium():
    found = next(
        (p for n in ("chromium", "google-chrome", "chrome") if (p := shutil.which(n))), None
    )
    requires("a Chromium", found is not None)
    return found


def browse(chromium, folder, page, width):
    """What the page says of itself in a frame that is `width` pixels wide, and the console's
    messages."""
    inner = page.read_text("utf-8").replace("</body>", PROBE)
    frame = f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{html.escape(inner)}">'
    outer = folder / f"{page.stem}-{width}.html"
    outer.write_text(f"<!DOCTYPE html><body style='margin:0'>{frame}</iframe>", "utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr")
    done = subprocess.run(
        [chromium, *flags, f"--user-data-dir={folder / 'profile'}", "--dump-dom", outer.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    told = re.search(r"<title>(.*?)</title>", done.stdout)
    assert told is not None, done.stderr[-2000:]
    messages = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return json.loads(html.unescape(told.group(1))), messages


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["product", "attention"])
def test_a_browser_shows_it_without_errors(chromium, pages, tmp_path, name, width):
    told, messages = browse(chromium, tmp_path, pages[name], width)
    assert messages == []
    assert told["width"] == width
    assert told["scroll"] <= width
    assert told["out"] == []
    assert told["shown"] == (1 if name == "product" else 0)
