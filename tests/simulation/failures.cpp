#include "failures.hpp"

#include <cerrno>

#include "other_terms.hpp"
#include "records.hpp"

namespace blkscope::simulation {
namespace {

constexpr unsigned retries_max = 16;  // of EINTR and EAGAIN, for each request, as Buf says

bool overlap(const Failure& failure, const nbd::Request& request) {
    return failure.at < request.offset + request.length &&
           request.offset < failure.at + failure.bytes;
}

}  // namespace

bool explain(std::span<const Failure> failures, const SimulatedFile* file,
             const FailedRequest& failed) {
    if (file == nullptr) return false;
    const nbd::Request& request = failed.request;
    const bool through = changes(request.type) && (request.flags & nbd::command_flag::fua) != 0;
    const bool stable = request.type == nbd::Command::flush || through;
    unsigned interruptions = 0;
    for (const Failure& failure : failures) {
        if (failure.file != file) continue;
        if (failure.syncs) {
            if (stable && failed.error == nbd::Error::eio) return true;
            continue;
        }
        if (failure.when < failed.made || !overlap(failure, request)) continue;
        if (documented_error(failure.error) != failed.error) continue;
        if (failed.at && *failed.at != failure.at) continue;
        const bool again = failure.error == EINTR || failure.error == EAGAIN;
        if (!again || ++interruptions > retries_max) return true;
    }
    return false;
}

}  // namespace blkscope::simulation
