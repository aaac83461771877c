# A disk that discards and cannot write zeroes, which Debian 12's nbd is: a trim of its export arrives there. A disk
# that cannot discard has an export that offers no trim.
. /scenarios/lib.sh

blkscope serve memory:64M --unix "$PWD/below" >below.log 2>&1 &
upstream=$!
within 60 grep -q '^nbd' below.log
below=$(sed -n 's/^\(nbd[0-9]*\) nbd.*/\1/p' below.log)
blkscope attach "$(sed -n 's/^nbd[0-9]* \(nbd.*\)/\1/p' below.log)" /dev/nbd0
trimmed() { kstat-io nbd "${below#nbd}" "$below,cmds" | sed -n 's/^trim_bytes=//p'; }

serve /dev/nbd0 --unix "$PWD/socket"
blkscope attach "$uri" /dev/nbd1
blkdiscard -o 4194304 -l 4194304 /dev/nbd1
same "bytes that were trimmed at the disk" "$(trimmed)" 4194304
blkscope detach /dev/nbd1
stop_server
blkscope detach /dev/nbd0
kill "$upstream"
wait "$upstream"
upstream=

modprobe loop
truncate -s 16M disk.img
losetup /dev/loop0 disk.img
if echo 0 >/sys/block/loop0/queue/discard_max_bytes; then
    serve /dev/loop0 --unix "$PWD/socket"
    blkscope attach "$uri" /dev/nbd1
    same "bytes of the largest discard" "$(cat /sys/block/nbd1/queue/discard_max_bytes)" 0
    blkscope detach /dev/nbd1
    stop_server
fi
losetup -d /dev/loop0
