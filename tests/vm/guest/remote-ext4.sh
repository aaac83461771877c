# The export of a server outside the machine, $remote, is the kernel's disk and has a filesystem. tests/vm/ceph
# then looks at the image of the server.
. /scenarios/lib.sh

if [ -z "${remote:-}" ]; then
    echo "no server outside the machine"
    exit
fi
modprobe virtio_pci
modprobe virtio_net
within 60 test -e /sys/class/net/eth0
ip link set eth0 up
ip address add 10.0.2.15/24 dev eth0
blkscope attach "$remote" /dev/nbd0
same "write cache" "$(disk queue/write_cache)" "write back"
# Eight at once to a device that takes one.
fio --eta=never --name=load --filename=/dev/nbd0 --direct=1 --ioengine=libaio --rw=randrw --bs=4k --size=16M \
    --iodepth=8 --time_based --runtime=2 --output=fio.log || fail "fio: $(cat fio.log)"
try_filesystem

# The sums are in the filesystem, too. Another program can compare them.
mount -t ext4 /dev/nbd0 /mnt
cp sums /mnt/
rm /mnt/file3
fstrim /mnt
sync
umount /mnt
blkscope detach /dev/nbd0
