/*
 * The table of functions of blkscope-rbd.so, the module that has librbd.
 *
 * The module is opened when something names rbd:, so that the program runs on machines without Ceph. Both sides
 * are of one build: see `version`. No function but open() and close() blocks, whatever the cluster does.
 *
 * Units:     bytes.
 * Ownership: open() makes an image, close() destroys it. `operation` is the caller's own pointer, which
 *            take_ended() returns once. The memory of a read is lent until then. The data of a write is
 *            copied before write() returns.
 * Threads:   open() and close() any. The other functions one thread at a time for each image.
 * Errors:    a function returns 0 or -errno. After an error of read() and its sisters, take_ended() does not
 *            return the operation.
 * Source:    <rbd/librbd.h>.
 */
#ifndef BLKSCOPE_RBD_TABLE_H
#define BLKSCOPE_RBD_TABLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(readability-identifier-naming): the names of C
struct blkscope_rbd_image;

/* An image of a cluster. Optional strings are empty. */
struct blkscope_rbd_place {
    const char* pool;
    const char* name_space; /* optional */
    const char* image;
    const char* snapshot; /* optional */
    const char* conf;     /* optional: librados looks where it always does */
    const char* user;     /* optional: admin */
    int read_only;
    unsigned timeout_seconds; /* for the connection to the cluster */
    int event;                /* an eventfd, which is signalled when operations have ended */
};

struct blkscope_rbd_ended {
    void* operation;
    int64_t result; /* bytes read, 0, or -errno */
};

struct blkscope_rbd_table {
    size_t table_bytes;
    const char* version;

    /* On failure `step` says what was tried. */
    int (*open)(const struct blkscope_rbd_place* place, struct blkscope_rbd_image** image,
                const char** step);
    /* All operations have ended and were taken. */
    void (*close)(struct blkscope_rbd_image* image);

    /* The size that the cluster last told. Any thread. */
    uint64_t (*size_bytes)(const struct blkscope_rbd_image* image);
    uint64_t (*object_bytes)(const struct blkscope_rbd_image* image);

    int (*read)(struct blkscope_rbd_image* image, uint64_t offset, size_t bytes, void* to,
                void* operation);
    int (*write)(struct blkscope_rbd_image* image, uint64_t offset, size_t bytes, const void* from,
                 int fua, void* operation);
    int (*discard)(struct blkscope_rbd_image* image, uint64_t offset, uint64_t bytes,
                   void* operation);
    /* With `thick` the range stays provisioned. */
    int (*write_zeroes)(struct blkscope_rbd_image* image, uint64_t offset, uint64_t bytes, int thick,
                        void* operation);
    int (*flush)(struct blkscope_rbd_image* image, void* operation);

    /* Returns how many operations were written to `ended`. */
    int (*take_ended)(struct blkscope_rbd_image* image, struct blkscope_rbd_ended* ended, int count);
};
// NOLINTEND(readability-identifier-naming)

/* The name of the module's only symbol, a struct blkscope_rbd_table. */
#define BLKSCOPE_RBD_SYMBOL "blkscope_rbd"

#ifdef __cplusplus
}
#endif

#endif
