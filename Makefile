# The two commands: `make demo` and `make test`. Both install what they need into .venv.
BIN := .venv/bin

.PHONY: demo test test-faults check lock clean cluster-build cluster-up cluster-down
.DEFAULT_GOAL := help

help:
	@echo "make demo    train for real on this machine, and print what it cost"
	@echo "make test    run all tests"
	@echo "make test-faults    kill every part of it at every point of a run's life"
	@echo "make check   format, lint, types, imports"
	@echo "make lock    pin the dependencies anew"
	@echo "make cluster-up, make cluster-down    a Kubernetes cluster with fake GPUs on this machine (root, Debian)"

demo:
	@sh tools/environment.sh demo
	@sh tools/demo.sh

test:
	@sh tools/environment.sh dev
	@sh tools/test.sh

# `make test` kills each part of Headway at one point of a run's life; this at all of them.
test-faults:
	@sh tools/environment.sh dev
	@HEADWAY_FAULTS=all $(BIN)/python -m pytest tests/faults tests/cluster --durations=20

check:
	@sh tools/environment.sh dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports

lock:
	@sh tools/lock.sh

clean:
	rm -rf .venv .cache

# A Kubernetes cluster on this machine: etcd, API server, one node, KubeRay, Kueue and fake GPU nodes. Root only.
cluster-build:
	@sh tools/environment.sh dev
	@PYTHONPATH=tests/cluster $(BIN)/python -m testbed build

cluster-up: cluster-build
	@PYTHONPATH=tests/cluster $(BIN)/python -m testbed up

cluster-down:
	@PYTHONPATH=tests/cluster $(BIN)/python -m testbed down

bench-%:
	@sh tools/environment.sh dev
	@$(BIN)/python benchmarks/$(subst -,_,$*)/run.py
