#!/usr/bin/env bash
# Brings what queue.sh has finished here: summaries, table.csv, the tables of the pages, and figures: bash results/harvest.sh
# What is finished here already stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
. results/runs.sh
mkdir -p "$RUNS"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The last folders of a run are scenario/method/seed-n, those before them say what it is for; the table's stand on top.
find "$RUNS" -name run.json -not -path "*.copy/*" | sort | while read -r record; do
    run=$(dirname "$record")
    place=${run#"$RUNS"/}
    place=results/${place#table/}
    finished "$run" && ! finished "$place" || continue
    case $place in results/starts/*)
        # What a start is judged by, return and length of its episodes and its noise, a summary does not hold.
        [ -e results/starts.csv ] || echo "run,status,steps,episode_return,episode_length,std" > results/starts.csv
        status=$(sed -nE 's/.*"status": "(\w+)".*/\1/p' "$record")
        row=$(tail -n 1 "$run/progress.csv" | awk -F, -v run="${place#results/starts/}" -v status="$status" \
            -v OFS=, '{ print run, status, $2, $3, $4, $NF }')
        grep -qxF "$row" results/starts.csv || echo "$row" >> results/starts.csv ;;
    esac
    rm -rf "$place" # of a training that was cut off
    ambidex report "$run" --out "$scratch/page.html" --summaries "${place%/*/*/*}" > /dev/null
    echo "$place"
done

ambidex report results/A?.?/equivariant --out "$scratch/page.html" --table results/table.csv > /dev/null
# The table's rows as a page has them; apart from them the two robots that are as in the paper's experiments.
rows() { ambidex report "${@:2}" --out "$scratch/page.html" --table "$scratch/page.md" > /dev/null && grep "^|" "$scratch/page.md" > "$scratch/$1.md"; }
rows table results/A?.?/equivariant
rows experiments results/A?.?-authors/equivariant
python results/families.py --out results/families/families.png > "$scratch/families.md"
python results/families.py --sum > "$scratch/sum.md"

# A page says by comments where a table begins and ends.
fill() {
    awk -v table="$2" -v rows="$scratch/$2.md" '
        $0 == "<!-- end of " table " -->" { inside = 0 }
        !inside { print }
        $0 == "<!-- " table " -->" { inside = 1; print ""; while ((getline row < rows) > 0) print row; print "" }' "$1" > "$scratch/filled.md"
    cp "$scratch/filled.md" "$1"
}
fill results/README.md table
fill results/README.md experiments
fill results/README.md families
fill README.md sum
ambidex report results/A?.? --out results/report.html > /dev/null
python docs/images/table.py

# From the runs themselves: of how the fit followed the motor, a summary has the end only.
wear=("$RUNS"/wear/{fit,short-memory,no-fit}/A1.1-wear/equivariant/seed-0)
if finished "${wear[0]}" && finished "${wear[1]}" && finished "${wear[2]}"; then python results/wear.py "${wear[@]}" --out results/wear.png; fi
