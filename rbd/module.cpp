// blkscope-rbd.so: librbd behind the table of functions of rbd/table.h.
#include <rados/librados.h>
#include <rbd/librbd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <string>
#include <system_error>
#include <thread>

#include "rbd/table.h"

// The cluster tells of a new size by a callback, in which librbd's functions must not be called. So
// a thread asks for the size. The thread begins with the image, because a thread may
// not be available later. An image that has shrunk must be noticed.
struct blkscope_rbd_image {
    rados_t cluster = nullptr;
    rados_ioctx_t pool = nullptr;
    rbd_image_t image = nullptr;
    uint64_t watch = 0;
    bool watches = false;
    uint64_t object_bytes = 0;
    std::atomic<uint64_t> size_bytes{0};
    std::thread asker;  // asks for the size after each update
    std::atomic<unsigned> updates{0};
    std::atomic<bool> closes{false};
};

namespace {

using Image = blkscope_rbd_image;

void ask_sizes(Image* image) {
    for (unsigned seen = 0;;) {
        image->updates.wait(seen);
        seen = image->updates.load();
        if (image->closes.load()) return;
        uint64_t size = 0;
        if (rbd_get_size(image->image, &size) == 0) image->size_bytes.store(size);
    }
}

void updated(void* of) {
    auto* const image = static_cast<Image*>(of);
    image->updates.fetch_add(1);
    image->updates.notify_all();
}

int begin_asking(Image& image) {
    try {
        image.asker = std::thread(ask_sizes, &image);
        return 0;
    } catch (const std::system_error& failure) {
        return -failure.code().value();
    }
}

void close(Image* image) {
    if (image->watches) rbd_update_unwatch(image->image, image->watch);
    image->closes.store(true);
    updated(image);
    if (image->asker.joinable()) image->asker.join();
    if (image->image != nullptr) rbd_close(image->image);
    if (image->pool != nullptr) rados_ioctx_destroy(image->pool);
    if (image->cluster != nullptr) rados_shutdown(image->cluster);
    delete image;
}

const char* optional(const char* text) {
    assert(text != nullptr);
    return *text == '\0' ? nullptr : text;
}

// A request whose time is up leaves its memory to other requests. So librbd must copy what it
// writes. Calls must not block, either: the caller serves other devices, too.
int configure(rados_t cluster, const blkscope_rbd_place& place) {
    const std::string timeout = std::to_string(place.timeout_seconds);
    const std::array<std::array<const char*, 2>, 5> options{
        {{"rbd_disable_zero_copy_writes", "true"},
         {"rbd_non_blocking_aio", "true"},
         {"client_mount_timeout", timeout.c_str()},
         {"rados_mon_op_timeout", timeout.c_str()},
         {"log_to_stderr", "false"}}};
    for (const auto& [name, value] : options) {
        if (const int error = rados_conf_set(cluster, name, value); error < 0) return error;
    }
    return 0;
}

int connect(const blkscope_rbd_place& place, Image& made, const char** step) {
    *step = "configure the client";
    if (const int error = rados_create(&made.cluster, optional(place.user)); error < 0)
        return error;
    *step = "read the cluster's configuration";
    if (const int error = rados_conf_read_file(made.cluster, optional(place.conf)); error < 0) {
        return error;
    }
    rados_conf_parse_env(made.cluster, nullptr);
    *step = "configure the client";
    if (const int error = configure(made.cluster, place); error < 0) return error;
    *step = "connect to the cluster";
    if (const int error = rados_connect(made.cluster); error < 0) return error;
    *step = "open the pool";
    if (const int error = rados_ioctx_create(made.cluster, place.pool, &made.pool); error < 0) {
        return error;
    }
    if (optional(place.name_space) != nullptr) {
        rados_ioctx_set_namespace(made.pool, place.name_space);
    }
    return 0;
}

int open_image(const blkscope_rbd_place& place, Image& made, const char** step) {
    *step = "open the image";
    const bool changes = place.read_only == 0 && optional(place.snapshot) == nullptr;
    const auto open = changes ? rbd_open : rbd_open_read_only;
    if (const int error = open(made.pool, place.image, &made.image, optional(place.snapshot));
        error < 0) {
        made.image = nullptr;
        return error;
    }
    *step = "ask for the image's size";
    rbd_image_info_t info{};
    if (const int error = rbd_stat(made.image, &info, sizeof info); error < 0) return error;
    made.size_bytes.store(info.size);
    made.object_bytes = info.obj_size;
    *step = "set the image's event";
    if (const int error = rbd_set_image_notification(made.image, place.event, EVENT_TYPE_EVENTFD);
        error < 0) {
        return error;
    }
    if (!changes) return 0;
    *step = "begin a thread";
    if (const int error = begin_asking(made); error < 0) return error;
    *step = "watch the image";
    const int error = rbd_update_watch(made.image, &made.watch, updated, &made);
    made.watches = error == 0;
    return error;
}

int open(const blkscope_rbd_place* place, Image** image, const char** step) {
    auto* const made = new Image;
    int error = connect(*place, *made, step);
    if (error == 0) error = open_image(*place, *made, step);
    if (error < 0) {
        close(made);
        return error;
    }
    *image = made;
    return 0;
}

uint64_t size_bytes(const Image* image) {
    return image->size_bytes.load();
}

uint64_t object_bytes(const Image* image) {
    return image->object_bytes;
}

// Begins an operation: start(completion) is librbd's function.
template <class Start>
int begin(void* operation, Start start) {
    rbd_completion_t completion = nullptr;
    int error = rbd_aio_create_completion(operation, nullptr, &completion);
    if (error < 0) return error;
    error = start(completion);
    if (error < 0) rbd_aio_release(completion);
    return error < 0 ? error : 0;
}

int read(Image* image, uint64_t offset, size_t bytes, void* to, void* operation) {
    return begin(operation, [&](rbd_completion_t completion) {
        return rbd_aio_read(image->image, offset, bytes, static_cast<char*>(to), completion);
    });
}

// NOLINTNEXTLINE(readability-function-size): the parameters are the table's
int write(Image* image, uint64_t offset, size_t bytes, const void* from, int fua, void* operation) {
    return begin(operation, [&](rbd_completion_t completion) {
        return rbd_aio_write2(image->image, offset, bytes, static_cast<const char*>(from),
                              completion, fua != 0 ? LIBRADOS_OP_FLAG_FADVISE_FUA : 0);
    });
}

int discard(Image* image, uint64_t offset, uint64_t bytes, void* operation) {
    return begin(operation, [&](rbd_completion_t completion) {
        return rbd_aio_discard(image->image, offset, bytes, completion);
    });
}

int write_zeroes(Image* image, uint64_t offset, uint64_t bytes, int thick, void* operation) {
    return begin(operation, [&](rbd_completion_t completion) {
        const int flags = thick != 0 ? RBD_WRITE_ZEROES_FLAG_THICK_PROVISION : 0;
        return rbd_aio_write_zeroes(image->image, offset, bytes, completion, flags, 0);
    });
}

int flush(Image* image, void* operation) {
    return begin(operation, [&](rbd_completion_t completion) {
        return rbd_aio_flush(image->image, completion);
    });
}

int take_ended(Image* image, blkscope_rbd_ended* ended, int count) {
    constexpr int at_once = 64;
    std::array<rbd_completion_t, at_once> completions{};
    const int taken =
        rbd_poll_io_events(image->image, completions.data(), count < at_once ? count : at_once);
    for (int i = 0; i < taken; ++i) {
        rbd_completion_t completion = completions[static_cast<size_t>(i)];
        ended[i] = {rbd_aio_get_arg(completion), rbd_aio_get_return_value(completion)};
        rbd_aio_release(completion);
    }
    return taken < 0 ? 0 : taken;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const blkscope_rbd_table blkscope_rbd{
    .table_bytes = sizeof(blkscope_rbd_table),
    .version = BLKSCOPE_VERSION,
    .open = open,
    .close = close,
    .size_bytes = size_bytes,
    .object_bytes = object_bytes,
    .read = read,
    .write = write,
    .discard = discard,
    .write_zeroes = write_zeroes,
    .flush = flush,
    .take_ended = take_ended,
};
