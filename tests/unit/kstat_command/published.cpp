#include "published.hpp"

#include <cerrno>
#include <cstring>

namespace blkscope::kstat_command {

Published published;

void publish(const kstat_t& ksp) {
    published.chain.push_back(ksp);
    kstat_t* next = nullptr;
    for (auto it = published.chain.rbegin(); it != published.chain.rend(); ++it) {
        it->ks_next = next;
        next = &*it;
    }
    published.control.kc_chain = next;
}

void publish(const char* module, int instance, const char* name, uchar_t type) {
    kstat_t ksp{};
    std::strncpy(ksp.ks_module, module, sizeof(ksp.ks_module) - 1);
    std::strncpy(ksp.ks_name, name, sizeof(ksp.ks_name) - 1);
    std::strcpy(ksp.ks_class, "controller");
    ksp.ks_instance = instance;
    ksp.ks_type = type;
    ksp.ks_crtime = 1'000'000'000;
    publish(ksp);
}

}  // namespace blkscope::kstat_command

using blkscope::kstat_command::published;

extern "C" {

kstat_ctl_t* kstat_open() {
    ++published.opens;
    errno = EAGAIN;
    return published.opens <= published.open_errors ? nullptr : &published.control;
}

int kstat_close(kstat_ctl_t* /*kc*/) {
    ++published.closes;
    return 0;
}

kid_t kstat_chain_update(kstat_ctl_t* /*kc*/) {
    errno = published.update_error;
    return published.update_error != 0 ? -1 : 0;
}

kid_t kstat_read(kstat_ctl_t* /*kc*/, kstat_t* ksp, void* /*buf*/) {
    ++published.reads;
    if (published.unreadable == ksp->ks_name) {
        errno = ENXIO;
        return -1;
    }
    if (ksp->ks_data == nullptr) {
        ksp->ks_data = &published.data;
        ksp->ks_ndata = 1;
        ksp->ks_data_size = sizeof(published.data);
    }
    ksp->ks_snaptime = published.snaptime;
    return 1;
}

}  // extern "C"
