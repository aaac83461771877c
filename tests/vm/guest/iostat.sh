# Our iostat beside sysstat's, over the same load from before its begin until after its end. Ours reads
# the server's kstats, the other one the kernel's counters.
. /scenarios/lib.sh

readonly interval=2 reports=6 # seconds, and how often

# total REPORTS COLUMN WEIGHTS: sums over the reports of a column, each weighted by the sum of the
# columns WEIGHTS (none: 1).
total() {
    awk -v column="$2" -v weights="$3" '
        BEGIN { n = split(weights, weight) }
        { w = n == 0; for (i = 1; i <= n; ++i) w += $weight[i]; sum += w * $column }
        END { printf "%.3f\n", sum }' "$1"
}

# sum REPORTS COLUMN: what a column of rates counted.
sum() {
    awk -v sum="$(total "$1" "$2" "")" -v interval=$interval 'BEGIN { print sum * interval }'
}

# near WHAT GOT WANTED PERCENT
near() {
    echo "$1: $2, $3"
    awk -v a="$2" -v b="$3" -v p="$4" 'BEGIN { exit !(b > 0 && a >= b * (1 - p / 100) && a <= b * (1 + p / 100)) }' ||
        { echo "$1: $2 is not within $4 % of $3" && return 1; }
}

truncate -s 64M disk.img
serve disk.img --unix "$PWD/socket" --queue-depth 1
attach -unix "$PWD/socket" /dev/nbd0 -N disk.img
# Something for the first report, which covers the time since the kstat's creation.
dd if=/dev/nbd0 of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null

# start_load: a load that is ready, and begins once it may read the FIFO `go`. Sixteen at once to a device that
# takes one: they wait with us, and wsvc_t has something to show.
start_load() {
    rm -f ready go
    mkfifo go
    fio --eta=never --name=mixed --filename=/dev/nbd0 --direct=1 --ioengine=libaio --rw=randrw \
        --bsrange=4k-16k --size=64M --iodepth=16 --iodepth_batch=16 --iodepth_batch_complete_min=16 \
        --rate_iops=100,100 --time_based --runtime=3 --exec_prerun="touch ready && cat go" --output=fio.log &
    load=$!
    within 60 test -f ready
}

# A program's first look may come late, and its first interval is then shorter.
first_interval_is_over() {
    for log in ours.log counts.log; do
        [ "$(grep -c " $device\$" $log)" -ge 2 ] || return 1
    done
    test -s theirs.log
}

# measure: the reports of a load, as `theirs`, `ours` and `counts`, and its requests, as `reads` and `writes`.
# fio needs seconds to start where the processor is busy, so it is ready before the programs look.
measure() {
    forget theirs.log ours.log counts.log
    start_load
    snapshot before
    S_COLORS=never iostat.sysstat -y -x nbd0 $interval $reports >theirs.log &
    theirs=$!
    iostat -xn "$device" $interval $((reports + 1)) >ours.log &
    ours=$!
    iostat -xnI "$device" $interval $((reports + 1)) >counts.log &
    counts=$!
    within 60 first_interval_is_over
    echo >go
    wait $load || fail "fio: $(cat fio.log)"
    load=
    snapshot after
    { wait $theirs && wait $ours && wait $counts; } || fail "an iostat failed: $(cat ours.log counts.log)"
    grep '^nbd0 ' theirs.log >theirs || true
    grep " $device\$" ours.log | tail -n +2 >ours || true
    grep " $device\$" counts.log >counts || true
    same "reports of theirs" "$(wc -l <theirs)" $reports
    same "reports of ours" "$(wc -l <ours)" $reports
    same "reports of counts" "$(wc -l <counts)" $((reports + 1))
    reads=$(kstat_grew before after io reads)
    writes=$(kstat_grew before after io writes)
}

# rates_agree: the sum of a rate over all reports, times their interval, is what there was. A report may come
# late, and then its interval is not the one that we take it for: 10 % leaves room for that under emulation, and
# none for a wrong column.
rates_agree() {
    near "r/s" "$(sum ours 1)" "$reads" 10 &&
        near "r/s of sysstat" "$(sum theirs 2)" "$reads" 10 &&
        near "w/s" "$(sum ours 2)" "$writes" 10 &&
        near "w/s of sysstat" "$(sum theirs 8)" "$writes" 10 &&
        near "kr/s and rkB/s" "$(total ours 3 "")" "$(total theirs 3 "")" 10 &&
        near "kw/s and wkB/s" "$(total ours 4 "")" "$(total theirs 9 "")" 10
}

# On a busy machine more reports come late. A wrong column is wrong each time.
tries=0
agreed=
while [ -z "$agreed" ]; do
    tries=$((tries + 1))
    [ $tries -le 3 ] || fail "the rates agree in none of three tries"
    measure
    if rates_agree; then agreed=yes; fi
done

# Counts are exact: the first report is all until then, all reports together are all there was.
same "reads before" "$(head -n 1 counts | total - 1 "")" "$(kstat before.io reads).000"
same "reads" "$(total counts 1 "")" "$(kstat after.io reads).000"
same "writes" "$(total counts 2 "")" "$(kstat after.io writes).000"

# Times, as means over all requests since the first report. A column is rounded to 0.05 ms.
tail -n +2 counts >later
mean() {
    awk -v total="$1" -v ops=$((reads + writes)) 'BEGIN { printf "%.3f\n", total / ops }'
}

# at_most WHAT SMALLER LARGER SLACK
at_most() {
    echo "$1: $2, $3"
    awk -v a="$2" -v b="$3" -v slack="$4" 'BEGIN { exit !(a <= b + slack) }' ||
        fail "$1: $2 is more than $3"
}

wsvc_t=$(mean "$(total later 7 "1 2")")
asvc_t=$(mean "$(total later 8 "1 2")")
waited=$(mean "$(kstat_grew before after io wlentime)e-6")
served=$(mean "$(kstat_grew before after io rlentime)e-6")
at_most "wsvc_t and the kstat's" "$wsvc_t" "$waited" 0.06
at_most "the kstat's and wsvc_t" "$waited" "$wsvc_t" 0.06
at_most "asvc_t and the kstat's" "$asvc_t" "$served" 0.06
at_most "the kstat's and asvc_t" "$served" "$asvc_t" 0.06

# The kernel's await holds our stay. Its rates are off by up to the same 10 %, and its counters are cut
# to milliseconds.
await=$(mean "$(awk -v r="$(total theirs 6 2)" -v w="$(total theirs 12 8)" 'BEGIN { print r + w }')")
ours=$(awk -v w="$wsvc_t" -v r="$asvc_t" 'BEGIN { print w + r }')
at_most "wsvc_t + asvc_t and await" "$ours" "$await" "$(awk -v a="$await" 'BEGIN { print a / 10 + 0.2 }')"

detach
stop_server
