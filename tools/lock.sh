#!/bin/sh
# Pin every dependency by version and hash, for all platforms and Pythons, without naming an index:
# the same locks work behind a mirror.
set -eu
cd "$(dirname "$0")/.."
common="--universal --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11 --no-emit-package headway --quiet"
# shellcheck disable=SC2086
uv pip compile pyproject.toml --all-extras --group dev $common "$@" -o locks/dev.lock
# shellcheck disable=SC2086
uv pip compile pyproject.toml --extra demo -c locks/dev.lock $common -o locks/demo.lock
