#include "tools/iostat/figures.hpp"

#include <cstdint>
#include <limits>

namespace blkscope::iostat {
namespace {

// Subtracts modulo 2^32, because the counters wrap at 2^32.
double count_of(uint_t before, uint_t now) {
    return static_cast<uint_t>(now - before);
}

double bytes(u_longlong_t before, u_longlong_t now) {
    return static_cast<double>(now - before);
}

double span_ns(hrtime_t before, hrtime_t now) {
    return static_cast<double>(
        static_cast<int64_t>(static_cast<uint64_t>(now) - static_cast<uint64_t>(before)));
}

double percentile_ms(const std::optional<Histogram>& histogram, kstat2::PerMillion p) {
    const auto ns = histogram ? percentile(*histogram, p) : std::nullopt;
    if (!ns) return std::numeric_limits<double>::quiet_NaN();
    // Rounded up to the next microsecond, which is the precision of the output. A value rounded
    // down would be no upper bound.
    const auto us = (*ns + 999) / 1000;
    return static_cast<double>(us) / 1e3;
}

void find_percentiles(Figures& f, const Histograms& interval) {
    const auto wait = of_transfers(interval, "wait");
    const auto service = of_transfers(interval, "service");
    f.wait_p50 = percentile_ms(wait, kstat2::p50);
    f.wait_p99 = percentile_ms(wait, kstat2::p99);
    f.wait_p999 = percentile_ms(wait, kstat2::p999);
    f.service_p50 = percentile_ms(service, kstat2::p50);
    f.service_p99 = percentile_ms(service, kstat2::p99);
    f.service_p999 = percentile_ms(service, kstat2::p999);
}

}  // namespace

Figures figures(const Device* before, const Device& now, const Options& options) {
    if (before != nullptr && before->crtime != now.crtime) before = nullptr;
    const kstat_io_t old = before != nullptr ? before->io : kstat_io_t{};
    const kstat_io_t& io = now.io;
    const hrtime_t since = before != nullptr ? before->snaptime : now.crtime;
    // A device that stands for several has the sums of their times, and therefore of the intervals.
    const double elapsed_ns =
        since == now.snaptime ? 1e9 : span_ns(since, now.snaptime) / now.members;

    const double per = options.counts ? 1 : elapsed_ns / 1e9;
    const double unit = (options.megabytes ? 1024.0 * 1024.0 : 1024.0) * per;
    const double read_count = count_of(old.reads, io.reads);
    const double write_count = count_of(old.writes, io.writes);
    const double completed = read_count + write_count;
    const double wait_ns = span_ns(old.wlentime, io.wlentime);
    const double run_ns = span_ns(old.rlentime, io.rlentime);

    Figures f{};
    f.reads = read_count / per;
    f.writes = write_count / per;
    f.transfers = f.reads + f.writes;
    f.data_read = bytes(old.nread, io.nread) / unit;
    f.data_written = bytes(old.nwritten, io.nwritten) / unit;
    f.data = f.data_read + f.data_written;
    f.wait = wait_ns / elapsed_ns;
    f.actv = run_ns / elapsed_ns;
    if (completed > 0) {  // else requests may be queued, but no stay has ended
        f.wsvc_t = wait_ns / completed / 1e6;
        f.asvc_t = run_ns / completed / 1e6;
    }
    f.svc_t = f.wsvc_t + f.asvc_t;
    f.w_percent = 100 * span_ns(old.wtime, io.wtime) / elapsed_ns / now.members;
    f.b_percent = 100 * span_ns(old.rtime, io.rtime) / elapsed_ns / now.members;
    f.soft_errors = error_count(now.errors, 0);
    f.hard_errors = error_count(now.errors, 1);
    f.transport_errors = error_count(now.errors, 2);
    f.errors = f.soft_errors + f.hard_errors + f.transport_errors;
    f.elapsed_s = elapsed_ns / 1e9;
    find_percentiles(
        f, before == nullptr ? now.histograms : difference(before->histograms, now.histograms));
    return f;
}

}  // namespace blkscope::iostat
