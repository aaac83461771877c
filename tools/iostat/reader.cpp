#include "iostat/reader.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

namespace blkscope::iostat {

namespace {

// A kstat's string fills its field to the last byte if the provider did not end it.
template <size_t N>
std::string text(const char (&field)[N]) {
    return {field, strnlen(field, N)};
}

std::optional<Device> read_device(kstat_ctl_t* kc, kstat_t* ksp, Kind kind) {
    if (kstat_read(kc, ksp, nullptr) == -1) return {};
    if (ksp->ks_data == nullptr || ksp->ks_data_size < sizeof(kstat_io_t)) return {};
    return Device{.module = text(ksp->ks_module),
                  .instance = ksp->ks_instance,
                  .name = text(ksp->ks_name),
                  .kind = kind,
                  .crtime = ksp->ks_crtime,
                  .snaptime = ksp->ks_snaptime,
                  .io = *static_cast<const kstat_io_t*>(ksp->ks_data)};
}

// A directory in the environment, or null.
const char* directory_in(const char* variable) {
    const char* value = secure_getenv(variable);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

// False: there is no chain yet.
bool Reader::refresh() {
    if (!kc_) {
        kc_.reset(kstat_open());
        if (kc_) return true;
        if (errno == ENOENT) return false;  // no provider was ever started here
        throw std::system_error(errno, std::generic_category(), "cannot open the kstats");
    }
    if (kstat_chain_update(kc_.get()) == -1) {
        throw std::system_error(errno, std::generic_category(), "cannot update the kstats");
    }
    return true;
}

std::vector<Device> Reader::read() {
    std::vector<Device> devices;
    if (!refresh()) return devices;
    for (kstat_t* ksp = kc_->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (ksp->ks_type != KSTAT_TYPE_IO) continue;
        const std::optional<Kind> kind = kind_of(text(ksp->ks_class));
        if (!kind || !wanted(*kind, options_)) continue;
        if (auto device = read_device(kc_.get(), ksp, *kind)) devices.push_back(*device);
    }
    return devices;
}

bool Reader::anything_published() const {
    if (!kc_) return false;
    for (const kstat_t* ksp = kc_->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (text(ksp->ks_module) != "unix") return true;
    }
    return false;
}

std::string run_directory() {
    if (const char* chosen = directory_in("KSTAT_DIR")) return chosen;
    const char* runtime = directory_in("XDG_RUNTIME_DIR");
    if (geteuid() == 0 || runtime == nullptr) return "/run/kstat";
    return std::string(runtime) + "/kstat";
}

}  // namespace blkscope::iostat
