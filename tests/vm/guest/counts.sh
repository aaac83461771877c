# Our kstats against the kernel's own counters of /dev/nbd0, from quiet to quiet: what the kernel sent
# to its driver is what we counted, to the request and to the byte.
. /scenarios/lib.sh

# A depth below the load's, so that requests wait with us and not only in the kernel.
serve memory:64M --unix "$PWD/socket" --queue-depth 4
attach -unix "$PWD/socket" /dev/nbd0 -N memory

# agree A B: all that both sides count, between two snapshots.
agree() {
    same "reads" "$(kstat_grew "$1" "$2" io reads)" "$(kernel_grew "$1" "$2" 1)"
    same "bytes read" "$(kstat_grew "$1" "$2" io nread)" $((512 * $(kernel_grew "$1" "$2" 3)))
    same "bytes written" "$(kstat_grew "$1" "$2" io nwritten)" $((512 * $(kernel_grew "$1" "$2" 7)))
    same "discards" "$(kstat_grew "$1" "$2" cmds trim_requests)" "$(kernel_grew "$1" "$2" 12)"
    same "bytes discarded" "$(kstat_grew "$1" "$2" cmds trim_bytes)" \
        $((512 * $(kernel_grew "$1" "$2" 14)))
    flushes=$(kernel_grew "$1" "$2" 16)
    same "flushes" "$(kstat_grew "$1" "$2" cmds flush_requests)" "$flushes"
    # 6.1 also counts the empty request that carries an fsync's flush among its writes (measured here:
    # one write of 4 KiB and one fsync are two writes of 8 sectors together).
    same "writes" "$(kstat_grew "$1" "$2" io writes)" $(($(kernel_grew "$1" "$2" 5) - flushes))
    agree_with_devstat "$1" "$2"
    same "errors" "$(sed -n 's/.*_errors=//p' "$2.cmds" | sort -u)" 0
    contained "$1" "$2"
}

# The same run in FreeBSD's form: the third of the readings.
agree_with_devstat() {
    for kind in read write; do
        same "devstat's ${kind}s" "$(kstat_grew "$1" "$2" devstat ${kind}_operations)" \
            "$(kstat_grew "$1" "$2" io ${kind}s)"
    done
    same "devstat's bytes read" "$(kstat_grew "$1" "$2" devstat read_bytes)" "$(kstat_grew "$1" "$2" io nread)"
    same "devstat's bytes written" "$(kstat_grew "$1" "$2" devstat write_bytes)" \
        "$(kstat_grew "$1" "$2" io nwritten)"
    same "devstat's discards" "$(kstat_grew "$1" "$2" devstat free_operations)" "$(kernel_grew "$1" "$2" 12)"
    same "devstat's bytes discarded" "$(kstat_grew "$1" "$2" devstat free_bytes)" \
        $((512 * $(kernel_grew "$1" "$2" 14)))
    same "devstat's others" "$(kstat_grew "$1" "$2" devstat other_operations)" "$(kernel_grew "$1" "$2" 16)"
    same "devstat's in flight" "$(kstat "$2.devstat" in_flight)" 0
    stays=$(($(kstat_grew "$1" "$2" devstat read_duration) + $(kstat_grew "$1" "$2" devstat write_duration)))
    apart=$((stays - $(kstat_grew "$1" "$2" io wlentime) - $(kstat_grew "$1" "$2" io rlentime)))
    # Each of the eight numbers is rounded to a nanosecond.
    [ ${apart#-} -le 8 ] || fail "$1 to $2: devstat's durations are $apart ns off the kstat's"
}

# A request's stay with us lies within its stay with the kernel, whose two counters are cut to whole
# milliseconds.
contained() {
    ours=$(($(kstat_grew "$1" "$2" io wlentime) + $(kstat_grew "$1" "$2" io rlentime)))
    kernels=$((1000000 * ($(kernel_grew "$1" "$2" 4) + $(kernel_grew "$1" "$2" 8) + 2)))
    [ $ours -le $kernels ] || fail "$1 to $2: $ours ns with us, only $kernels ns with the kernel"
    echo "$1 to $2: $ours ns with us, $kernels ns with the kernel"
}

snapshot attached
same "connections" "$(kstat attached.cmds connections)" 1

fio --eta=never --name=mixed --filename=/dev/nbd0 --direct=1 --ioengine=libaio --rw=randrw --bs=4k --size=64M \
    --iodepth=32 --number_ios=2000 --output=fio.log || fail "fio: $(cat fio.log)"
snapshot mixed
agree attached mixed
operations=$(($(kstat_grew attached mixed io reads) + $(kstat_grew attached mixed io writes)))
[ $operations -ge 2000 ] || fail "only $operations operations of 2000"
[ "$(kstat_grew attached mixed io wlentime)" -gt 0 ] || fail "nothing waited"

# Small writes that the kernel merges, one flush, and reads larger than a request may be.
dd if=/dev/zero of=/dev/nbd0 bs=4k count=2048 conv=fsync 2>/dev/null
dd if=/dev/nbd0 of=/dev/null bs=1M count=8 iflag=direct 2>/dev/null
snapshot merged
agree mixed merged
same "flushes" "$(kernel_grew mixed merged 16)" 1
[ "$(kernel_grew mixed merged 6)" -gt 0 ] || fail "the kernel merged nothing"

blkdiscard -o 16M -l 32M /dev/nbd0
snapshot discarded
agree merged discarded
same "bytes discarded" "$(kstat_grew merged discarded cmds trim_bytes)" $((32 << 20))

# Writes and flushes one after the other, as a database's log makes them.
fio --eta=never --name=log --filename=/dev/nbd0 --direct=1 --ioengine=libaio --rw=write --bs=8k --size=1M \
    --fsync=8 --output=fio.log || fail "fio: $(cat fio.log)"
snapshot logged
agree discarded logged
[ "$(kernel_grew discarded logged 16)" -gt 10 ] || fail "hardly a flush"

detach
stop_server
