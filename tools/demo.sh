#!/bin/sh
# The main job, for real: train on this machine, print the receipt, prove it.
set -eu
cd "$(dirname "$0")/.."
headway=.venv/bin/headway
$headway run jobs/minilm-docs.yaml
run=$($headway ls --limit 1 -o json | .venv/bin/python -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["run_id"])')
echo
echo "Proof that the receipt holds (headway receipt $run --verify):"
$headway receipt "$run" --verify
echo
echo "Next:  .venv/bin/headway show $run     .venv/bin/headway logs $run"
echo "       .venv/bin/headway run jobs/minilm-docs.yaml --set workload.method=lora"
