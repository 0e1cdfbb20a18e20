"""A plain Ray Train script that never heard of Headway: it reports to Ray, as Ray's own examples do."""

import tempfile

import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def loop(config):
    for epoch in range(config["epochs"]):
        ray.train.report({"loss": 1.0 / (epoch + 1), "epoch": epoch})


if __name__ == "__main__":
    TorchTrainer(
        loop,
        train_loop_config={"epochs": 4},
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(name="plain-ray", storage_path=tempfile.mkdtemp()),
    ).fit()
