# One connection over a Unix socket, set up through netlink (nbd-client's own choice): the kernel takes
# the flags as we mean them, and a filesystem on the disk keeps what it was given.
. /scenarios/lib.sh

truncate -s 64M disk.img
serve disk.img --unix "$PWD/socket"
attach -unix "$PWD/socket" /dev/nbd0 -N disk.img

same "size in sectors" "$(disk size)" 131072
same "read only" "$(disk ro)" 0
same "write cache" "$(disk queue/write_cache)" "write back"
same "fua" "$(disk queue/fua)" 1
same "logical block size" "$(disk queue/logical_block_size)" 512
[ "$(disk queue/discard_max_bytes)" -gt 0 ] || fail "no discard"

try_filesystem
detach
nbd-client -c /dev/nbd0 && fail "still attached"

# A second client of the same server reads what the first wrote.
attach -unix "$PWD/socket" /dev/nbd0 -N disk.img -b 4096
same "logical block size" "$(disk queue/logical_block_size)" 4096
mount -t ext4 -o ro /dev/nbd0 /mnt
check_files /mnt || { umount /mnt; fail "a file is not what was written"; }
umount /mnt
detach
stop_server
