#include "base/detached_thread.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

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
    } catch (...) {
        at_work.fetch_sub(1);
        throw;
    }
}

int end_process(int status) {
    if (at_work.load() == 0) return status;
    std::fflush(nullptr);
    std::_Exit(status);
}

}  // namespace blkscope
