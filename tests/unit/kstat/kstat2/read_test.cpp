// One snapshot: every type of value, under the lock, after the update.
#include <cerrno>

#include "support.hpp"

namespace blkscope::kstat2::tests {

namespace {

// The arguments of a provider's functions, through ks2_private.
struct Provider {
    kmutex_t lock{};
    int calls = 0;
    int result = 0;
    bool lock_was_held = false;

    Provider() { mutex_init(&lock, nullptr, MUTEX_DRIVER, nullptr); }
    ~Provider() { mutex_destroy(&lock); }
    Provider(const Provider&) = delete;
    Provider& operator=(const Provider&) = delete;

    static int update(kstat2_t* ksp, int rw) {
        EXPECT_EQ(rw, KSTAT_READ);
        auto& self = *static_cast<Provider*>(ksp->ks2_private);
        ++self.calls;
        self.lock_was_held = mutex_owned(&self.lock) != 0;
        KSTAT2_NAMED_PTR(ksp)->value.integer += 10;
        return self.result;
    }

    kstat2_t* make(const std::string& path, uint32_t flags = 0) {
        kstat2_t* const ksp = create(path, 1, flags);
        kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "n", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
        ksp->ks2_update = update;
        ksp->ks2_private = this;
        ksp->ks2_lock = &lock;
        kstat2_install(ksp);
        return ksp;
    }
};

TEST(Kstat2Read, GivesEveryTypeOfValue) {
    const Owned ksp(create("misc/types/one", 4));
    kstat2_named_t* const pairs = KSTAT2_NAMED_PTR(ksp);
    uint64_t numbers[] = {1, 2, UINT64_MAX};
    char first[] = "first";
    kstat2_named_str_t texts[] = {{first, 6}, {nullptr, 0}};
    kstat2_nv_init(&pairs[0], "int", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    kstat2_nv_init(&pairs[1], "ints", KSTAT2_NVVT_INTS, KSTAT2_NVF_INVAL);
    kstat2_nv_init(&pairs[2], "str", KSTAT2_NVVT_STR, KSTAT2_NVF_NONE);
    kstat2_nv_init(&pairs[3], "strs", KSTAT2_NVVT_STRS, KSTAT2_NVF_NONE);
    pairs[0].value.integer = UINT64_MAX;
    kstat2_nv_setints(&pairs[1], numbers, 3);
    kstat2_nv_setstr(&pairs[2], "text");
    kstat2_nv_setstrs(&pairs[3], texts, 2);
    kstat2_install(ksp.get());
    const Reading reading = read(ksp.get());
    EXPECT_EQ(reading.error, 0);
    const std::vector<Value> values{{0, UINT64_MAX},
                                    {KSTAT2_NVF_INVAL, std::vector<uint64_t>{1, 2, UINT64_MAX}},
                                    {0, std::string("text")},
                                    {0, std::vector<std::string>{"first", ""}}};
    EXPECT_EQ(reading.values.values, values);
    EXPECT_EQ(reading.values.snaptime, ksp->ks2_snaptime);
}

TEST(Kstat2Read, NullStringsAndArraysAreEmpty) {
    const Owned ksp(create("misc/nulls/one", 3));
    kstat2_named_t* const pairs = KSTAT2_NAMED_PTR(ksp);
    kstat2_nv_init(&pairs[0], "ints", KSTAT2_NVVT_INTS, KSTAT2_NVF_NONE);
    kstat2_nv_init(&pairs[1], "str", KSTAT2_NVVT_STR, KSTAT2_NVF_NONE);
    kstat2_nv_init(&pairs[2], "strs", KSTAT2_NVVT_STRS, KSTAT2_NVF_NONE);
    kstat2_nv_setints(&pairs[0], nullptr, 7);
    kstat2_nv_setstr(&pairs[1], nullptr);
    kstat2_nv_setstrs(&pairs[2], nullptr, 7);
    EXPECT_EQ(pairs[0].value.integers.length, 0U);
    kstat2_install(ksp.get());
    const std::vector<Value> values{
        {0, std::vector<uint64_t>()}, {0, std::string()}, {0, std::vector<std::string>()}};
    EXPECT_EQ(read(ksp.get()).values.values, values);
}

TEST(Kstat2Read, ReadsTheProvidersOwnStorage) {
    kstat2_named_t data[2]{};
    kstat2_nv_init(&data[0], "a", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    kstat2_nv_init(&data[1], "b", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    const Owned ksp(create("misc/own/one", 2, 0, ALL_ZONES, KSTAT2_MF_NONE, data));
    EXPECT_EQ(ksp->ks2_data, data);
    kstat2_install(ksp.get());
    data[1].value.integer = 5;
    EXPECT_EQ(integer(read(ksp.get()), 1), 5U);
}

TEST(Kstat2Read, UpdatesUnderTheLock) {
    Provider provider;
    const Owned ksp(provider.make("misc/updated/one"));
    EXPECT_EQ(integer(read(ksp.get())), 10U);
    EXPECT_EQ(integer(read(ksp.get())), 20U);
    EXPECT_TRUE(provider.lock_was_held);
    EXPECT_EQ(mutex_owned(&provider.lock), 0);
}

TEST(Kstat2Read, OfAFailedUpdateFlagsEveryValue) {
    Provider provider;
    provider.result = EIO;
    const Owned ksp(provider.make("misc/failing/one"));
    const Reading reading = read(ksp.get());
    EXPECT_EQ(reading.error, 0);
    EXPECT_EQ(reading.values.error, EIO);
    EXPECT_EQ(reading.values.values[0].flags, KSTAT2_NVF_INVAL);
    provider.result = 0;
    EXPECT_EQ(read(ksp.get()).values.values[0].flags, KSTAT2_NVF_NONE);
}

TEST(Kstat2Read, FlagsAValueWhoseTypeTheProviderChanged) {
    const Owned ksp(number("misc/retyped/one", 5));
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "n", KSTAT2_NVVT_STR, KSTAT2_NVF_NONE);
    const Reading reading = read(ksp.get());
    EXPECT_EQ(reading.values.values[0].flags, KSTAT2_NVF_INVAL);
    EXPECT_EQ(integer(reading), 0U);
}

TEST(Kstat2Read, RefusesMoreThanAReplyHolds) {
    const Owned ksp(create("misc/toomuch/one"));
    static uint64_t one = 1;
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "n", KSTAT2_NVVT_INTS, KSTAT2_NVF_NONE);
    // Never looked at: the length alone is too much.
    kstat2_nv_setints(KSTAT2_NAMED_PTR(ksp), &one, UINT32_MAX);
    kstat2_install(ksp.get());
    EXPECT_EQ(read(ksp.get()).error, EFBIG);
}

TEST(Kstat2Read, ADeletedKstatIsGone) {
    kstat2_t* const ksp = number("misc/gone/one", 1);
    const kid_t kid = ksp->ks2_kid;
    kstat2_delete(ksp);
    EXPECT_EQ(Maps::of_this_process().read(root, kid).error, ENXIO);
    EXPECT_EQ(kstat2_hold_bykid(kid), nullptr);
    const Owned next(number("misc/gone/one", 1));
    EXPECT_NE(next->ks2_kid, kid);
}

TEST(Kstat2Read, AProviderMayOverwriteTheNumber) {
    kstat2_t* const ksp = number("misc/overwritten/number", 5);
    const kid_t kid = ksp->ks2_kid;
    ksp->ks2_kid = kid + 1000;
    const Reading reading = Maps::of_this_process().read(root, kid);
    EXPECT_EQ(integer(reading), 5u);
    EXPECT_EQ(reading.values.kid, kid);
    kstat2_delete(ksp);
    EXPECT_EQ(Maps::of_this_process().read(root, kid).error, ENXIO);
    const Owned next(number("misc/overwritten/number", 6));
    ASSERT_NE(next, nullptr);
    EXPECT_EQ(integer(read(next.get())), 6u);
}

TEST(Kstat2Read, AHeldKstatStaysInMemoryAndIsGone) {
    kstat2_t* const ksp = number("misc/held/one", 7);
    ASSERT_EQ(kstat2_hold_bykid(ksp->ks2_kid), ksp);
    kstat2_delete(ksp);
    EXPECT_EQ(KSTAT2_NAMED_PTR(ksp)->value.integer, 7U);
    EXPECT_EQ(read(ksp, root).error, ENXIO);
    const Owned successor(number("misc/held/one", 1));
    EXPECT_NE(successor, nullptr);
    kstat2_rele(ksp);
}

TEST(Kstat2Read, StrangersAreToldAsMuch) {
    kstat2_t stranger{};
    EXPECT_NE(said([&] { kstat2_delete(&stranger); }).find("is not a kstat"), std::string::npos);
    EXPECT_EQ(said([] { kstat2_delete(nullptr); }), "");
    EXPECT_DEATH(kstat2_rele(&stranger), "kstat2_rele: nobody holds");
}

TEST(Kstat2Read, DeletingWithTheLockHeldIsFatal) {
    Provider provider;
    const Owned ksp(provider.make("misc/deadlock/one"));
    EXPECT_DEATH(
        {
            mutex_enter(&provider.lock);
            kstat2_delete(ksp.get());
        },
        "the caller holds ks2_lock");
}

TEST(Kstat2Read, DeletingInItsOwnUpdateIsFatal) {
    const auto read_one_that_deletes_itself = [] {
        kstat2_t* const ksp = create("misc/suicide/one");
        kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "n", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
        ksp->ks2_update = [](kstat2_t* self, int) {
            kstat2_delete(self);
            return 0;
        };
        kstat2_install(ksp);
        read(ksp);
    };
    EXPECT_DEATH(read_one_that_deletes_itself(), "its ks2_update waits for itself");
}

TEST(Kstat2Read, AValueOfAnotherTypeCannotBeSet) {
    kstat2_named_t pair{};
    kstat2_nv_init(&pair, "n", KSTAT2_NVVT_INT, 0);
    EXPECT_DEATH(kstat2_nv_setstr(&pair, "text"), "'n' is of another type");
    EXPECT_DEATH(kstat2_nv_setints(&pair, nullptr, 0), "'n' is of another type");
    EXPECT_DEATH(kstat2_nv_setstrs(&pair, nullptr, 0), "'n' is of another type");
}

}  // namespace

}  // namespace blkscope::kstat2::tests
