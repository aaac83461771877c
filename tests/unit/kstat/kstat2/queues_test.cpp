// The I/O template and its queue functions.

#include "base/clock.hpp"
#include "support.hpp"

namespace blkscope::kstat2::tests {

namespace {

size_t position(const Map& map, const std::string& name) {
    for (size_t i = 0; i < map.fields.size(); ++i) {
        if (map.fields[i].name == name) return i;
    }
    ADD_FAILURE() << name;
    return 0;
}

TEST(Kstat2Templates, AreTheirStructsAsArrays) {
    const struct {
        uint32_t id;
        size_t size;
        std::vector<std::string> names;
    } table[] = {
        {KSTAT2_MT_QUEUE,
         sizeof(kstat2_queue_t),
         {"wtime", "wlentime", "wlastupdate", "rtime", "rlentime", "rlastupdate", "wcnt", "rcnt"}},
        {KSTAT2_MT_IO,
         sizeof(kstat2_io_t),
         {"nread", "nwritten", "reads", "writes", "wtime", "wlentime", "wlastupdate", "rtime",
          "rlentime", "rlastupdate", "wcnt", "rcnt"}},
        {KSTAT2_MT_INTR,
         sizeof(kstat2_intr_t),
         {"hard", "soft", "watchdog", "spurious", "multsvc"}},
        {KSTAT2_MT_TIMER,
         sizeof(kstat2_timer_t),
         {"num_events", "elapsed_time", "min_time", "max_time", "start_time", "stop_time"}},
    };
    for (const auto& row : table) {
        const Owned ksp(templated("misc/template/one", row.id));
        ASSERT_NE(ksp, nullptr);
        EXPECT_EQ(ksp->ks2_ndata * sizeof(kstat2_named_t), row.size);
        kstat2_install(ksp.get());
        const auto map = listed(ksp.get());
        ASSERT_TRUE(map);
        EXPECT_EQ(map->metatype, row.id);
        std::vector<std::string> names;
        for (const Field& field : map->fields) names.push_back(field.name);
        EXPECT_EQ(names, row.names);
    }
    EXPECT_EQ(kstat2_lookup_template(KSTAT2_MT_NONE), nullptr);
    EXPECT_EQ(kstat2_lookup_template(KSTAT2_MT_HIST), nullptr);
}

TEST(Kstat2Templates, SayWhichValuesAreCountersAndInWhatUnit) {
    const Owned ksp(templated("disk/template/one", KSTAT2_MT_IO));
    kstat2_install(ksp.get());
    const auto map = listed(ksp.get());
    ASSERT_TRUE(map);
    const auto md = [&map](const char* name) { return map->fields[position(*map, name)].md; };
    EXPECT_EQ(md("reads").type, KSTAT2_NVMT_CNT);
    EXPECT_EQ(md("nwritten").type, KSTAT2_NVMT_BYTES);
    EXPECT_EQ(md("wcnt").type, KSTAT2_NVMT_STATE);
    EXPECT_EQ(md("rtime").type, KSTAT2_NVMT_T_ACC);
    EXPECT_EQ(md("rtime").scale, 1'000'000'000U);
    EXPECT_EQ(md("rtime").flags, KSTAT2_NVMF_FRACT);
    EXPECT_EQ(md("rlastupdate").type, KSTAT2_NVMT_T_REL);
}

TEST(Kstat2Templates, PrepareTheProvidersOwnStruct) {
    kstat2_io_t io{};
    const Owned ksp(templated("disk/template/own", KSTAT2_MT_IO, 0, &io.nread));
    EXPECT_EQ(KSTAT2_IO_PTR(ksp), &io);
    kstat2_install(ksp.get());
    KSTAT2_IO_NREAD(&io) += 512;
    EXPECT_EQ(integer(read(ksp.get())), 512U);
    EXPECT_STREQ(io.nread.name.ptr, "nread");
}

TEST(Kstat2Queues, ChargeTheTimeThatRequestsSpendInThem) {
    kstat2_io_t io{};
    const auto now = [] { return static_cast<uint64_t>(now_ns()); };
    const uint64_t before = now();
    kstat2_waitq_enter(&io);
    kstat2_waitq_enter(&io);
    EXPECT_EQ(KSTAT2_IO_WCNT(&io), 2U);
    kstat2_waitq_to_runq(&io);
    EXPECT_EQ(KSTAT2_IO_WLASTUPDATE(&io), KSTAT2_IO_RLASTUPDATE(&io)) << "one moment for both";
    kstat2_runq_back_to_waitq(&io);
    kstat2_waitq_exit(&io);
    kstat2_waitq_exit(&io);
    kstat2_runq_enter(&io);
    kstat2_runq_exit(&io);
    const uint64_t spent = now() - before;
    EXPECT_EQ(KSTAT2_IO_WCNT(&io), 0U);
    EXPECT_EQ(KSTAT2_IO_RCNT(&io), 0U);
    EXPECT_LE(KSTAT2_IO_WTIME(&io), spent);
    EXPECT_GE(KSTAT2_IO_WLENTIME(&io), KSTAT2_IO_WTIME(&io));
    EXPECT_LE(KSTAT2_IO_WLENTIME(&io), 2 * spent);
    EXPECT_EQ(KSTAT2_IO_RLENTIME(&io), KSTAT2_IO_RTIME(&io));
    EXPECT_GE(KSTAT2_IO_WLASTUPDATE(&io), before);
}

TEST(Kstat2Queues, LeavingAnEmptyOneIsFatal) {
    kstat2_io_t io{};
    EXPECT_DEATH(kstat2_waitq_exit(&io), "");
    EXPECT_DEATH(kstat2_runq_exit(&io), "");
}

TEST(Kstat2Queues, AReaderSeesThemChargedUpToNow) {
    const Owned ksp(templated("disk/queues/busy", KSTAT2_MT_IO));
    kstat2_install(ksp.get());
    kstat2_io_t* const io = KSTAT2_IO_PTR(ksp);
    kstat2_runq_enter(io);
    kstat2_runq_enter(io);
    const uint64_t since = KSTAT2_IO_RLASTUPDATE(io);
    const uint64_t first = KSTAT2_IO_RTIME(io);
    const auto map = listed(ksp.get());
    const Reading reading = read(ksp.get());
    const auto value = [&](const char* name) { return integer(reading, position(*map, name)); };
    const uint64_t delta = static_cast<uint64_t>(reading.values.snaptime) - since;
    EXPECT_EQ(value("rtime"), first + delta);
    EXPECT_EQ(value("rlentime"), KSTAT2_IO_RLENTIME(io) + 2 * delta);
    EXPECT_EQ(value("rlastupdate"), static_cast<uint64_t>(reading.values.snaptime));
    EXPECT_EQ(value("wtime"), 0U);
    EXPECT_EQ(value("wlastupdate"), 0U) << "an idle one keeps its last update";
    EXPECT_EQ(KSTAT2_IO_RTIME(io), first) << "the live one is not touched";
}

}  // namespace

}  // namespace blkscope::kstat2::tests
