# A training script for torchrun, without anything specific to dslaunch.
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    assert int(os.environ["LOCAL_RANK"]) == rank % int(os.environ["LOCAL_WORLD_SIZE"])

    torch.manual_seed(1)  # the same data everywhere; each rank takes its share
    inputs = torch.randn(240, 8)
    data = TensorDataset(inputs, inputs @ torch.randn(8, 1) + 0.5)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=10, sampler=sampler)

    torch.manual_seed(100 + rank)  # different weights: DDP takes rank 0's
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    first = None
    for epoch in range(5):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            first = mean.item() / world if first is None else first
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    print(f"rank {rank} of {world}: loss {first:.3f} -> {mean.item() / world:.6f}, weights {weights.sum().item():.9f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
