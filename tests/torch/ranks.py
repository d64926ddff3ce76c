"""What two ranks do with our operators, started by torchrun: `ranks.py KIND_OF_DEVICE`.

A feed-forward layer whose weights are divided over the ranks, and a block that each rank trains on
its half of the batch, give outputs and gradients of one process that has everything.
"""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tile_ir.testing.by_path import module_at

WIDTH, HIDDEN = 128, 256


class Whole(torch.autograd.Function):
    """The same tensor in all ranks; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        total = gradient.contiguous()
        dist.all_reduce(total)
        return total


class Sum(torch.autograd.Function):
    """The sum over all ranks; each has its whole gradient."""

    @staticmethod
    def forward(ctx, x):
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def layer(product, x, up, down, divided):
    """silu(x up) down: columns of the first and rows of the second weight may be divided."""
    x = Whole.apply(x) if divided else x
    out = product(torch.nn.functional.silu(product(x, up)), down)
    return Sum.apply(out) if divided else out


def near(found, expected, device):
    bound = {"cpu": 1e-5}.get(device.type, 5e-3) * expected.abs().max()
    off = (found - expected).abs().max()
    assert off <= bound, f"{off} off, {bound} allowed"


def divided_layer(product, device, dtype):
    """Outputs, the gradient of the input and those of this rank's weights."""
    rank, count = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    x = torch.randn(64, WIDTH).to(device, dtype).requires_grad_()
    up = (torch.randn(WIDTH, HIDDEN) / WIDTH**0.5).to(device, dtype).requires_grad_()
    down = (torch.randn(HIDDEN, WIDTH) / HIDDEN**0.5).to(device, dtype).requires_grad_()
    expected = layer(product, x, up, down, divided=False)
    wanted = torch.autograd.grad(expected.float().square().sum(), (x, up, down))
    mine = (
        up.detach().chunk(count, 1)[rank].contiguous().requires_grad_(),
        down.detach().chunk(count, 0)[rank].contiguous().requires_grad_(),
    )
    found = layer(product, x, *mine, divided=True)
    of_x, of_up, of_down = torch.autograd.grad(found.float().square().sum(), (x, *mine))
    near(found, expected, device)
    near(of_x, wanted[0], device)
    near(of_up, wanted[1].chunk(count, 1)[rank], device)
    near(of_down, wanted[2].chunk(count, 0)[rank], device)


def divided_batch(models, functions, device, dtype):
    """Gradients of the mean loss, each rank with a part of the batch."""
    rank, count = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    x = torch.randn(2 * count, 64, WIDTH).to(device, dtype)
    alone = models.Block(functions).to(device)
    alone(x).float().square().mean().backward()
    block = models.Block(functions).to(device)
    wrapped = DistributedDataParallel(block)
    wrapped(x.chunk(count)[rank]).float().square().mean().backward()
    for a, b in zip(block.parameters(), alone.parameters(), strict=True):
        near(a.grad, b.grad, device)


def main(kind):
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device(kind) if kind == "cpu" else torch.device(kind, rank)
    if kind != "cpu":
        torch.get_device_module(kind).set_device(device)
    dist.init_process_group({"cpu": "gloo"}.get(kind, "nccl"))
    models = module_at(Path(__file__).with_name("kernels.py"))
    functions = models.ours(kind)
    dtype = getattr(torch, models.DTYPES[kind])
    divided_layer(functions.product, device, dtype)
    divided_batch(models, functions, device, dtype)
    dist.barrier()
    print(f"rank {rank} of {dist.get_world_size()} agrees", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
