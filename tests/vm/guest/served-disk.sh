# A disk that is mounted is not served writable, nor is a file that a loop device writes to; and a disk
# that is served is not mounted.
. /scenarios/lib.sh

# refused WHY ARGUMENT...: the server must end with one line that says this.
refused() {
    why=$1
    shift
    status=0
    blkscope serve "$@" --unix "$PWD/socket" >refusal 2>&1 || status=$?
    same "exit status of serve $*" $status 1
    same "lines that it said" "$(wc -l <refusal)" 1
    grep -q "^blkscope: open .*: it is in use: $why; .*--force-shared\$" refusal ||
        fail "not '$why': $(cat refusal)"
}

modprobe loop
truncate -s 32M disk.img
losetup /dev/loop0 disk.img
mkfs.ext4 -q -F /dev/loop0
mount -t ext4 /dev/loop0 /mnt

refused "mounted on /mnt" /dev/loop0
refused "the file of /dev/loop0" disk.img
serve /dev/loop0 --unix "$PWD/socket" --read-only
stop_server
serve disk.img --unix "$PWD/socket" --read-only
stop_server
serve /dev/loop0 --unix "$PWD/socket" --force-shared
stop_server
umount /mnt

serve /dev/loop0 --unix "$PWD/socket"
mount -t ext4 /dev/loop0 /mnt 2>/dev/null && fail "a disk that is served was mounted"
refused "open in process $server (blkscope)" /dev/loop0
stop_server
mount -t ext4 /dev/loop0 /mnt
umount /mnt
losetup -d /dev/loop0
# A disk that somebody still has open stays until that is over.
if losetup /dev/loop0 2>/dev/null; then fail "a server that has ended has the disk open"; fi

serve disk.img --unix "$PWD/socket"
stop_server
