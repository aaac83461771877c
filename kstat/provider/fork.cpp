#include "kstat/provider/fork.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "kstat/provider/access.hpp"
#include "kstat/provider/publication.hpp"
#include "kstat/registry/chain.hpp"
#include "kstat/registry/maps.hpp"
#include "kstat/registry/optionals.hpp"

namespace blkscope::kstat {
namespace {

// Every lock is locked before the fork and unlocked after it, so the child finds all of them
// consistent. The order is the one in which the locks nest elsewhere.
void before_fork() {
    Publication::of_this_process().before_fork();
    OwnDescriptors::of_this_process().before_fork();
    Access::of_this_process().before_fork();
    Chain::of_this_process().before_fork();
    kstat2::Optionals::of_this_process().before_fork();
    kstat2::Maps::of_this_process().before_fork();
}

void after_fork_in_parent() {
    kstat2::Maps::of_this_process().after_fork_in_parent();
    kstat2::Optionals::of_this_process().after_fork_in_parent();
    Chain::of_this_process().after_fork_in_parent();
    Access::of_this_process().after_fork();
    OwnDescriptors::of_this_process().after_fork_in_parent();
    Publication::of_this_process().after_fork_in_parent();
}

void after_fork_in_child() {
    kstat2::Maps::of_this_process().after_fork_in_child();
    kstat2::Optionals::of_this_process().after_fork_in_child();
    Chain::of_this_process().after_fork_in_child();
    Access::of_this_process().after_fork();
    OwnDescriptors::of_this_process().after_fork_in_child();
    Publication::of_this_process().after_fork_in_child();
}

}  // namespace

OwnDescriptors& OwnDescriptors::of_this_process() {
    static OwnDescriptors& descriptors = *new OwnDescriptors;
    return descriptors;
}

void OwnDescriptors::add(int number) {
    const std::lock_guard lock(mutex_);
    numbers_.insert(number);
}

void OwnDescriptors::remove(int number) {
    const std::lock_guard lock(mutex_);
    numbers_.erase(number);
}

void OwnDescriptors::after_fork_in_child() {
    // An eventfd, because it can be polled: Asio's notify_fork puts every number in its tables into
    // a new epoll set.
    if (const int harmless = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); harmless >= 0) {
        for (const int number : numbers_) dup3(harmless, number, O_CLOEXEC);
        ::close(harmless);
    }
    numbers_.clear();
    mutex_.unlock();
}

NotInherited::NotInherited(int number) : number_(number) {
    watch_forks();
    OwnDescriptors::of_this_process().add(number);
}

NotInherited::~NotInherited() {
    OwnDescriptors::of_this_process().remove(number_);
}

void watch_forks() {
    static std::once_flag once;
    std::call_once(once,
                   [] { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); });
}

}  // namespace blkscope::kstat
