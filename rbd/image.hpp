// Image: an image of a cluster that is open, and calls that the cluster may never answer.
//
//     open() ─▶ a thread connects ─┬─ in time ──▶ Image ─▶ destroyed ─▶ a thread closes it
//                                  └─ too late ─────────────────────────▶ closed by its thread
//
// Opening and closing an image block until the cluster answers. So both have threads of their own. A
// process that ends waits some seconds for them. Then it ends without them: librbd's threads
// must not run while the process destroys librbd's data.
// An image for which there is no thread stays open, and its process ends in the same way.
//
// Ownership: owns the image and the event. The table is static.
// Threads:   any.
// Errors:    open() throws std::system_error, ETIMEDOUT if the cluster has not answered in time, EAGAIN if
//            there is no thread. close() prints a line if there is none.
#pragma once

#include <array>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/descriptor.hpp"
#include "rbd/operations.hpp"
#include "rbd/place.hpp"
#include "rbd/table.h"

namespace blkscope::rbd {

class Image {
  public:
    /// Takes over the image, whose operations signal the event.
    Image(const blkscope_rbd_table& table, blkscope_rbd_image* image, Descriptor event)
        : table_(table), image_(image), event_(std::move(event)) {}
    Image& operator=(Image&&) = delete;

    [[nodiscard]] const blkscope_rbd_table& table() const { return table_; }
    [[nodiscard]] blkscope_rbd_image* get() const { return image_; }
    [[nodiscard]] int event() const { return event_.get(); }
    [[nodiscard]] uint64_t size_bytes() const { return table_.size_bytes(image_); }

  private:
    const blkscope_rbd_table& table_;
    blkscope_rbd_image* image_;
    Descriptor event_;  // librbd writes to it until the image is closed
};

/// Calls done(operation, result) for all operations that have ended.
template <class Done>
void take_ended(const Image& image, Done done) {
    constexpr int at_once = 32;
    std::array<blkscope_rbd_ended, at_once> ended{};
    int taken = at_once;
    while (taken == at_once) {
        taken = image.table().take_ended(image.get(), ended.data(), at_once);
        assert(taken >= 0 && taken <= at_once);
        for (int i = 0; i < taken; ++i) {
            const blkscope_rbd_ended& one = ended[static_cast<size_t>(i)];
            done(*static_cast<Operation*>(one.operation), one.result);
        }
    }
}

/// Opens the image for at most `patience`.
std::shared_ptr<Image> open(const blkscope_rbd_table& table, const Place& place, bool read_only,
                            std::chrono::seconds patience);

/// Closes the image when the operations have ended, however long that takes. Returns at once.
void close(std::shared_ptr<Image> image, std::unique_ptr<Operations> operations);

}  // namespace blkscope::rbd
