#!/usr/bin/env bash
# The trainings of results/README.md, in order of worth: bash results/queue.sh [MINUTES]
# Two at a time, one thread each. Started again after any stop, it skips what is done, there or by its summary here, and
# resumes what is not; given MINUTES, it begins nothing that would take longer than what is left of them. queue.log
# beside the runs says what ran when; harvest.sh brings here what is finished.
set -u
cd "$(dirname "$0")/.."
. results/runs.sh
mkdir -p "$RUNS"
export END=$(($(date +%s) + 60 * ${1:-1000000}))
export SECONDS_PER_MILLION=${SECONDS_PER_MILLION:-1200} # two at a time; 800 to 1200 were seen

log() { echo "$(date -Is) $*" >> "$RUNS/queue.log"; }

# One training: its place, scenario, method, seed and steps, and what else `ambidex train` is told.
run() {
    local run="$1/$2/$3/seed-$4" steps=$5
    local out="$RUNS/$run" known=(--method "$3" --seed "$4" --steps "$5")
    finished "results/${run#table/}" || finished "$out" && return
    (($(date +%s) + steps * SECONDS_PER_MILLION / 1000000 > END)) && return
    log start "$run"
    # A longer run goes on from a copy of the table's, where that is here; a summary has no checkpoint.
    local table="$RUNS/${run/#longer/table}"
    if [ "$1" = longer ] && [ ! -e "$out" ] && finished "$table"; then
        # Not finished from the first moment on, since it is the longer run that counts here.
        mkdir -p "${out%/*}"
        rm -rf "$out.copy"
        cp -r "$table" "$out.copy" && sed -i 's/"status": "done"/"status": "running"/' "$out.copy/run.json" && mv "$out.copy" "$out"
    fi
    if [ -e "$out/run.json" ]; then ambidex resume "$out" --steps "$steps"; else ambidex train "$2" "${known[@]}" "${@:6}" --out "$out"; fi
    log exit $? "$run"
}
export -f run log finished

scenarios=(A6.1 A4.1 A3.1 A1.1 A1.2 A2.1 A5.1 A6.3 A4.4 A3.2 A2.2 A6.2 A5.2 A4.3 A6.6 A4.6 A6.4 A4.2 A6.5 A4.5)

table() { for scenario in "${@:2}"; do echo table "$scenario" equivariant "$1" 2000000; done; }

# What each part buys, under the same settings of PPO; the table's first 1.5 million steps are the network with actuators.
families() {
    for scenario in A1.1 A4.1; do
        echo families/plain "$scenario" ppo "$1" 1500000 --preset ambidex --set fast=true
        for loss in asl msl augment psl; do
            echo families/losses "$scenario" $loss "$1" 1500000 --preset ambidex --set symmetry_samples=1
        done
        echo families/relaxed "$scenario" equivariant "$1" 1500000 --set relax=weights --set relax_from=1000000
    done
    # On A3.1, whose motors the table fits, the strict network shows what the fit is worth.
    for scenario in A1.1 A4.1 A3.1; do echo families/strict "$scenario" equivariant "$1" 1500000 --set actuators=none; done
}

{
    table 0 "${scenarios[@]}"
    # Below the paper's best, and still climbing: on to the paper's steps, from the start.
    echo longer A1.2 equivariant 0 4000000
    # A motor that wears out, with the fit, with one that forgets sooner, and without.
    echo wear/fit A1.1-wear equivariant 0 2000000
    echo wear/short-memory A1.1-wear equivariant 0 2000000 --set fit_memory=100000
    echo wear/no-fit A1.1-wear equivariant 0 2000000 --set actuators=none
    # Does any of ten starts collapse?
    for seed in {0..9}; do printf "starts %s equivariant $seed 150000\n" A4.1 A6.1; done
    # The paper's own result.
    printf "paper A1.1 %s 0 4000000 --set symmetry_samples=1\n" asl psl
    table 1 A2.2 A3.2
    families 0
    # The two robots that climb most at the end, likewise.
    echo longer A3.2 equivariant 1 5000000
    echo longer A2.2 equivariant 1 4000000
    table 1 "${scenarios[@]}"
    families 1
    # The paper's figures of A2.2 and A3.2 belong to robots whose motors nowhere exceed an ideal one: here they are.
    for seed in 0 1; do table $seed A2.2-authors A3.2-authors; done
    # The other seeds of the two below, that both say when they are above.
    echo longer A1.2 equivariant 1 4000000
    echo longer A3.2 equivariant 0 5000000
} | xargs -P 2 -L 1 bash -c 'run "$@"' run
