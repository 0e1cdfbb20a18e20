#!/bin/sh
# Make .venv hold exactly what locks/$1.lock pins, and this package; do nothing when it already does.
# Usage: tools/environment.sh demo|dev
set -eu
cd "$(dirname "$0")/.."
role=$1
lock=locks/$role.lock
DOWNLOAD_GB=3.5
DISK_GB=8

# Trust what the machine trusts: a company's proxy has its own certificates (the second name is older uv's).
export UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1

stamp=.venv/.headway-$role
wanted=$(cat "$lock" pyproject.toml | cksum)
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && exit 0

find_python() {
    for name in python3 python3.13 python3.12 python3.11; do
        path=$(command -v "$name") || continue
        "$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$path"; return; }
    done
    echo "Headway needs Python 3.11 or newer; none is on the PATH." >&2
    exit 1
}

find_uv() {
    if command -v uv >/dev/null 2>&1; then command -v uv; return; fi
    home=.cache/uv-program
    if [ ! -x "$home/bin/uv" ]; then
        echo "getting uv, which installs the rest ..." >&2
        { "$python" -m venv "$home" && "$home/bin/python" -m pip install --quiet --disable-pip-version-check uv; } >&2 ||
            { rm -rf "$home"; "$python" -m pip install --quiet --disable-pip-version-check --target "$home" uv >&2; } ||
            { echo "Could not install uv. Install it, or Python's venv module (Debian: python3-venv), and try again." >&2; exit 1; }
    fi
    echo "$home/bin/uv"
}

python=$(find_python)
if [ ! -d .venv ]; then
    free=$(df -Pk . | awk 'NR==2 {print int($4 / 1000000)}')
    echo "Headway installs into .venv: about $DOWNLOAD_GB GB to download (PyTorch brings its CUDA libraries), $DISK_GB GB on disk; $free GB are free."
    if [ "$free" -lt "$DISK_GB" ]; then
        echo "Not enough disk space: nothing was installed." >&2
        exit 1
    fi
fi
uv=$(find_uv)
[ -x .venv/bin/python ] || "$uv" venv --quiet --python "$python" .venv
"$uv" pip install --quiet --python .venv/bin/python --require-hashes -r "$lock"
"$uv" pip install --quiet --python .venv/bin/python --no-deps --editable .
# Where Python may not write bytecode, as in many containers, each process would compile all it imports again.
if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then
    .venv/bin/python -m compileall -q -j 0 .venv/lib >/dev/null 2>&1 || true # some packages ship files that are no Python
fi
echo "$wanted" > "$stamp"
