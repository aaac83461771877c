# Exports at the edge of what a disk can be: one that nobody may write, those that end in the middle of a page, of
# a block and of a sector, and one that is smaller than a sector.
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

# cut BYTES SAID ARGUMENT...: an export of so many bytes is attached, and what is said of its last ones is SAID.
cut() {
    bytes=$1
    line=$2
    shift 2
    serve memory:"$bytes" --unix "$PWD/socket"
    blkscope attach "$uri" /dev/nbd0 "$@" 2>said || fail "$(cat said)"
    same "what is said of $bytes bytes" "$(cat said)" "${line:+blkscope: attach /dev/nbd0: }$line"
    same "size of the disk" $(($(disk size) * 512)) $((bytes / 512 * 512))
    detach
    stop_server
}

lacks300="the disk ends after 1048576 of the export's 1048876 bytes: the kernel uses whole sectors, and not the last 300 bytes"
cut 1048576 ""
cut 1048876 "$lacks300"
cut 1048876 "$lacks300" --connections 2
cut 1049088 ""
cut 1049088 "the disk's last 512 bytes are not a whole block of 4096, and direct access does not reach them" --block-size 4096

serve memory:300 --unix "$PWD/socket"
blkscope attach "$uri" /dev/nbd0 2>said && fail "a disk of no size"
same "lines" "$(wc -l <said)" 1
grep -q "the disk ends after 0 of the export's 300 bytes" said || fail "$(cat said)"
within 60 detached
stop_server
