#include "rbd/rbd_kstat.hpp"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace blkscope::rbd {
namespace {

constexpr uint_t records = 3;

std::string_view state_of(const RbdKstat& figures) {
    if (figures.blocklisted()) return "blocklisted";
    return figures.orphans() > 0 ? "waiting" : "connected";
}

}  // namespace

void RbdKstat::publish(const Subject& subject) {
    const KstatShape shape{
        .what = "upstream", .ks_class = "misc", .type = KSTAT_TYPE_NAMED, .records = records};
    kstat_ = make_device_kstat(subject, shape, this, update);
    if (!kstat_) return;
    kstat_named_t* const record = KSTAT_NAMED_PTR(kstat_);
    kstat_named_init(record, "state", KSTAT_DATA_CHAR);
    kstat_named_init(record + 1, "orphans", KSTAT_DATA_UINT64);
    kstat_named_init(record + 2, "timeouts", KSTAT_DATA_UINT64);
    kstat_install(kstat_.get());
}

int RbdKstat::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& figures = *static_cast<const RbdKstat*>(ksp->ks_private);
    kstat_named_t* const record = KSTAT_NAMED_PTR(ksp);
    const std::string_view word = state_of(figures);
    assert(word.size() < sizeof record->value.c);
    std::memset(record->value.c, 0, sizeof record->value.c);
    std::memcpy(record->value.c, word.data(), word.size());
    record[1].value.ui64 = figures.orphans();
    record[2].value.ui64 = figures.timeouts();
    return 0;
}

}  // namespace blkscope::rbd
