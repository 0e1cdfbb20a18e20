"""A plain Ray Train script whose workers say who they are; the last of them is killed in mid-sentence."""

import os
import subprocess

import ray.train
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer


def loop():
    rank = ray.train.get_context().get_world_rank()
    for step in range(200):
        print(f"worker {rank} step {step} äöü", flush=True)
    subprocess.run(["sh", "-c", f"echo a child of worker {rank} >&2"], check=True)
    ray.train.report({"loss": 1.0})
    if rank == 1:
        os.write(1, b"my last words")
        os.kill(os.getpid(), 9)


if __name__ == "__main__":
    TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1})).fit()
