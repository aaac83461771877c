# SQLite commits while its disk loses power again and again: its integrity check is good, and each row that
# was committed is there. On a disk that lies about flushes, the same test finds loss.
. /scenarios/lib.sh

# A transaction for each row. SQLite prints the row's number after the commit. With EXTRA the end of a
# transaction, which is the removal of its journal, is durable at the commit. With FULL it is not.
make_statements() {
    echo "PRAGMA synchronous=EXTRA;"
    echo "CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, data BLOB);"
    i=0
    while [ $i -lt 2000 ]; do
        echo "INSERT INTO rows (data) VALUES (randomblob(3000)); SELECT last_insert_rowid();"
        i=$((i + 1))
    done
}

# crash_under_load: power is lost while rows are committed, and SQLite ends at the first error.
crash_under_load() {
    mount -t ext4 /dev/nbd0 /mnt
    sqlite3 -bail /mnt/rows.db <statements >>log 2>>load.log &
    load=$!
    usleep $((1200000 + crash * 97000 % 700000))
    lose_power
}

# whole: SQLite rolls back what was under way.
whole() {
    mount -t ext4 /dev/nbd0 /mnt 2>>found || return 1
    sqlite3 /mnt/rows.db "PRAGMA integrity_check; SELECT max(id) FROM rows;" >>found 2>&1 || return 1
    umount /mnt
    [ "$(sed -n 1p found)" = ok ] && [ "$(sed -n 2p found)" -ge "$(tail -n 1 log)" ]
}

# The loss that `whole` has found.
lost() {
    echo "row $(tail -n 1 log) was committed; $(head -n 1 found)"
}

make_statements >statements
crash_true_disk "rows committed"
has_lines "$crash" log || fail "hardly a row was committed: $(cat load.log)"
crash_lying_disk
