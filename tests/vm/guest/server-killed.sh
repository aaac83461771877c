# The server dies under load: the kernel says so, whoever uses the disk gets an error and nobody hangs.
# A new server can be attached to the same /dev/nbd0.
. /scenarios/lib.sh

kill_under_load() {
    fio --eta=never --name=load --filename=/dev/nbd0 --direct=1 --ioengine=libaio --rw=randrw --bs=4k \
        --iodepth=16 --size=64M --time_based --runtime=300 --output=fio.log 2>fio.errors &
    load=$!
    within 60 has_done 200
    kill -9 "$server"
    wait "$server" || true
    server=
    within 60 ended "$load"
    wait "$load" && fail "fio saw no error"
    load=
    return 0
}

has_done() {
    [ "$(disk stat | awk '{ print $1 + $5 }')" -gt $((done_before + $1)) ]
}

# A new server takes over the socket file that the dead one left.
attach_again() {
    serve memory:64M --unix "$PWD/socket"
    blkscope attach "$uri" /dev/nbd0 --connections 2 --timeout 0
    try_filesystem
    detach
    stop_server
}

# Set up through netlink, nobody but the kernel watches the connections. It hands what they held to
# another one, or fails it, once a request has been under way for the time of -t. Without -t, fio still
# hung after 20 s (6.1, measured here).
done_before=$(disk stat | awk '{ print $1 + $5 }')
serve memory:64M --unix "$PWD/socket"
attach -unix "$PWD/socket" /dev/nbd0 -C 2 -t 2 -N memory
kill_under_load
dmesg >kernel.log
grep -q 'block nbd0: Receive control failed' kernel.log || fail "no word of the connection"
grep -q 'I/O error, dev nbd0' kernel.log || fail "no word of an I/O error"
nbd-client -d /dev/nbd0 >/dev/null || true
within 60 detached
attach_again

# Through the ioctls, the client's process sees the connection end, and gives the disk up at once.
done_before=$(disk stat | awk '{ print $1 + $5 }')
serve memory:64M --unix "$PWD/socket"
attach -L -unix "$PWD/socket" /dev/nbd0 -N memory
kill_under_load
within 60 detached
attach_again
