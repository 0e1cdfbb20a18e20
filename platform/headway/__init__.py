"""Headway: what a training run will cost, the run itself, and what it really cost."""

__version__ = "0.1.0"
