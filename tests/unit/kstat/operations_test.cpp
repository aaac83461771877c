#include "kstat/registry/operations.hpp"

#include <gtest/gtest.h>
#include <sys/kstat.h>
#include <sys/mutex.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace blkscope {

namespace {

class OperationsTest : public testing::Test {
  protected:
    ~OperationsTest() override { kstat_delete(ksp); }

    void create(uchar_t type, uint_t ndata, int flags) {
        ksp = kstat_create("ops", 0, "k", "misc", type, ndata, static_cast<uchar_t>(flags));
    }
    kstat::Reading read() const { return kstat::read_kstat(chain, ksp->ks_kid); }
    int write(uint_t ndata, void* data, size_t size) const {
        return kstat::write_kstat(chain, ksp->ks_kid, ndata, {static_cast<std::byte*>(data), size});
    }

    kstat::Chain& chain = kstat::Chain::of_this_process();
    kstat_t* ksp = nullptr;
};

int refuse(kstat_t*, int) {
    return EIO;
}
int refuse_copy(kstat_t*, void*, int) {
    return EACCES;
}

TEST_F(OperationsTest, ReadingWhatIsNotThereSaysSo) {
    EXPECT_EQ(kstat::read_kstat(chain, 4711).error, ENXIO);
    EXPECT_EQ(kstat::write_kstat(chain, 4711, 0, {}), ENXIO);
}

TEST_F(OperationsTest, AKstatThatIsNotInstalledAsksForPatience) {
    create(KSTAT_TYPE_RAW, 4, KSTAT_FLAG_WRITABLE);
    EXPECT_EQ(read().error, EAGAIN);
    std::array<char, 4> data{};
    EXPECT_EQ(write(4, data.data(), 4), EAGAIN);
}

TEST_F(OperationsTest, AReadCopiesDataAndHeader) {
    create(KSTAT_TYPE_RAW, 4, 0);
    std::memcpy(ksp->ks_data, "abcd", 4);
    kstat_install(ksp);
    const auto reading = read();
    EXPECT_EQ(reading.error, 0);
    ASSERT_EQ(reading.data.size(), 4u);
    EXPECT_EQ(std::memcmp(reading.data.data(), "abcd", 4), 0);
    EXPECT_GE(reading.header.ks_snaptime, ksp->ks_crtime);
}

TEST_F(OperationsTest, AnUpdateErrorReturnsNothing) {
    create(KSTAT_TYPE_RAW, 4, 0);
    ksp->ks_update = refuse;
    kstat_install(ksp);
    EXPECT_EQ(read().error, EIO);
    EXPECT_FALSE(read().reached);
}

TEST_F(OperationsTest, ASnapshotErrorStillReturnsTheHeader) {
    create(KSTAT_TYPE_RAW, 4, 0);
    ksp->ks_snapshot = refuse_copy;
    kstat_install(ksp);
    EXPECT_EQ(read().error, EACCES);
    EXPECT_TRUE(read().reached);
    EXPECT_TRUE(read().data.empty());
}

kmutex_t* seen_lock = nullptr;
int held_in_update = 0;
int held_in_snapshot = 0;
int see_lock(kstat_t*, int) {
    held_in_update = mutex_owned(seen_lock);
    return 0;
}
int see_lock_too(kstat_t*, void*, int) {
    held_in_snapshot = mutex_owned(seen_lock);
    return 0;
}

TEST_F(OperationsTest, TheLockIsHeldAcrossUpdateAndSnapshot) {
    static kmutex_t lock;  // the fixture deletes the kstat, which looks at it, after this body
    mutex_init(&lock, nullptr, MUTEX_DRIVER, nullptr);
    seen_lock = &lock;
    create(KSTAT_TYPE_RAW, 4, 0);
    ksp->ks_lock = &lock;
    ksp->ks_update = see_lock;
    ksp->ks_snapshot = see_lock_too;
    kstat_install(ksp);
    EXPECT_EQ(read().error, 0);
    EXPECT_EQ(held_in_update, 1);
    EXPECT_EQ(held_in_snapshot, 1);
    EXPECT_EQ(mutex_owned(&lock), 0);
}

TEST_F(OperationsTest, AWriteMustHaveTheKstatsForm) {
    create(KSTAT_TYPE_NAMED, 1, KSTAT_FLAG_WRITABLE);
    kstat_named_init(KSTAT_NAMED_PTR(ksp), "limit", KSTAT_DATA_UINT32);
    kstat_install(ksp);
    kstat_named_t record = *KSTAT_NAMED_PTR(ksp);
    record.value.ui32 = 77;
    EXPECT_EQ(write(1, &record, sizeof record), 0);
    EXPECT_EQ(KSTAT_NAMED_PTR(ksp)->value.ui32, 77u);
    EXPECT_EQ(write(2, &record, sizeof record), EINVAL);
    EXPECT_EQ(write(1, &record, sizeof record - 1), EINVAL);
    record.data_type = KSTAT_DATA_INT32;
    EXPECT_EQ(write(1, &record, sizeof record), EINVAL);
    record.data_type = KSTAT_DATA_STRING;
    EXPECT_EQ(write(1, &record, sizeof record), EINVAL);
    EXPECT_EQ(KSTAT_NAMED_PTR(ksp)->value.ui32, 77u);
}

TEST_F(OperationsTest, AWriteToOneThatIsNotWritableIsRefused) {
    create(KSTAT_TYPE_RAW, 4, 0);
    kstat_install(ksp);
    std::array<char, 4> data{};
    EXPECT_EQ(write(4, data.data(), 4), EACCES);
}

int claim_too_much(kstat_t* ksp, int) {
    ksp->ks_data_size = kstat::data_size_max + 1;
    return 0;
}

TEST_F(OperationsTest, AKstatLargerThanTheLimitIsNotCopied) {
    create(KSTAT_TYPE_RAW, 4, 0);
    ksp->ks_update = claim_too_much;
    kstat_install(ksp);
    EXPECT_EQ(read().error, EFBIG);
}

}  // namespace

}  // namespace blkscope
