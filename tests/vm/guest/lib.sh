# What the scenarios share. Each runs as `sh -eu` in an empty folder of its own; the first command that
# fails ends it, and the trap below leaves the next scenario a machine without server or device.

server=   # the server's process id, while it runs
upstream= # that of the server behind it
load=     # that of a program in the background

clean_up() {
    status=$?
    nbd-client -d /dev/nbd0 >/dev/null 2>&1 || true
    for process in $load $server $upstream; do kill -9 "$process" 2>/dev/null || true; done
    [ $status -eq 0 ] || [ ! -f server.log ] || sed 's/^/server: /' server.log
}
trap clean_up EXIT
trap 'fail "not done in time"' TERM

fail() {
    echo "$*"
    exit 1
}

# What the kernel says of the disk: `disk size`, `disk queue/fua`, `disk stat`.
disk() {
    cat "/sys/block/nbd0/$1"
}

# same WHAT GOT WANTED
same() {
    [ "$2" = "$3" ] || fail "$1: is $2, should be $3"
}

# within SECONDS COMMAND...: waits until the command succeeds.
within() {
    deadline=$(($(date +%s) + $1))
    shift
    until "$@"; do
        [ "$(date +%s)" -le "$deadline" ] || fail "not in time: $*"
        usleep 50000
    done
}

# forget FILE...: before a program in the background writes to them. Its shell empties them, but perhaps not before
# somebody looks for its words, and finds those of the program before it.
forget() {
    for file in "$@"; do : >"$file"; done
}

# serve ARGUMENT...: starts the server; once it says that it serves, $device is the name of the kstat
# and $uri where the export is.
serve() {
    forget server.log
    blkscope serve "$@" >server.log 2>&1 &
    server=$!
    within 60 serves
    device=$(sed -n 's/^\(nbd[0-9]*\) nbd.*/\1/p' server.log)
    uri=$(sed -n 's/^nbd[0-9]* \(nbd.*\)/\1/p' server.log)
}

serves() {
    ! ended "$server" || fail "the server ended"
    grep -q '^nbd[0-9]* nbd' server.log
}

# Its process is there no more, or a zombie that waits for us.
ended() {
    ! grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status" 2>/dev/null
}

# stop_server: as an operator would. It must go in good order.
stop_server() {
    kill "$server"
    wait "$server" || fail "the server's exit status is $?"
    server=
}

attached() {
    nbd-client -c /dev/nbd0 >/dev/null && [ "$(disk size)" -gt 0 ]
}

detached() {
    ! nbd-client -c /dev/nbd0 >/dev/null
}

# attach ARGUMENT...: nbd-client, from where to /dev/nbd0; options behind.
attach() {
    nbd-client "$@" >client.log 2>&1 || fail "nbd-client: $(cat client.log)"
    within 60 attached
}

detach() {
    nbd-client -d /dev/nbd0 >/dev/null
    within 60 detached
}

# `kernel N FILE`: the Nth of the kernel's 17 counters (its iostats.rst), in a copy of them.
kernel() {
    awk -v n="$1" '{ print $n }' "$2"
}

# Files of many sizes in a folder, their sums here; and the check of them.
write_files() {
    i=0
    while [ $i -lt 20 ]; do
        dd if=/dev/urandom of="$1/file$i" bs=$((1000 + 7919 * i)) count=3 2>/dev/null
        i=$((i + 1))
    done
    mkdir "$1/folder"
    cp /usr/bin/busybox "$1/folder/"
    (cd "$1" && sha256sum file* folder/*) >sums
}

check_files() {
    (cd "$1" && sha256sum -c -s "$OLDPWD/sums")
}

# A filesystem on /dev/nbd0, as a user would: make, fill, unmount, check, mount again, compare.
try_filesystem() {
    mkfs.ext4 -q -F -b 4096 /dev/nbd0
    mount -t ext4 /dev/nbd0 /mnt
    write_files /mnt
    sync
    umount /mnt
    fsck.ext4 -fn /dev/nbd0 >fsck.log 2>&1 || fail "fsck: $(cat fsck.log)"
    mount -t ext4 -o ro /dev/nbd0 /mnt
    check_files /mnt || { umount /mnt; fail "a file is not what was written"; }
    umount /mnt
}

# A value in a copy of a kstat: `kstat NAME.io nread`, `kstat NAME.cmds flush_requests`.
kstat() {
    sed -n "s/^$2=//p" "$1"
}

# snapshot NAME: once nothing is under way any more, the counters of both sides in NAME.kernel (see
# `kernel`), NAME.io, NAME.cmds and NAME.devstat.
snapshot() {
    within 60 is_quiet "$1"
    disk stat >"$1.kernel"
    kstat-io nbd "${device#nbd}" "$device,cmds" >"$1.cmds"
    devstat-io "$device" >"$1.devstat"
}

# The kernel first: with nothing under way there, nothing comes to us after this look.
is_quiet() {
    [ "$(disk inflight | awk '{ print $1 + $2 }')" -eq 0 ] || return 1
    kstat-io nbd "${device#nbd}" "$device" >"$1.io"
    [ "$(kstat "$1.io" wcnt)" -eq 0 ] && [ "$(kstat "$1.io" rcnt)" -eq 0 ]
}

# How much a counter grew from one snapshot to another: `kernel_grew A B N`, `kstat_grew A B KIND FIELD`.
kernel_grew() {
    echo $(($(kernel "$3" "$2.kernel") - $(kernel "$3" "$1.kernel")))
}

kstat_grew() {
    echo $(($(kstat "$2.$3" "$4") - $(kstat "$1.$3" "$4")))
}

# ---- Loss of power ----

# How often a scenario lets the disk lose its power.
crashes=${crashes:-10}

# make_crash_disk: an image with a filesystem, and with nothing in a cache.
make_crash_disk() {
    rm -f disk.img
    truncate -s 32M disk.img
    mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 disk.img
}

# serve_crash_disk SPEC: the disk with a crash cache, attached. Through the ioctls, the kernel gives the
# disk up as soon as its connection is closed.
serve_crash_disk() {
    serve disk.img --unix "$PWD/socket" --crash-cache "$1" --seed 1
    attach -L -unix "$PWD/socket" /dev/nbd0 -N disk.img
}

# has_lines N FILE
has_lines() {
    [ "$(wc -l <"$2")" -ge "$1" ]
}

# lose_power: the machine's power goes as well as the disk's. So the kernel must forget what it has of
# the disk, and the disk is unmounted, given up and attached again.
lose_power() {
    blkscope crash "$device" >>crashed
    within 60 ended "$load"
    wait "$load" || true  # its disk is no more
    load=
    umount /mnt
    within 60 detached
    attach -L -unix "$PWD/socket" /dev/nbd0 -N disk.img
}

# The blocks with writes in the cache that all losses of power have met.
blocks_met() {
    awk '{ blocks += $4 } END { print blocks }' crashed
}

# stop_crash_disk: in good order, whatever the scenario has left mounted.
stop_crash_disk() {
    umount /mnt 2>/dev/null || true
    detach
    stop_server
}

# crash_until_lost SPEC N: N crashes at most of a disk with this cache. `is_lost` says whether `whole`
# found a loss, of which the file `found` tells. No condition calls this function, so that each other
# failure ends the scenario.
crash_until_lost() {
    make_crash_disk
    : >log
    serve_crash_disk "$1"
    crash=0
    is_lost=
    while [ -z "$is_lost" ] && [ $crash -lt "$2" ]; do
        crash=$((crash + 1))
        crash_under_load
        : >found
        whole || is_lost=yes
    done
}

# crash_true_disk WHAT: nothing is ever lost. WHAT names the lines of `log`.
crash_true_disk() {
    crash_until_lost 16M "$crashes"
    [ -z "$is_lost" ] || fail "crash $crash: $(lost); $(cat found)"
    stop_crash_disk
    met=$(blocks_met)
    echo "$crash crashes, $(wc -l <log) $1; $met blocks in the cache"
    [ "$met" -gt 0 ] || fail "no crash has met a write in the cache"
}

# crash_lying_disk: after some crashes something is lost.
crash_lying_disk() {
    crash_until_lost 16M,ignore-flush 20
    [ -n "$is_lost" ] || fail "a disk that lies has lost nothing"
    echo "a disk that lies: loss after $crash crashes: $(lost)"
    stop_crash_disk
}
