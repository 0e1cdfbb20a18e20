#!/bin/sh
# The main job, for real: plan, train on this machine, print the receipt, prove it, compare with elsewhere.
set -eu
cd "$(dirname "$0")/.."
headway=.venv/bin/headway
echo "What it would take, and where (headway plan jobs/minilm-docs.yaml):"
$headway plan jobs/minilm-docs.yaml
echo
echo "Now for real, here (headway run jobs/minilm-docs.yaml):"
$headway run jobs/minilm-docs.yaml
run=$($headway ls --limit 1 -o json | .venv/bin/python -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["run_id"])')
echo
echo "Proof that the receipt holds (headway receipt $run --verify):"
$headway receipt "$run" --verify
echo
echo "The same run elsewhere (headway compare $run):"
$headway compare "$run"
echo
echo "As a page, in English or French:  .venv/bin/headway dashboard"
echo "Next:  .venv/bin/headway show $run     .venv/bin/headway logs $run"
echo "       .venv/bin/headway run jobs/minilm-docs.yaml --set workload.method=lora"
