# The two commands: `make demo` and `make test`. Both install what they need into .venv.
BIN := .venv/bin

.PHONY: demo test check lock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    train for real on this machine, and print what it cost"
	@echo "make test    run all tests"
	@echo "make check   format, lint, types, imports"
	@echo "make lock    pin the dependencies anew"

demo:
	@sh tools/environment.sh demo
	@sh tools/demo.sh

test:
	@sh tools/environment.sh dev
	@sh tools/test.sh

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

bench-%:
	@sh tools/environment.sh dev
	@$(BIN)/python benchmarks/$(subst -,_,$*)/run.py
