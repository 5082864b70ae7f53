#!/usr/bin/env bash
# The measurer of `nodrop search --stdio`, in bash alone: examples/search/measurer.sh [OPTIONS OF nodrop search]
# Your tester goes into `counts`; this one stands for a forwarder of 1.3 Mpps, and needs no time.
set -euo pipefail
export LC_ALL=C
capacity_pps=1300000

# counts MS: what was sent and lost in so many milliseconds at $load frames per second.
counts() {
    local sent=$((load * $1 / 1000)) forwarded=$((capacity_pps * $1 / 1000))
    printf '"elapsed": %de-3, "sent": %d, "lost": %d' "$1" "$sent" $((sent > forwarded ? sent - forwarded : 0))
}

coproc nodrop search --stdio "$@"
search=$COPROC_PID
exec {from}<&"${COPROC[0]}" {to}>&"${COPROC[1]}"
say() { printf '%s\n' "$1" >&"$to"; }
hear() { IFS= read -r line <&"$from"; }

# number NAME [e3]: a number of the line heard, whole; e3 makes seconds milliseconds.
number() {
    [[ $line =~ \"$1\":\ *([-+.0-9e]+) ]]
    printf '%.0f' "${BASH_REMATCH[1]}${2-}"
}

say '{"params": {"max_load": 10e6, "min_load": 10e3, "ratios": [0.0, 0.005], "final_trial_duration": 5.0}}'
while hear; do
    case $line in
    '{"measure"'* | '{"stream"'*)
        load=$(number load) end=$(number duration e3) at=0
        if [[ $line == '{"stream"'* ]]; then
            step=$(number step e3)
            while (((at += step) < end)); do
                say "{\"progress\": {$(counts "$at")}}"
                hear
                [[ $line != *true* ]] || break
            done
        fi
        # The whole number of frames per second is this tester's load: what it did not send was not intended.
        ((at = at > 0 && at < end ? at : end))
        say "{\"trial\": {$(counts "$at"), \"intended\": $((load * at / 1000))}}"
        ;;
    *) printf '%s\n' "$line" ;; # result or failed, the last line there is
    esac
done
wait "$search"
