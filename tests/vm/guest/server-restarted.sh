# The server goes and comes back while a filesystem on its disk is mounted: a device that was attached
# with --persist is connected again, and nothing that was written is lost. A device in use is not
# detached, and an export that is read-only now is not connected.
. /scenarios/lib.sh

connections() {
    kstat-io nbd "${device#nbd}" "$device,cmds" 2>/dev/null | sed -n 's/^connections=//p'
}

connected_again() {
    [ "$(connections)" = 1 ] && [ "$(disk size)" -gt 0 ]
}

# It must fail, in one line that says why.
busy() {
    if blkscope detach /dev/nbd0 2>refusal; then fail "detached although it is in use"; fi
    same "lines on standard error" "$(wc -l <refusal)" 1
    grep -q "in use: $1" refusal || fail "no '$1' in: $(cat refusal)"
}

truncate -s 64M disk.img
serve disk.img --unix "$PWD/socket"
forget keeper.log
blkscope attach "$uri" /dev/nbd0 --persist >keeper.log 2>&1 &
keeper=$!
within 60 grep -q '^/dev/nbd0 attached$' keeper.log
mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 /dev/nbd0
mount -t ext4 -o noatime /dev/nbd0 /mnt
write_files /mnt
sync
busy "mounted on /mnt"

# In good order, and then not.
for how in TERM KILL; do
    kill -$how "$server"
    wait "$server" || [ $how = KILL ] || fail "the server's exit status is $?"
    # What is written without a server waits for it.
    cp /usr/bin/busybox "/mnt/before-$how"
    sync &
    waits=$!
    serve disk.img --unix "$PWD/socket"
    within 60 connected_again
    wait $waits
    sysctl -q vm.drop_caches=3
    check_files /mnt || fail "after $how: a file is not what was written"
    cp /usr/bin/busybox "/mnt/after-$how"
    sync
done

sysctl -q vm.drop_caches=3
for how in TERM KILL; do
    for when in before after; do
        cmp /usr/bin/busybox "/mnt/$when-$how" || fail "$when-$how is not what was written"
    done
done
umount /mnt
exec 9</dev/nbd0
busy "open in process"
exec 9<&-
fsck.ext4 -fn /dev/nbd0 >fsck.log 2>&1 || fail "fsck: $(cat fsck.log)"
blkscope detach /dev/nbd0
# Nobody is left who would connect again.
wait $keeper || fail "the keeper's exit status is $?: $(cat keeper.log)"

# An export that comes back read-only is not the one that was attached.
forget keeper.log
blkscope attach "$uri" /dev/nbd0 --persist >keeper.log 2>&1 &
keeper=$!
within 60 grep -q '^/dev/nbd0 attached$' keeper.log
stop_server
serve disk.img --read-only --unix "$PWD/socket"
status=0
wait $keeper || status=$?
same "the keeper's exit status" $status 1
grep -q 'the export is read-only now, .*; detach it and attach it again$' keeper.log || fail "$(cat keeper.log)"
blkscope detach /dev/nbd0
stop_server
