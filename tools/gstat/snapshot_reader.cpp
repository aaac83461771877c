#include "tools/gstat/snapshot_reader.hpp"

#include "devstat/entries/busy_time.hpp"

namespace blkscope::gstat {

Snapshot SnapshotReader::take() {
    reader_.update();
    // A device that was added since update() is in the next snapshot. Of a device that was removed
    // since, this snapshot has the last entry.
    static_cast<void>(reader_.read());
    Snapshot snapshot;
    clock_gettime(CLOCK_REALTIME, &snapshot.when);
    snapshot.uptime = gethrtime();
    for (const devstat::Reader::Known& known : reader_.entries()) {
        Device device{known.kid, known.name, known.anonymous(), known.entry};
        devstat::charge_busy_time(device.entry, known.kstat->ks_snaptime);
        snapshot.devices.push_back(device);
    }
    put_partitions_in_place(snapshot.devices);
    return snapshot;
}

}  // namespace blkscope::gstat
