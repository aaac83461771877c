# One connection over TCP, set up through the ioctls of old: a client process stays in NBD_DO_IT while
# the disk is attached, and asks for the export with GO first and with EXPORT_NAME then.
. /scenarios/lib.sh

serve memory:64M --port 0
port=$(echo "$uri" | sed 's/.*:\([0-9]*\)\/.*/\1/')

attach -L 127.0.0.1 "$port" /dev/nbd0 -N memory
same "write cache" "$(disk queue/write_cache)" "write back"
try_filesystem
detach

attach -L 127.0.0.1 "$port" /dev/nbd0 -g -N memory
same "size in sectors" "$(disk size)" 131072
same "write cache" "$(disk queue/write_cache)" "write back"
mount -t ext4 -o ro /dev/nbd0 /mnt
check_files /mnt || { umount /mnt; fail "a file is not what was written"; }
umount /mnt
detach
stop_server
