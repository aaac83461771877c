# Several connections: the kernel spreads its queues (one per processor, two here) over them, and what
# is written on one is read on another.
. /scenarios/lib.sh

serve memory:64M --unix "$PWD/socket"
# nbd-client alone may leave connections that the kernel does not read: driver/attach/receivers.hpp.
blkscope attach "$uri" /dev/nbd0 --connections 4
same "threads that read replies" "$(cat /proc/[0-9]*/comm | grep -c '+nbd0-recv')" 4
same "queues" "$(echo /sys/block/nbd0/mq/*)" "/sys/block/nbd0/mq/0 /sys/block/nbd0/mq/1"

fio --eta=never --name=v --filename=/dev/nbd0 --direct=1 --ioengine=libaio --rw=randrw --bsrange=512-64k \
    --iodepth=16 --numjobs=2 --size=8M --offset_increment=32M --verify=crc32c --do_verify=1 \
    --output=fio.log || fail "fio: $(cat fio.log)"

# All connections are one client.
same "connections of each client" "$(blkscope clients --interval 0 | awk 'NR > 1 { print $3 }')" 4

# A flush on one connection covers the writes of all; a discarded range is still there to be used.
dd if=/usr/bin/busybox of=/dev/nbd0 bs=64k conv=fsync 2>/dev/null
blkdiscard -o 32M -l 16M /dev/nbd0
size=$(stat -c %s /usr/bin/busybox)
sysctl -q vm.drop_caches=3
head -c "$size" /dev/nbd0 | cmp - /usr/bin/busybox || fail "not what was written"

detach
stop_server
