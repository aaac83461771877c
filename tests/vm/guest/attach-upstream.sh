# The kernel's disk is a server in front of another server. The other server is killed, and starts again, while a
# filesystem is mounted. Requests wait meanwhile, and nothing is lost.
. /scenarios/lib.sh

# Its statistics are elsewhere, so that those here are of the server in front.
start_upstream() {
    forget upstream.log
    KSTAT_DIR=$PWD/kstat blkscope serve disk.img --unix "$PWD/upstream" >upstream.log 2>&1 &
    upstream=$!
    within 60 grep -q '^nbd[0-9]* nbd' upstream.log
}

kill_upstream() {
    kill -9 "$upstream"
    wait "$upstream" || true
    upstream=
}

reconnects() {
    kstat-io nbd "${device#nbd}" "$device,upstream" | sed -n 's/^reconnects=//p'
}

# In a whole second the device is busy, and no request is done. Waits for the upstream are time of service.
requests_wait() {
    awk -v device="$device" '$NF == device && $1 + $2 == 0 && $6 >= 1 && $10 >= 99 { print; found = 1; exit }
        END { exit !found }' reports
}

truncate -s 64M disk.img
mkdir kstat
start_upstream
serve "nbd+unix:///disk.img?socket=$PWD/upstream" --unix "$PWD/socket"
blkscope attach "$uri" /dev/nbd0
same "size in sectors" "$(disk size)" 131072
same "write cache" "$(disk queue/write_cache)" "write back"
mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 /dev/nbd0
mount -t ext4 -o noatime /dev/nbd0 /mnt
write_files /mnt
sync
dd if=/dev/null of=/dev/nbd0 conv=notrunc,fsync 2>/dev/null # the metadata that sync writes behind its own flush
iostat -xn "$device" 1 >reports &
load=$!

# What is written without the upstream waits for it. All that was acknowledged is flushed, so that no sync fails.
before=$(reconnects) # more than none if the machine was too busy for an answer in time
kill_upstream
cp /usr/bin/busybox /mnt/without
sync &
waits=$!
within 60 requests_wait
ended $waits && fail "a sync has ended without the upstream"
start_upstream
wait $waits || fail "the sync has failed"
[ "$(reconnects)" -gt "$before" ] || fail "reconnects: is $(reconnects), should be more than $before"
cp /usr/bin/busybox /mnt/with
sync
umount /mnt
kill $load
wait $load || true
load=

fsck.ext4 -fn /dev/nbd0 >fsck.log 2>&1 || fail "fsck: $(cat fsck.log)"
sysctl -q vm.drop_caches=3
mount -t ext4 -o ro /dev/nbd0 /mnt
check_files /mnt || { umount /mnt; fail "a file is not what was written"; }
for when in without with; do
    cmp /usr/bin/busybox "/mnt/$when" || { umount /mnt; fail "the file $when is not what was written"; }
done
umount /mnt

# An acknowledged write that nobody has flushed may be lost with the upstream. The next sync says so, once.
dd if=/usr/bin/busybox of=/dev/nbd0 bs=4k count=1 oflag=direct 2>/dev/null
kill_upstream
start_upstream
dd if=/usr/bin/busybox of=/dev/nbd0 bs=4k count=1 conv=fsync 2>/dev/null && fail "a sync hides the loss"
dd if=/usr/bin/busybox of=/dev/nbd0 bs=4k count=1 conv=fsync 2>/dev/null || fail "the loss is told twice"
blkscope detach /dev/nbd0
within 60 detached
stop_server
