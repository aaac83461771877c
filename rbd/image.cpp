#include "rbd/image.hpp"

#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace blkscope::rbd {
namespace {

constexpr std::chrono::seconds end_time_max{10};
constexpr std::chrono::milliseconds look_interval{20};

// The threads that open or close images. The destructor runs before librbd's own, because the object
// is made after librbd was loaded.
class Pending {
  public:
    ~Pending() {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, end_time_max, [this] { return threads_ == 0; })) return;
        std::fputs("blkscope: rbd: the cluster does not answer; an image stays open\n", stderr);
        std::fflush(nullptr);
        std::_Exit(1);
    }

    template <class Work>
    void run(Work work) {
        {
            const std::lock_guard lock(mutex_);
            ++threads_;
        }
        std::thread([this, work = std::move(work)]() mutable {
            work();
            const std::lock_guard lock(mutex_);
            --threads_;
            changed_.notify_all();
        }).detach();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned threads_ = 0;
};

Pending& pending() {
    static Pending pending;
    return pending;
}

// What a thread that opens an image and the thread that waits for it have in common.
struct Opening {
    std::mutex mutex;
    std::condition_variable ended;
    bool has_ended = false;
    bool abandoned = false;
    std::shared_ptr<Image> image;
    int error = 0;
    const char* step = "connect to the cluster";
};

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
    const char* step = opening.step;
    const int error = event.is_open() ? table.open(&where, &image, &step) : -errno;
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
    pending().run([&table, place, read_only, patience, opening] {
        open_now(table, place, read_only, patience, *opening);
    });
    std::unique_lock lock(opening->mutex);
    const bool in_time =
        opening->ended.wait_for(lock, patience, [&] { return opening->has_ended; });
    opening->abandoned = !in_time;
    if (in_time && opening->error == 0) return std::move(opening->image);
    throw std::system_error(in_time ? -opening->error : ETIMEDOUT, std::generic_category(),
                            place.text() + ": " + opening->step);
}

void close(std::shared_ptr<Image> image, std::unique_ptr<Operations> operations) {
    assert(operations->requests() == 0);
    pending().run([image = std::move(image), operations = std::move(operations)] {
        close_now(*image, *operations);
    });
}

}  // namespace blkscope::rbd
