"""A small regression that trains for a while: two workers, dropout, exact resume expected.

`--hold FILE` keeps it after step 24, between two checkpoints, until that file is gone.
"""

import argparse
import time
from pathlib import Path

import torch

import headway.train

HELD_AT = 24


def loop(context):
    args = context.config
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 1)
    )
    data = torch.randn(512, 16, generator=torch.Generator().manual_seed(1))
    target = data.sum(1, keepdim=True).sin()
    torch.manual_seed(100 + context.rank)
    model = context.prepare(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    context.track(model=model, optimizer=optimizer)
    context.restore()
    rows = list(zip(data, target, strict=True))
    for x, y in context.batches(rows, 8, steps=args["steps"], seed=3):
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if args["fail_at"] and context.step_count + 1 == args["fail_at"] and not context.resumed:
            raise RuntimeError("planted failure")
        # Progress is told twice a second at most: the step at which a test waits for it has to be.
        time.sleep(1.5 if args["hold"] and context.step_count + 1 == HELD_AT else args["sleep"])
        while context.step_count == HELD_AT and args["hold"] and Path(args["hold"]).exists():
            time.sleep(0.05)
        context.step(loss=loss, samples=len(x))
    print("worker", context.rank, "is done", flush=True)
    context.metric("final_loss", float(torch.nn.functional.mse_loss(model(data), target).detach()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--sleep", type=float, default=0.1)
    parser.add_argument("--checkpoint-steps", type=int, default=10)
    parser.add_argument("--hold", default="")
    parser.add_argument("--fail-at", type=int, default=0)
    headway.train.run(loop, vars(parser.parse_args()))
