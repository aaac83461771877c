// Watch: a read of the image's event on a ring, while librbd has operations of the backing.
//
// The backing may end while librbd has orphans, and the ring goes on. The watch then signals the event
// itself and outlives the backing until the ring has ended the read.
//
// Ownership: owns itself from abandon() on, and the event together with the image.
// Threads:   the ring's worker.
// Errors:    none.
#pragma once

#include <sys/eventfd.h>

#include <cassert>
#include <cstdint>
#include <memory>
#include <utility>

#include "blockdev/ring/ring.hpp"
#include "rbd/image.hpp"

namespace blkscope::rbd {

/// An object that is called when the event was signalled.
class Watcher {
  public:
    virtual void signalled() = 0;

  protected:
    Watcher& operator=(Watcher&&) = delete;
    ~Watcher() = default;
};

class Watch final : public Completion {
  public:
    Watch(Watcher& watcher, std::shared_ptr<const Image> image)
        : watcher_(&watcher), image_(std::move(image)) {}

    /// Waits for the event, once, if it does not do so already.
    void begin(Ring& ring) {
        assert(watcher_ != nullptr);
        if (reads_) return;
        reads_ = true;
        ring.prepare(*this, [this](io_uring_sqe* entry) {
            io_uring_prep_read(entry, image_->event(), &count_, sizeof count_, 0);
        });
    }

    /// Destroys the watch, at once or when its read has ended. The watcher is not called again.
    void abandon() {
        watcher_ = nullptr;
        reads_ ? static_cast<void>(eventfd_write(image_->event(), 1)) : delete this;
    }

    void complete(int32_t) override {
        reads_ = false;
        watcher_ != nullptr ? watcher_->signalled() : delete this;
    }

  private:
    ~Watch() override = default;

    Watcher* watcher_;
    const std::shared_ptr<const Image> image_;
    bool reads_ = false;
    uint64_t count_ = 0;  // the kernel writes the event's value here; nothing reads it
};

}  // namespace blkscope::rbd
