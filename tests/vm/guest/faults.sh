# The kernel gets each kind of fault on its /dev/nbd0, and the kstat of the rules counts each fault. The
# same seed strikes the same requests. The rules name sectors in the middle of the disk: the kernel also
# reads by itself, when it looks for partitions, and does not read there.
. /scenarios/lib.sh

# The range of all rules: 64 KiB at 16 MiB, one request of direct I/O.
readonly sectors='sectors=32768-32895'

# put FILE, get FILE: writes or reads that range with one request.
put() {
    dd if="$1" of=/dev/nbd0 bs=64k seek=256 oflag=direct
}

get() {
    dd if=/dev/nbd0 of="$1" bs=64k skip=256 count=1 iflag=direct
}

# put_cached FILE: writes the first 4 KiB of that range through the page cache, and flushes.
put_cached() {
    dd if="$1" of=/dev/nbd0 bs=4k seek=4096 count=1 conv=fsync
}

get_cached() {
    dd if=/dev/nbd0 of="$1" bs=4k skip=4096 count=1
}

succeeds() {
    "$@" 2>said || fail "$*: $(cat said)"
}

# fails ERROR NUMBER COMMAND...: the command prints this error, and the kernel logs the number in the
# server's reply.
fails() {
    error=$1 number=$2
    shift 2
    dmesg -c >/dev/null
    if "$@" 2>said; then fail "no error: $*"; fi
    grep -q ": $error\$" said || fail "$*: not '$error': $(cat said)"
    dmesg | grep -q "block nbd0: Other side returned error ($number)" || fail "$*: the kernel has no error $number"
}

# holds FILE: the disk's range is what the file is.
holds() {
    succeeds get got
    cmp got "$1" || fail "the disk does not hold $1"
}

# differing A B: how many bytes differ.
differing() {
    cmp -l "$1" "$2" | wc -l
}

# fault RULE: adds a rule to the device. $rule is the rule's number.
fault() {
    rule=$(blkscope fault "$device" add "$1" | sed -n "s/^$device: fault \([0-9]*\): .*/\1/p")
    [ -n "$rule" ] || fail "no number of the rule $1"
}

# hits: how many requests the newest rule has struck.
hits() {
    kstat-io nbd "${device#nbd}" "$device,faults" >faults
    kstat faults "hits_$rule"
}

serve_seeded() {
    serve memory:64M --unix "$PWD/socket" --seed "$1"
    attach_again
}

# Through the ioctls, the kernel gives the disk up as soon as its connection is closed.
attach_again() {
    attach -L -unix "$PWD/socket" /dev/nbd0 -N memory
}

# hangs: the newest rule has struck one request, and the kernel waits for an answer.
hangs() {
    [ "$(hits)" -eq 1 ] && [ "$(disk inflight | awk '{ print $1 + $2 }')" -ge 1 ]
}

# read_ms: the kernel's sum of the times of all reads, in milliseconds.
read_ms() {
    disk stat >stats
    kernel 4 stats
}

head -c 65536 /dev/zero | tr '\0' o >old
head -c 65536 /dev/zero | tr '\0' n >new
serve_seeded 1
succeeds put old

# Errors. The request after the last that the rule strikes succeeds.
fault "read:error=EIO;$sectors;count=2"
fails "Input/output error" 5 get got
fails "Input/output error" 5 get got
holds old
fault "write:error=EIO;$sectors;count=1"
fails "Input/output error" 5 put new
holds old
fault "flush:error=EIO;count=1"
fails "Input/output error" 5 put_cached old
succeeds put_cached old
# The reply has ENOSPC. The kernel's nbd driver turns each error of a reply into EIO (6.1, measured here).
fault "write:error=ENOSPC;$sectors;count=1"
fails "Input/output error" 28 put new
holds old

# Slow answers, by the kernel's own clock.
fault "read:delay=const:700ms;$sectors;count=1"
before=$(read_ms)
holds old
[ $(($(read_ms) - before)) -ge 700 ] || fail "delayed for $(($(read_ms) - before)) ms only"
fault "read:hang=1500ms;$sectors;count=1"
before=$(read_ms)
holds old
[ $(($(read_ms) - before)) -ge 1500 ] || fail "hung for $(($(read_ms) - before)) ms only"

# Silent damage. The page cache has the data of the dropped write, and the disk has the old data.
fault "write:drop;$sectors;count=1"
exec 9</dev/nbd0
succeeds put_cached new
succeeds get_cached got
same "bytes of the cache that are old" "$(tr -d n <got | wc -c)" 0
sysctl -q vm.drop_caches=3
succeeds get_cached got
same "bytes of the disk that are new" "$(tr -d o <got | wc -c)" 0
exec 9<&-
holds old
fault "read:corrupt=3;$sectors;count=1"
succeeds get got
same "bytes that were read wrong" "$(differing old got)" 3
holds old
fault "write:corrupt=2;$sectors;count=1"
succeeds put new
succeeds get got
same "bytes that were written wrong" "$(differing new got)" 2

# A torn write: its first sectors are new, and the others old.
succeeds put old
fault "write:torn;$sectors;count=1"
fails "Input/output error" 5 put new
succeeds get got
written=$(tr -d o <got | wc -c)
echo "torn after $written bytes"
[ "$written" -gt 0 ] || fail "no sector is new"
[ "$written" -lt 65536 ] || fail "all sectors are new"
same "bytes behind the last whole sector" $((written % 512)) 0
{ head -c "$written" new; tail -c +$((written + 1)) old; } | cmp - got || fail "the new sectors are not the first"
succeeds put old

# A closed connection fails the write, although the write is done. The disk has no sectors until the
# device is attached again.
fault "write:disconnect;$sectors;count=1"
if put new 2>said; then fail "no error without a connection"; fi
grep -q ": Input/output error\$" said || fail "no I/O error: $(cat said)"
within 60 detached
same "size in sectors without a connection" "$(disk size)" 0
get got 2>said || true
same "bytes read without a connection" "$(wc -c <got)" 0
attach_again
holds new

# Each rule has struck as many requests as its count says.
same "hits of the last rule" "$(hits)" 1
same "hits of each rule" "$(sed -n 's/^hits_//p' faults | tr '\n' ' ')" \
    "1=2 2=1 3=1 4=1 5=1 6=1 7=1 8=1 9=1 10=1 11=1 "
same "requests without a client" "$(kstat faults abandoned)" 0

# Without a time, a request hangs until its rule is removed.
fault "read:hang;$sectors"
get got 2>said &
load=$!
within 60 hangs
usleep 500000
hangs || fail "the request does not hang any more"
blkscope fault "$device" clear "$rule" >/dev/null
wait $load || fail "the read failed after the hang: $(cat said)"
load=
cmp got new || fail "the disk does not hold new"
detach
stop_server

# struck SEED FILE: the file gets the numbers of the requests that fail, of 48.
struck() {
    serve_seeded "$1"
    fault "read:error=EIO;chance=1/4;$sectors"
    request=1
    while [ $request -le 48 ]; do
        get got 2>said || echo $request
        request=$((request + 1))
    done >"$2"
    same "hits with seed $1" "$(hits)" "$(wc -l <"$2")"
    detach
    stop_server
}

struck 7 first
struck 7 second
struck 8 other
echo "with seed 7, these requests fail: $(tr '\n' ' ' <first)"
[ -s first ] || fail "no request failed"
[ "$(wc -l <first)" -lt 48 ] || fail "all requests failed"
cmp first second || fail "the same seed has other faults"
if cmp -s first other; then fail "another seed has the same faults"; fi
