# An ext4 loses its power again and again while files are synced on it: the journal repairs it, and each
# file that was synced is whole. On a disk that lies about flushes, the same test finds loss.
. /scenarios/lib.sh

# crash_under_load: power is lost after some more files were synced.
crash_under_load() {
    mount -t ext4 /dev/nbd0 /mnt
    synced=$(wc -l <log)
    synced-files write /mnt log 2>>load.log &
    load=$!
    within 60 has_lines $((synced + 5 + crash * 7 % 20)) log
    lose_power
}

# whole: the mount replays the journal.
whole() {
    mount -t ext4 /dev/nbd0 /mnt 2>>found || return 1
    synced-files check /mnt log >>found || return 1
    umount /mnt
    fsck.ext4 -fn /dev/nbd0 >>found 2>&1
}

# The loss that `whole` has found.
lost() {
    head -n 1 found
}

crash_true_disk "files synced"
crash_lying_disk
