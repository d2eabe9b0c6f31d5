#!/usr/bin/env bash
# The trainings that are still to run, in order of worth: bash results/queue.sh
# Two at a time, one thread each. Started again after any stop, it skips what is done, or has its summary here, and
# resumes what is not. queue.log beside the runs says what ran when; harvest.sh brings here what is finished.
set -u
cd "$(dirname "$0")/.."
. results/runs.sh
mkdir -p "$RUNS"

log() { echo "$(date -Is) $*" >> "$RUNS/queue.log"; }

sweep() {
    log start "$@"
    ambidex sweep --jobs 2 "$@"
    log exit $? "$@"
}

# One run of the table, from the start or from its last checkpoint.
row() {
    local out="$RUNS/table/$1/equivariant/seed-$2"
    [ -e "results/$1/equivariant/seed-$2" ] && return
    log start "$out"
    if [ -e "$out/run.json" ]; then ambidex resume "$out"; else ambidex train "$1" --method equivariant --seed "$2" --out "$out"; fi
    log exit $? "$out"
}
export -f row log

# The table, one seed of each scenario first.
scenarios=(A6.1 A4.1 A3.1 A1.1 A1.2 A2.1 A5.1 A6.3 A4.4 A3.2 A2.2 A6.2 A5.2 A4.3 A6.6 A4.6 A6.4 A4.2 A6.5 A4.5)
table() { printf "%s $1\n" "${scenarios[@]}" | xargs -P 2 -L 1 bash -c 'row "$0" "$1"'; }
table 0
# Where the curve still climbs and is below the paper's best: on to the paper's steps. Its summary has no checkpoint; trained anew, it is the same.
[ -e results/longer/A1.2 ] || sweep --scenarios A1.2 --methods equivariant --steps 4000000 --out "$RUNS/longer"
# Does any of ten starts collapse?
sweep --scenarios A4.1 A6.1 --methods equivariant --seeds 10 --steps 150000 --out "$RUNS/starts"
# A motor that wears out, with the fit and without.
sweep --scenarios A1.1-wear --methods equivariant --out "$RUNS/wear/fit"
sweep --scenarios A1.1-wear --methods equivariant --set actuators=none --out "$RUNS/wear/no-fit"
# What each part buys, under the same settings of PPO; the first 1.5 million steps of the table are the network with actuators.
families=(--scenarios A1.1 A4.1 --preset ambidex --seeds 2 --steps 1500000)
sweep "${families[@]}" --methods ppo --set fast=true --out "$RUNS/families/plain"
sweep "${families[@]}" --methods equivariant --set actuators=none --out "$RUNS/families/strict"
sweep "${families[@]}" --methods augment msl psl asl --set symmetry_samples=1 --out "$RUNS/families/losses"
sweep "${families[@]}" --methods equivariant --set relax=weights --set relax_from=1000000 --out "$RUNS/families/relaxed"
table 1
# The paper's own result.
sweep --scenarios A1.1 --methods asl psl --set symmetry_samples=1 --out "$RUNS/paper"
