// A cluster for tests: an image of zeroes, whose operations wait until the test ends them.
#pragma once

#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rbd/table.h"

struct blkscope_rbd_image {
    struct Waiting {
        std::string what;
        uint64_t offset;
        uint64_t bytes;
        void* to;
        void* operation;
    };

    std::atomic<uint64_t> size_bytes{uint64_t{1} << 30};
    std::atomic<bool> answers_at_once{true};
    std::atomic<bool> is_closed{false};
    std::atomic<int> open_error{0};
    std::chrono::milliseconds open_time{0};
    int event = -1;
    std::mutex mutex;  // of the lists: an image is closed on another thread
    std::deque<Waiting> waiting;
    std::deque<blkscope_rbd_ended> ended;

    static blkscope_rbd_image& the() {
        static blkscope_rbd_image image;
        return image;
    }

    void reset() {
        const std::lock_guard lock(mutex);
        size_bytes = uint64_t{1} << 30;
        answers_at_once = true;
        is_closed = false;
        open_error = 0;
        open_time = {};
        waiting.clear();
        ended.clear();
    }

    int begin(const char* what, uint64_t offset, uint64_t bytes, void* to, void* operation) {
        {
            const std::lock_guard lock(mutex);
            waiting.push_back({what, offset, bytes, to, operation});
        }
        if (answers_at_once) {
            const std::string text = what;
            finish_first(text == "read" ? static_cast<int64_t>(bytes) : 0, std::byte{0});
        }
        return 0;
    }

    /// Ends the operation that began first. A read moves bytes of this value.
    void finish_first(int64_t result, std::byte value = std::byte{'r'}) {
        const std::lock_guard lock(mutex);
        const Waiting first = waiting.front();
        waiting.pop_front();
        if (first.what == "read" && result > 0) {
            std::memset(first.to, static_cast<int>(value), static_cast<size_t>(result));
        }
        ended.push_back({first.operation, result});
        eventfd_write(event, 1);
    }

    [[nodiscard]] std::string first() {
        const std::lock_guard lock(mutex);
        if (waiting.empty()) return "none";
        const Waiting& one = waiting.front();
        return one.what + " " + std::to_string(one.offset) + " " + std::to_string(one.bytes);
    }
};

namespace blkscope::rbd {

inline const blkscope_rbd_table fake_librbd{
    .table_bytes = sizeof(blkscope_rbd_table),
    .version = "",
    .open =
        [](const blkscope_rbd_place* place, blkscope_rbd_image** image, const char** step) {
            auto& the = blkscope_rbd_image::the();
            std::this_thread::sleep_for(the.open_time);
            *step = "open the image";
            *image = &the;
            the.event = place->event;
            return the.open_error.load();
        },
    .close = [](blkscope_rbd_image* image) { image->is_closed = true; },
    .size_bytes = [](const blkscope_rbd_image* image) { return image->size_bytes.load(); },
    .object_bytes = [](const blkscope_rbd_image*) { return uint64_t{4} << 20; },
    .read = [](blkscope_rbd_image* image, uint64_t offset, size_t bytes, void* to,
               void* operation) { return image->begin("read", offset, bytes, to, operation); },
    .write =
        [](blkscope_rbd_image* image, uint64_t offset, size_t bytes, const void*, int fua,
           void* operation) {
            return image->begin(fua != 0 ? "write-fua" : "write", offset, bytes, nullptr,
                                operation);
        },
    .discard =
        [](blkscope_rbd_image* image, uint64_t offset, uint64_t bytes, void* operation) {
            return image->begin("discard", offset, bytes, nullptr, operation);
        },
    .write_zeroes =
        [](blkscope_rbd_image* image, uint64_t offset, uint64_t bytes, int thick, void* operation) {
            return image->begin(thick != 0 ? "zeroes-thick" : "zeroes", offset, bytes, nullptr,
                                operation);
        },
    .flush = [](blkscope_rbd_image* image,
                void* operation) { return image->begin("flush", 0, 0, nullptr, operation); },
    .take_ended =
        [](blkscope_rbd_image* image, blkscope_rbd_ended* ended, int count) {
            const std::lock_guard lock(image->mutex);
            int taken = 0;
            for (; taken < count && !image->ended.empty(); ++taken) {
                ended[taken] = image->ended.front();
                image->ended.pop_front();
            }
            return taken;
        },
};

}  // namespace blkscope::rbd
