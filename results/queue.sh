#!/usr/bin/env bash
# The trainings that are still to run, in order of worth: bash results/queue.sh
# Two at a time, one thread each. Started again after any stop, it skips what is done and resumes what is not;
# runs/queue.log says what ran when.
set -u
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=1 PATH="$PWD/.venv/bin:$PATH"
mkdir -p runs

run() {
    echo "$(date -Is) start $*" >> runs/queue.log
    "$@"
    echo "$(date -Is) exit $? $*" >> runs/queue.log
}

# A1.1 and A3.1 have three seeds each in results/.
scenarios=(A4.1 A6.1 A1.2 A5.1 A2.1 A2.2 A3.2 A4.2 A4.3 A4.4 A4.5 A4.6 A5.2 A6.2 A6.3 A6.4 A6.5 A6.6)
equivariant=(--methods equivariant --jobs 2)

# The table: the other scenarios, one seed of each first.
run ambidex sweep --scenarios "${scenarios[@]}" "${equivariant[@]}" --seeds 1 --out runs/table
run ambidex sweep --scenarios "${scenarios[@]}" "${equivariant[@]}" --seeds 2 --out runs/table
# What each part buys, under the same settings of PPO.
run ambidex sweep --scenarios A1.1 A4.1 --methods ppo augment msl psl asl equivariant --preset ambidex --jobs 2 \
    --seeds 2 --steps 1500000 --out runs/families
# A motor that wears out, with the fit and without.
run ambidex sweep --scenarios A1.1-wear "${equivariant[@]}" --seeds 1 --out runs/wear/fit
run ambidex sweep --scenarios A1.1-wear "${equivariant[@]}" --seeds 1 --set actuators=none --out runs/wear/no-fit
# The paper's own result.
run ambidex sweep --scenarios A1.1 --methods asl psl --jobs 2 --seeds 1 --set symmetry_samples=1 --out runs/paper
# Does any of ten starts collapse?
run ambidex sweep --scenarios A4.1 A6.1 "${equivariant[@]}" --seeds 10 --steps 150000 --out runs/starts
