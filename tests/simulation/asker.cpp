#include "asker.hpp"

#include <algorithm>
#include <cassert>

namespace blkscope::simulation {

void Asker::draw(Random& random, Oracle& oracle, hrtime_t now, uint64_t blocks_max) {
    choose(random, oracle.bytes(), blocks_max);
    begin(oracle, now);
}

void Asker::choose(Random& random, uint64_t device_bytes, uint64_t blocks_max) {
    static constexpr Buf::Op ops[] = {Buf::Op::read,  Buf::Op::write,        Buf::Op::read,
                                      Buf::Op::write, Buf::Op::write_zeroes, Buf::Op::flush,
                                      Buf::Op::trim,  Buf::Op::write};
    assert(!out && state == Buf::State::idle);
    op = ops[random.below(8)];
    fua = op != Buf::Op::read && op != Buf::Op::flush && random.one_in(4);
    no_hole = fast_zero = false;
    extents = ExtentList();
    const uint64_t blocks = device_bytes / Oracle::block_bytes;
    const uint64_t count = random.between(1, std::min(blocks, blocks_max));
    offset = random.below(blocks - count + 1) * Oracle::block_bytes;
    bcount = count * Oracle::block_bytes;
    if (op == Buf::Op::flush) offset = bcount = 0;
}

void Asker::begin(Oracle& oracle, hrtime_t now) {
    write = 0;
    bytes.resize(bcount);
    data = bytes.data();
    made = now;
    out = true;
    using Effect = Oracle::Effect;
    if (op != Buf::Op::write && !discards()) return;
    const Effect zeroed = no_hole ? Effect::kept_zeroes : Effect::zeroes;
    const Effect discarded = op == Buf::Op::trim ? Effect::maybe_zeroes : zeroed;
    write =
        oracle.begin_write(offset, bcount, op == Buf::Op::write ? Effect::data : discarded, now);
    if (op == Buf::Op::write) oracle.fill(write, bytes);
}

std::string Asker::judge(Oracle& oracle, hrtime_t now) {
    if (!out) return "a request was done twice";
    out = false;
    if (write != 0) oracle.end_write(write, error == 0, fua || through, now);
    if (error != 0) return {};
    if (op == Buf::Op::flush) {
        const std::string lost = oracle.flushed(made, now);
        return lost.empty() ? "" : "not on the disk after a flush: " + lost;
    }
    if (op != Buf::Op::read) return {};
    const std::string wrong = oracle.check_read(offset, bytes, made, now);
    return wrong.empty() ? "" : "read: " + wrong;
}

std::string Stays::add(const Buf& buf, uint64_t key) {
    all_.push_back({buf.op, key, buf.queued, buf.started, buf.finished});
    if (buf.op == Buf::Op::read) read_bytes_ += buf.moved();
    if (buf.op == Buf::Op::write) written_bytes_ += buf.moved();
    const bool in_order = buf.queued <= buf.started && buf.started <= buf.finished;
    return in_order ? "" : "a request's times are out of order";
}

std::string Stays::check(const kstat_io_t& io) const {
    hrtime_t waited = 0;
    hrtime_t ran = 0;
    uint64_t reads = 0;
    uint64_t writes = 0;
    for (const Stay& stay : all_) {
        reads += stay.op == Buf::Op::read ? 1 : 0;
        writes += stay.op == Buf::Op::write ? 1 : 0;
        if (!stay.counts()) continue;
        waited += stay.started - stay.queued;
        ran += stay.finished - stay.started;
    }
    if (io.wcnt != 0 || io.rcnt != 0) return "a queue is not empty at the end";
    if (io.wlentime != waited || io.rlentime != ran) {
        return "wlentime " + std::to_string(io.wlentime) + " and rlentime " +
               std::to_string(io.rlentime) + ", but stays of " + std::to_string(waited) + " and " +
               std::to_string(ran);
    }
    if (io.reads != reads || io.writes != writes || io.nread != read_bytes_ ||
        io.nwritten != written_bytes_) {
        return "counted " + std::to_string(io.reads) + " reads and " + std::to_string(io.writes) +
               " writes of " + std::to_string(reads) + " and " + std::to_string(writes) +
               ", or not all bytes";
    }
    return {};
}

}  // namespace blkscope::simulation
