# Where the queue keeps its runs, for queue.sh and harvest.sh: by default outside of the checkout, so that a new one goes
# on with them, a folder for each version of the preset.
preset=$(grep -v "^#" src/ambidex/experiment/configure/ambidex.yaml | sha1sum | cut -c 1-7)
export RUNS="${RUNS:-${XDG_STATE_HOME:-$HOME/.local/state}/ambidex/runs-$preset}"
export OMP_NUM_THREADS=1 PATH="$PWD/.venv/bin:$PATH"

# Whether the run in this folder, or the one that is summarised there, has come to its end.
finished() { grep -qsE '"status": "(done|collapsed)"' "$1/run.json"; }
