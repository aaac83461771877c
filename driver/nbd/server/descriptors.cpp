#include "driver/nbd/server/descriptors.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cassert>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

namespace blkscope::nbd {
namespace {

// For readers of the statistics, and for a reload that opens before it closes.
constexpr size_t reserved_descriptors = 16;

}  // namespace

size_t open_descriptors() {
    std::error_code error;
    const std::filesystem::directory_iterator all("/proc/self/fd", error);
    if (error) return 0;
    const auto count = static_cast<size_t>(std::distance(begin(all), end(all)));
    return count > 0 ? count - 1 : 0;  // the directory itself was one of them
}

std::string descriptor_shortage(uint64_t limit, size_t open, size_t to_come) {
    const uint64_t needed = uint64_t{open} + to_come + reserved_descriptors;
    if (needed <= limit) return {};
    return fmt::format(
        "--max-connections: {} too many for {} descriptors; raise the limit to {}, "
        "as in ulimit -n {} or LimitNOFILE={}",
        needed - limit, limit, needed, needed, needed);
}

bool SpareDescriptor::close() {
    if (!is_open()) restore();
    const Descriptor closed = std::move(spare_);
    return closed.is_open();
}

void SpareDescriptor::restore() {
    if (!is_open()) spare_ = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    assert(spare_.get() >= -1);
}

}  // namespace blkscope::nbd
