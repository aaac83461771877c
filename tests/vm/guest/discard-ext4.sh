# What a filesystem does not need any more is given back: with fstrim, and at once when it is mounted
# with discard, over several connections. What it needs stays.
. /scenarios/lib.sh

# The image's blocks of 512 bytes that are allocated.
allocated() {
    stat -c %b disk.img
}

fill_and_empty() {
    dd if=/dev/urandom of=/mnt/large bs=1M count=24 2>/dev/null
    sync
    full=$(allocated)
    [ "$full" -gt $((24 * 2048)) ] || fail "$full blocks for 24 MiB"
    rm /mnt/large
    sync
}

truncate -s 64M disk.img
serve disk.img --unix "$PWD/socket"
blkscope attach "$uri" /dev/nbd0 --connections 4 --block-size 4096
mkfs.ext4 -q -F -b 4096 /dev/nbd0
mount -t ext4 /dev/nbd0 /mnt
write_files /mnt
fill_and_empty
fstrim /mnt
[ "$(allocated)" -lt $((full - 20 * 2048)) ] || fail "fstrim: $(allocated) of $full blocks are left"
umount /mnt

mount -t ext4 -o discard /dev/nbd0 /mnt
fill_and_empty
# The journal discards when it commits.
freed() {
    sync
    [ "$(allocated)" -lt $((full - 20 * 2048)) ]
}
within 60 freed
umount /mnt
snapshot discarded
[ "$(kstat discarded.cmds trim_bytes)" -gt $((40 << 20)) ] || fail "hardly a trim"
same "errors" "$(sed -n 's/.*_errors=//p' discarded.cmds | sort -u)" 0

fsck.ext4 -fn /dev/nbd0 >fsck.log 2>&1 || fail "fsck: $(cat fsck.log)"
mount -t ext4 -o ro /dev/nbd0 /mnt
check_files /mnt || fail "a file is not what was written"
umount /mnt
blkscope detach /dev/nbd0
stop_server

# A disk behind the server. The server's page cache has data that is not written back to the disk.
modprobe loop
truncate -s 32M behind.img
losetup /dev/loop0 behind.img
serve /dev/loop0 --unix "$PWD/socket"
blkscope attach "$uri" /dev/nbd0
for how in "" --zeroout; do
    dd if=/dev/urandom of=/dev/nbd0 bs=1M count=4 oflag=direct 2>/dev/null
    # shellcheck disable=SC2086  # no word, or one
    /usr/bin/blkdiscard $how --offset 0 --length $((4 << 20)) /dev/nbd0 || fail "blkdiscard $how"
    [ "$(dd if=/dev/nbd0 bs=1M count=4 iflag=direct 2>/dev/null | tr -d '\0' | wc -c)" = 0 ] ||
        fail "blkdiscard $how: not all zeroes"
done
blkscope detach /dev/nbd0
stop_server
losetup -d /dev/loop0
