#include "base/detached_thread.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "base/throw_errno.hpp"

namespace blkscope {
namespace {

std::atomic<int> at_work{0};

}  // namespace

void run_detached(std::function<void()> work) {
    at_work.fetch_add(1);
    try {
        std::thread([work = std::move(work)]() mutable {
            work();
            work = {};  // frees what the work had, which may need the libraries too
            at_work.fetch_sub(1);
        }).detach();
    } catch (const std::system_error& error) {
        at_work.fetch_sub(1);
        throw_errno("start a thread", error.code().value());
    }
}

int end_process(int status) {
    if (at_work.load() == 0) return status;
    std::fflush(nullptr);
    std::_Exit(status);
}

}  // namespace blkscope
