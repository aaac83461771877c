#include "rbd/image.hpp"

#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/log_line.hpp"
#include "base/throw_errno.hpp"

namespace blkscope::rbd {
namespace {

constexpr std::chrono::seconds end_time_max{10};
constexpr std::chrono::milliseconds look_interval{20};
constexpr size_t librbd_threads_max = 24;  // of an image; 17 with version 16

// The data of the thread that closes an image.
struct Closing {
    std::shared_ptr<Image> image;
    std::unique_ptr<Operations> operations;
};

// The threads that open or close images, and the images that no thread could close. The destructor
// runs before librbd's own, because the object is made after librbd was loaded.
class Pending {
  public:
    ~Pending() {
        std::unique_lock lock(mutex_);
        const bool answers =
            changed_.wait_for(lock, end_time_max, [this] { return threads_ == 0; });
        if (answers && left_open_.empty()) return;
        if (!answers) log_line("rbd: the cluster does not answer; an image stays open");
        std::fflush(nullptr);
        std::_Exit(1);
    }

    // Throws std::system_error if there is no thread for the work.
    template <class Work>
    void run(Work work) {
        const std::lock_guard creating(mutex_);
        std::thread([this, work = std::move(work)]() mutable {
            work();
            const std::lock_guard lock(mutex_);
            --threads_;
            changed_.notify_all();
        }).detach();
        ++threads_;
    }

    // librbd goes on to use what the image and its operations have.
    void leave_open(std::shared_ptr<Closing> closing, const std::system_error& failure) {
        log_line("rbd: no thread to close an image: ", failure.code().message(), "; it stays open");
        const std::lock_guard lock(mutex_);
        left_open_.push_back(std::move(closing));
    }

  private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<Closing>> left_open_;
    std::condition_variable changed_;
    unsigned threads_ = 0;
};

Pending& pending() {
    static Pending pending;
    return pending;
}

// The data that a thread that opens an image shares with the thread that waits for it.
struct Opening {
    std::mutex mutex;
    std::condition_variable ended;
    bool has_ended = false;
    bool abandoned = false;
    std::shared_ptr<Image> image;
    int error = 0;
    const char* step = "connect to the cluster";
};

// librbd ends the program if one of its threads cannot begin. So as many threads are tried first.
int try_threads() {
    std::atomic<bool> ends = false;
    std::vector<std::jthread> threads;
    threads.reserve(librbd_threads_max);
    int error = 0;
    try {
        while (threads.size() < librbd_threads_max) {
            threads.emplace_back([&ends] { ends.wait(false); });
        }
    } catch (const std::system_error& failure) {
        error = -failure.code().value();
    }
    ends = true;
    ends.notify_all();
    return error;
}

void open_now(const blkscope_rbd_table& table, const Place& place, bool read_only,
              std::chrono::seconds patience, Opening& opening) {
    Descriptor event(eventfd(0, EFD_CLOEXEC));
    const blkscope_rbd_place where{.pool = place.pool.c_str(),
                                   .name_space = place.name_space.c_str(),
                                   .image = place.image.c_str(),
                                   .snapshot = place.snapshot.c_str(),
                                   .conf = place.conf.c_str(),
                                   .user = place.user.c_str(),
                                   .read_only = read_only ? 1 : 0,
                                   .timeout_seconds = static_cast<unsigned>(patience.count()),
                                   .event = event.get()};
    blkscope_rbd_image* image = nullptr;
    const char* step = "begin librbd's threads";
    int error = event.is_open() ? try_threads() : -errno;
    if (error == 0) {
        step = opening.step;
        error = table.open(&where, &image, &step);
    }
    std::unique_lock lock(opening.mutex);
    opening.step = step;
    opening.error = error;
    if (error == 0) opening.image = std::make_shared<Image>(table, image, std::move(event));
    opening.has_ended = true;
    opening.ended.notify_all();
    if (!opening.abandoned || !opening.image) return;
    lock.unlock();
    table.close(image);
}

void close_now(const Image& image, Operations& operations) {
    while (operations.in_librbd() > 0) {
        take_ended(image, [&](Operation& operation, int64_t result) {
            operations.end(operation, result);
        });
        if (operations.in_librbd() > 0) std::this_thread::sleep_for(look_interval);
    }
    image.table().close(image.get());
}

}  // namespace

std::shared_ptr<Image> open(const blkscope_rbd_table& table, const Place& place, bool read_only,
                            std::chrono::seconds patience) {
    const auto opening = std::make_shared<Opening>();
    try {
        pending().run([&table, place, read_only, patience, opening] {
            open_now(table, place, read_only, patience, *opening);
        });
    } catch (const std::system_error& failure) {
        throw std::system_error(failure.code(), place.text() + ": begin a thread");
    }
    std::unique_lock lock(opening->mutex);
    const bool in_time =
        opening->ended.wait_for(lock, patience, [&] { return opening->has_ended; });
    opening->abandoned = !in_time;
    if (in_time && opening->error == 0) return std::move(opening->image);
    throw_errno(place.text() + ": " + opening->step, in_time ? -opening->error : ETIMEDOUT);
}

void close(std::shared_ptr<Image> image, std::unique_ptr<Operations> operations) {
    assert(operations->requests() == 0);
    const auto closing =
        std::make_shared<Closing>(Closing{std::move(image), std::move(operations)});
    try {
        pending().run([closing] { close_now(*closing->image, *closing->operations); });
    } catch (const std::system_error& failure) {
        pending().leave_open(closing, failure);
    }
}

}  // namespace blkscope::rbd
