# Exports at the edge of what a disk can be: one that nobody may write, and one that ends in the middle
# of a page.
. /scenarios/lib.sh

truncate -s 16M disk.img
mkfs.ext4 -q -F -b 4096 disk.img
serve disk.img --unix "$PWD/socket" --read-only
attach -unix "$PWD/socket" /dev/nbd0 -N disk.img
same "read only" "$(disk ro)" 1
fsck.ext4 -fn /dev/nbd0 >fsck.log 2>&1 || fail "fsck: $(cat fsck.log)"
sum=$(sha256sum <disk.img)
dd if=/dev/zero of=/dev/nbd0 bs=4k count=1 conv=fsync 2>/dev/null && fail "written"
detach
stop_server
same "the file" "$(sha256sum <disk.img)" "$sum"

truncate -s $(((16 << 20) + 512)) odd.img
serve odd.img --unix "$PWD/socket"
attach -unix "$PWD/socket" /dev/nbd0 -N odd.img
same "size in sectors" "$(disk size)" 32769
head -c 512 /dev/urandom >sector
dd if=sector of=/dev/nbd0 bs=512 seek=32768 oflag=direct 2>/dev/null
dd if=/dev/nbd0 bs=512 skip=32768 iflag=direct 2>/dev/null | cmp - sector || fail "not what was written"
dd if=sector of=/dev/nbd0 bs=512 seek=32769 oflag=direct 2>/dev/null && fail "written behind the end"
detach
stop_server
same "size of the file" "$(stat -c %s odd.img)" $(((16 << 20) + 512))
tail -c 512 odd.img | cmp - sector || fail "the file does not end in what was written"
