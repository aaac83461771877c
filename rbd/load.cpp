#include "rbd/load.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

namespace blkscope::rbd {
namespace {

// Beside the folder of the program, in a build and where it is installed.
std::string module_path() {
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    return (program.parent_path().parent_path() / "lib/blkscope/blkscope-rbd.so").string();
}

[[noreturn]] void fail(const std::string& path, const std::string& why) {
    throw std::runtime_error("rbd: " + path + ": " + why);
}

}  // namespace

const blkscope_rbd_table& load_from(const std::string& path) {
    if (!std::filesystem::exists(path)) fail(path, "not found; install the package blkscope-rbd");
    void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the text belongs to the thread
    if (module == nullptr) fail(path, std::string("not loadable: ") + dlerror());
    const auto* const table =
        static_cast<const blkscope_rbd_table*>(dlsym(module, BLKSCOPE_RBD_SYMBOL));
    if (table == nullptr) fail(path, "no module of blkscope");
    // The members after the version may have another place in another build.
    if (table->version != std::string(BLKSCOPE_VERSION)) {
        fail(path, std::string("is of version ") + table->version +
                       ", and this program is of version " BLKSCOPE_VERSION "; restart to use it");
    }
    if (table->table_bytes != sizeof(blkscope_rbd_table)) {
        fail(path, "is of another build of version " BLKSCOPE_VERSION "; restart to use it");
    }
    return *table;
}

const blkscope_rbd_table& load() {
    static const blkscope_rbd_table& table = load_from(module_path());
    return table;
}

}  // namespace blkscope::rbd
