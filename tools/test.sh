#!/bin/sh
# All tests, in two processes: what starts Ray, a cluster, or trains, one after the other, beside all the rest.
# Two Rays at once would fight over a small machine. Both results are shown whole; either can fail the run.
set -u
cd "$(dirname "$0")/.."
python=.venv/bin/python
unset PYTHONDONTWRITEBYTECODE # else each of the many processes below compiles the whole package anew
log=$(mktemp)
trap 'kill "$heavy" 2>/dev/null; rm -f "$log"' EXIT
trap 'exit 130' INT TERM
$python -m pytest tests/faults tests/real tests/cluster --durations=20 >"$log" 2>&1 &
heavy=$!
$python -m pytest --ignore=tests/faults --ignore=tests/real --ignore=tests/cluster
rest=$?
wait "$heavy"
trained=$?
cat "$log"
[ "$rest" -eq 0 ] && [ "$trained" -eq 0 ]
