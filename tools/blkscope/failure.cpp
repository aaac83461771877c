#include "tools/blkscope/failure.hpp"

#include <cerrno>
#include <new>
#include <string_view>
#include <system_error>

namespace blkscope {
namespace {

// The advice for failures of set-up: opening backings, listening, making directories, starting
// programs. Empty where the reason alone is enough, and where no advice helps.
std::string_view remedy(int error, bool is_root) {
    switch (error) {
        case ENOENT:
        case ENOTDIR:
            return "see that the path is right";
        case EISDIR:
            return "give the path of a file or block device";
        case EACCES:
        case EPERM:
            return is_root
                       ? "see what forbids it to root: attributes, capabilities or the file system"
                       : "see who may use it, or run as root";
        case EROFS:
            return "serve it with --read-only";
        case EBUSY:
            return "see what else uses it";
        case EEXIST:
            return "choose another path, or move away what is there";
        case EADDRINUSE:
            return "stop the server that uses it, or choose another address";
        case EADDRNOTAVAIL:
            return "choose an address of this machine";
        case ENAMETOOLONG:
            return "choose a shorter path";
        case EMFILE:
        case ENFILE:
            return "raise the limit, as in ulimit -n 4096";
        case EAGAIN:
            return "raise the limit of threads, as ulimit -u, or TasksMax of the service";
        case ENOMEM:
            return "choose a smaller size, or free memory";
        default:
            return {};
    }
}

}  // namespace

std::string failure_text(const std::exception& failure, bool is_root) {
    if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) return "out of memory";
    std::string text = failure.what();
    if (const auto* error = dynamic_cast<const std::system_error*>(&failure)) {
        if (const std::string_view todo = remedy(error->code().value(), is_root); !todo.empty()) {
            text.append("; ").append(todo);
        }
    }
    return text;
}

}  // namespace blkscope
