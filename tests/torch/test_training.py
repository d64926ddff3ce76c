"""A block of our kernels is traced whole, trained and exported like one of torch's functions."""

import pytest

torch = pytest.importorskip("torch", reason="operators of torch")

# Compilers of torch warn of what they do; it is none of our business.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

STEPS = 20
# Twenty steps in float16 and in float32 differ by 5e-5; single gradients by more.
NEAR = {"cpu": 1e-4, "cuda": 2e-3}


def batch(models, device):
    torch.manual_seed(1)
    dtype = getattr(torch, models.DTYPES[device])
    return tuple(torch.randn(2, 64, 128, device=device).to(dtype) for _ in range(2))


def losses(run, model, x, y):
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    found = []
    for _ in range(STEPS):
        torch.compiler.cudagraph_mark_step_begin()
        loss = (run(x).float() - y.float()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_a_model_is_traced_whole_and_trains_as_torchs_own(models, functions_on, device):
    """On an accelerator through graphs of the device, forward and backward."""
    from torch._dynamo.utils import counters

    ours = models.Block(functions_on(device)).to(device)
    theirs = models.Block(models.TORCHS).to(device)
    x, y = batch(models, device)
    torch._dynamo.reset()
    counters.clear()
    mode = "default" if device == "cpu" else "reduce-overhead"
    found = losses(torch.compile(ours, fullgraph=True, mode=mode), ours, x, y)
    expected = losses(theirs, theirs, x, y)
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == 1
    assert counters["inductor"]["cudagraph_skips"] == 0
    assert found[-1] < 0.5 * found[0]
    assert found == pytest.approx(expected, rel=NEAR[device])


def test_gradients_are_those_of_torch(models, functions_on, device):
    ours = models.Block(functions_on(device)).to(device)
    theirs = models.Block(models.TORCHS).to(device)
    x, y = batch(models, device)
    for model in (ours, theirs):
        (model(x).float() - y.float()).square().sum().backward()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        scale = b.grad.abs().max()
        assert (a.grad - b.grad).abs().max() < 5 * NEAR[device] * scale


def test_a_block_is_exported_with_its_operators(models, functions_on, device):
    block = models.Block(functions_on(device)).to(device)
    x, _ = batch(models, device)
    exported = torch.export.export(block, (x,))
    called = [str(n.target) for n in exported.graph.nodes if n.op == "call_function"]
    names = {f"block.{n}_{device}.default" for n in ("product", "norm", "attention")}
    assert names <= set(called)
    assert called.count(f"block.product_{device}.default") == 6
    torch.testing.assert_close(exported.module()(x), block(x))
