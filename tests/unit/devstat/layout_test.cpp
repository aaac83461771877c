// The structs and numbers as FreeBSD's 64-bit headers have them. Programs are compiled against
// them, and readers in other languages rely on the offsets.
#include <devstat.h>
#include <gtest/gtest.h>

#include <cstddef>

extern "C" {
int c99_sees_the_devstat_types(void);
int c11_sees_the_devstat_types(void);
}

namespace {

using Devstat = struct devstat;

static_assert(sizeof(Devstat) == 288);
static_assert(offsetof(Devstat, sequence0) == 0 && offsetof(Devstat, allocated) == 4);
static_assert(offsetof(Devstat, start_count) == 8 && offsetof(Devstat, end_count) == 12);
static_assert(offsetof(Devstat, busy_from) == 16 && offsetof(Devstat, dev_links) == 32);
static_assert(offsetof(Devstat, device_number) == 40 && offsetof(Devstat, device_name) == 44);
static_assert(offsetof(Devstat, unit_number) == 60 && offsetof(Devstat, bytes) == 64);
static_assert(offsetof(Devstat, operations) == 96 && offsetof(Devstat, duration) == 128);
static_assert(offsetof(Devstat, busy_time) == 192 && offsetof(Devstat, creation_time) == 208);
static_assert(offsetof(Devstat, block_size) == 224 && offsetof(Devstat, tag_types) == 232);
static_assert(offsetof(Devstat, flags) == 256 && offsetof(Devstat, device_type) == 260);
static_assert(offsetof(Devstat, priority) == 264 && offsetof(Devstat, id) == 272);
static_assert(offsetof(Devstat, sequence1) == 280);

static_assert(sizeof(device_selection) == 48 && offsetof(device_selection, selected) == 24);
static_assert(offsetof(device_selection, bytes) == 32 &&
              offsetof(device_selection, position) == 40);
static_assert(sizeof(devinfo) == 32 && offsetof(devinfo, generation) == 16);
static_assert(sizeof(statinfo) == 80 && offsetof(statinfo, dinfo) == 56);
static_assert(offsetof(statinfo, snap_time) == 64);
static_assert(sizeof(devstat_match) == 12);

static_assert(DEVSTAT_VERSION == 6 && DEVSTAT_USER_API_VER == 6 && DEVSTAT_ERRBUF_SIZE == 2048);
static_assert(DEVSTAT_N_TRANS_FLAGS == 4 && DEVSTAT_FREE == 3 && DEVSTAT_TAG_NONE == 3);
static_assert(DEVSTAT_PRIORITY_DISK == 0x110 && DEVSTAT_PRIORITY_MAX == 0xfff);
static_assert(DEVSTAT_TYPE_FLOPPY == 0xe && DEVSTAT_TYPE_IF_OTHER == 0x30);
static_assert(DEVSTAT_TYPE_IF_NVME == 0x40 && DEVSTAT_TYPE_IF_MASK == 0xf0);
static_assert(DEVSTAT_TYPE_PASS == 0x100 && DEVSTAT_MATCH_PASS == 4);
static_assert(DSM_TOTAL_BYTES == 1 && DSM_TOTAL_TRANSFERS_OTHER == 7 && DSM_TOTAL_BLOCKS == 8);
static_assert(DSM_KB_PER_TRANSFER == 11 && DSM_TRANSFERS_PER_SECOND_OTHER == 17);
static_assert(DSM_MB_PER_SECOND == 18 && DSM_BLOCKS_PER_SECOND == 21);
static_assert(DSM_MS_PER_TRANSACTION == 24 && DSM_SKIP == 27 && DSM_TOTAL_BYTES_FREE == 28);
static_assert(DSM_KB_PER_TRANSFER_FREE == 31 && DSM_BLOCKS_PER_SECOND_FREE == 34);
static_assert(DSM_MS_PER_TRANSACTION_OTHER == 35 && DSM_BUSY_PCT == 37 && DSM_QUEUE_LENGTH == 38);
static_assert(DSM_TOTAL_DURATION == 39 && DSM_TOTAL_DURATION_OTHER == 43);
static_assert(DSM_TOTAL_BUSY_TIME == 44 && DSM_MAX == 45);

TEST(DevstatHeaders, CompileAsStrictC99AndC11) {
    EXPECT_EQ(c99_sees_the_devstat_types(), 1);
    EXPECT_EQ(c11_sees_the_devstat_types(), 1);
}

// FreeBSD's header names the head of such a list.
TEST(DevstatHeaders, AProgramMayKeepAListOfEntries) {
    devstatlist list;
    STAILQ_INIT(&list);
    struct devstat one {};
    struct devstat two {};
    STAILQ_INSERT_TAIL(&list, &one, dev_links);
    STAILQ_INSERT_TAIL(&list, &two, dev_links);
    EXPECT_EQ(STAILQ_NEXT(STAILQ_FIRST(&list), dev_links), &two);
}

}  // namespace
