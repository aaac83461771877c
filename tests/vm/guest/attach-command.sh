# The server attaches its export itself and lets it go when it ends; so do the commands beside it.
. /scenarios/lib.sh

# refused COMMAND...: it must fail as a failure, in one line.
refused() {
    status=0
    "$@" 2>refusal || status=$?
    same "exit status of $*" $status 1
    same "lines on standard error" "$(wc -l <refusal)" 1
}

serve memory:64M --unix "$PWD/socket" --attach /dev/nbd0 --connections 2
within 60 grep -q '^/dev/nbd0 attached$' server.log
attached || fail "not attached"
same "size in sectors" "$(disk size)" 131072
snapshot attached
same "connections" "$(kstat attached.cmds connections)" 2
same "connections of each client" "$(blkscope clients --interval 0 | awk 'NR > 1 { print $3 }')" 2
blkscope list >list
grep -q "^$device .*$uri\$" list || fail "no $uri in: $(cat list)"
grep -q "^/dev/nbd0 .*$((64 << 20))\$" list || fail "no /dev/nbd0 in: $(cat list)"
refused blkscope attach "$uri" /dev/nbd0
try_filesystem
stop_server
attached && fail "attached without a server"

# Detached by hand, it is nothing to the server any more.
serve memory:64M --unix "$PWD/socket" --attach /dev/nbd0
within 60 grep -q '^/dev/nbd0 attached$' server.log
blkscope detach /dev/nbd0
within 60 detached
stop_server
grep '^blkscope:' server.log && fail "the server complains of a device that it does not have"

serve memory:64M --unix "$PWD/socket"
blkscope attach "$uri" /dev/nbd0 --block-size 4096 --timeout 30
same "logical block size" "$(disk queue/logical_block_size)" 4096
try_filesystem
blkscope detach /dev/nbd0
within 60 detached
refused blkscope detach /dev/nbd0
stop_server

# An image with a partition table: the partition is there when attach returns, and gone when detach does.
truncate -s 8M disk.img
printf '\0\0\0\0\203\0\0\0\0\10\0\0\0\20\0\0' | dd of=disk.img bs=1 seek=446 conv=notrunc 2>/dev/null
printf '\125\252' | dd of=disk.img bs=1 seek=510 conv=notrunc 2>/dev/null

has_partition() {
    same "sectors of the partition" "$(cat /sys/block/nbd0/nbd0p1/size)" 4096
    [ -b /dev/nbd0p1 ] || fail "no /dev/nbd0p1"
}

has_none() {
    [ ! -e /sys/block/nbd0/nbd0p1 ] && [ ! -e /dev/nbd0p1 ] || fail "the partition is still there"
}

for connections in 1 2; do
    serve disk.img --unix "$PWD/socket"
    blkscope attach "$uri" /dev/nbd0 --connections "$connections" 2>said
    has_partition
    [ ! -s said ] || fail "$(cat said)"
    blkscope detach /dev/nbd0
    has_none
    stop_server
done
serve disk.img --unix "$PWD/socket" --attach /dev/nbd0
within 60 grep -q '^/dev/nbd0 attached$' server.log
has_partition
stop_server
has_none
