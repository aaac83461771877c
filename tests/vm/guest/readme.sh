# README's example with the kernel's /dev/nbd0, as README prints it.
. /scenarios/lib.sh

# The block behind the line that names what it needs.
sed -n '/^<!-- needs: .*\/dev\/nbd0/,/^```$/p' /scenarios/README.md | sed '1,/^```sh$/d; /^```$/d' >block
[ "$(wc -l <block)" -ge 4 ] || fail "README has no such block"

# The image and the shell's state are those that README's earlier blocks leave. This machine is emulated
# and slow: a second of README's is longer here.
truncate -s 256M disk.img
modprobe ext4 2>/dev/null || true
cat >session - block <<'END'
sleep() { command sleep $((10 * $1)); }
set -e
END
echo wait >>session
timeout 80 bash session >said 2>&1 || fail "exit status $? after: $(cat said)"

grep -q '^nbd[0-9]* nbd+unix:' said || fail "no ready line: $(cat said)"
same "reports of iostat's" "$(grep -c ' nbd0$' said)" 3
awk '$NF == "nbd0" && !seen++ { exit !($2 > 0) }' said || fail "no writes in the first report: $(cat said)"
within 60 detached
fsck.ext4 -fn disk.img >fsck.log 2>&1 || fail "fsck: $(cat fsck.log)"
