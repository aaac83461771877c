#include "blockdev/accounting/errno_counts.hpp"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace blkscope {
namespace {

std::string record_name(Buf::Op op, int error) {
    const char* const name = strerrorname_np(error);
    const std::string shown = name != nullptr ? name : std::to_string(error);
    return std::string(Buf::name_of(op)) + "_" + shown;
}

}  // namespace

ErrnoCounts::ErrnoCounts(const Seqlock&, const Subject& subject) {
    mutex_init(&lock_, nullptr, MUTEX_DRIVER, nullptr);
    if (!subject.published()) return;
    const std::string name = subject.name + ",errno";
    kstat_.reset(kstat_create(device_module, subject.instance, name.c_str(), "misc",
                              KSTAT_TYPE_NAMED, 0, KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE));
    if (!kstat_) throw std::runtime_error("create kstat " + name);
    kstat_->ks_data = records_.data();
    kstat_->ks_lock = &lock_;
    kstat_->ks_private = this;
    kstat_->ks_update = update;
    kstat_install(kstat_.get());
}

ErrnoCounts::~ErrnoCounts() {
    kstat_.reset();  // before its lock
    mutex_destroy(&lock_);
}

void ErrnoCounts::failed(Buf::Op op, int error) {
    assert(error > 0);
    for (Pair& pair : pairs_) {
        if (pair.error == 0) {
            pair.op = op;
            publish(pair.error, error);  // last: a reader that sees it uses the operation
        }
        if (pair.error == error && pair.op == op) return publish(pair.count, pair.count + 1);
    }
    publish(other_, other_ + 1);
}

int ErrnoCounts::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    auto& counts = *static_cast<ErrnoCounts*>(ksp->ks_private);
    kstat_named_t* record = counts.records_.data();
    const auto put = [&](const std::string& name, const uint64_t& count) {
        assert(record < counts.records_.data() + counts.records_.size());
        kstat_named_init(record, name.c_str(), KSTAT_DATA_UINT64);
        (record++)->value.ui64 = observe(count);
    };
    for (const Pair& pair : counts.pairs_) {
        const int error = observe(pair.error);
        if (error == 0) break;
        put(record_name(pair.op, error), pair.count);
    }
    put("other", counts.other_);
    ksp->ks_ndata = static_cast<uint_t>(record - counts.records_.data());
    ksp->ks_data_size = ksp->ks_ndata * sizeof *record;
    return 0;
}

}  // namespace blkscope
