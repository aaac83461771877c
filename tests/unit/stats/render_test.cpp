#include <nlohmann/json.hpp>

#include "fixture.hpp"

namespace blkscope::stats {

namespace {

BlobPtr rendered_example() {
    return blob_of(example_template());
}

// The number behind each of these words becomes N: it changes from run to run.
std::string steady(std::string text) {
    for (const std::string& word :
         std::vector<std::string>{"@0x", "created=", "lastrst=", "\"created\":", "\"lastrst\":"}) {
        const size_t at = text.find(word);
        if (at == std::string::npos) continue;
        const size_t first = at + word.size();
        const size_t end = text.find_first_not_of("0123456789abcdef", first);
        text.replace(first, end - first, "N");
    }
    return text;
}

TEST(StatsText, FreeformIsTheManuals) {
    const BlobPtr blob = rendered_example();
    EXPECT_EQ(
        steady(text_of(blob.get(), SB_STRFMT_FREEFORM, SB_TOSTR_OBJDUMP)),
        "struct statsblobv1@0xN, abi=1, endian=1, maxsz=136, cursz=136, created=N, lastrst=N, "
        "flags=0x0000, stats_off=56, statsdata_off=112, tplhash=3741691821\n"
        "\tvois[0]: id=0, name=\"\", flags=0x0001, dtype=INT_S64, voistatmaxid=3, stats_off=80\n"
        "\t\tvois[0]stat[0]: stype=VOISTATE, errs=0, flags=0x0000, dtype=VOISTATE, dsz=8, "
        "data_off=120\n"
        "\t\t\tvoistatdata: prev=0\n"
        "\t\tvois[0]stat[1]: stype=-1\n"
        "\t\tvois[0]stat[2]: stype=-1\n"
        "\t\tvois[0]stat[3]: stype=MIN, errs=0, flags=0x0000, dtype=INT_S64, dsz=8, data_off=128\n"
        "\t\t\tvoistatdata: 9223372036854775807\n"
        "\tvois[1]: id=-1\n"
        "\tvois[2]: id=2, name=\"\", flags=0x0000, dtype=INT_U32, voistatmaxid=2, stats_off=56\n"
        "\t\tvois[2]stat[0]: stype=-1\n"
        "\t\tvois[2]stat[1]: stype=SUM, errs=0, flags=0x0000, dtype=INT_U32, dsz=4, data_off=112\n"
        "\t\t\tvoistatdata: 0\n"
        "\t\tvois[2]stat[2]: stype=MAX, errs=0, flags=0x0000, dtype=INT_U32, dsz=4, data_off=116\n"
        "\t\t\tvoistatdata: 0");
    EXPECT_EQ(steady(text_of(blob.get(), SB_STRFMT_FREEFORM, SB_TOSTR_META)),
              "struct statsblobv1@0xN, tplhash=3741691821\n"
              "\tvois[0]: id=0, name=\"v0\"\n"
              "\t\tvois[0]stat[3]: stype=MIN, errs=0\n"
              "\t\t\tvoistatdata: 9223372036854775807\n"
              "\tvois[2]: id=2, name=\"v2\"\n"
              "\t\tvois[2]stat[1]: stype=SUM, errs=0\n"
              "\t\t\tvoistatdata: 0\n"
              "\t\tvois[2]stat[2]: stype=MAX, errs=0\n"
              "\t\t\tvoistatdata: 0");
}

TEST(StatsText, JsonHasNumbersOrNamesAndNullsForWhatWasNeverFed) {
    const BlobPtr blob = rendered_example();
    EXPECT_EQ(stats_voi_update_abs_s64(blob.get(), 0, -8), 0);
    EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 2, 0), 0);
    EXPECT_EQ(
        text_of(blob.get(), SB_STRFMT_JSON),
        R"({"tplname":null,"tplhash":3741691821,"vois":{"[0]":{"stats":{"[3]":{"errs":0,"val":-8}}},)"
        R"("[2]":{"stats":{"[1]":{"errs":0,"val":0},"[2]":null}}}})");
    EXPECT_EQ(
        text_of(blob.get(), SB_STRFMT_JSON, SB_TOSTR_META),
        R"({"tplname":"EX","tplhash":3741691821,"vois":{"v0":{"stats":{"MIN":{"errs":0,"val":-8}}},)"
        R"("v2":{"stats":{"SUM":{"errs":0,"val":0},"MAX":null}}}})");
}

TEST(StatsText, JsonOfTheWholeObjectIsTheManuals) {
    const BlobPtr blob = rendered_example();
    EXPECT_EQ(
        steady(text_of(blob.get(), SB_STRFMT_JSON, SB_TOSTR_OBJDUMP)),
        R"({"abi":1,"endian":1,"maxsz":136,"cursz":136,"created":N,"lastrst":N,"flags":0,)"
        R"("stats_off":56,"statsdata_off":112,"tplname":null,"tplhash":3741691821,)"
        R"("vois":{"[0]":{"id":0,"name":null,"flags":1,"dtype":"INT_S64","voistatmaxid":3,"stats_off":80,)"
        R"("stats":{"[0]":{"stype":"VOISTATE","errs":0,"flags":0,"dtype":"VOISTATE","data_off":120,)"
        R"("voistatdata":{"prev":0}},"[1]":{"stype":-1},"[2]":{"stype":-1},)"
        R"("[3]":{"stype":"MIN","errs":0,"flags":0,"dtype":"INT_S64","data_off":128,)"
        R"("voistatdata":{"val":9223372036854775807}}}},"[1]":{"id":-1},)"
        R"("[2]":{"id":2,"name":null,"flags":0,"dtype":"INT_U32","voistatmaxid":2,"stats_off":56,)"
        R"("stats":{"[0]":{"stype":-1},)"
        R"("[1]":{"stype":"SUM","errs":0,"flags":0,"dtype":"INT_U32","data_off":112,"voistatdata":{"val":0}},)"
        R"("[2]":{"stype":"MAX","errs":0,"flags":0,"dtype":"INT_U32","data_off":116,"voistatdata":{"val":0}}}}}})");
}

TEST(StatsText, JsonOfTheWholeObjectWithNamesKeepsTheSlotsAsKeys) {
    const BlobPtr blob = rendered_example();
    EXPECT_EQ(
        steady(text_of(blob.get(), SB_STRFMT_JSON, SB_TOSTR_OBJDUMP | SB_TOSTR_META)),
        R"({"abi":1,"endian":1,"maxsz":136,"cursz":136,"created":N,"lastrst":N,"flags":0,)"
        R"("stats_off":56,"statsdata_off":112,"tplname":"EX","tplhash":3741691821,)"
        R"("vois":{"[0]":{"id":0,"name":"v0","flags":1,"dtype":"INT_S64","voistatmaxid":3,"stats_off":80,)"
        R"("stats":{"[0]":{"stype":"VOISTATE","errs":0,"flags":0,"dtype":"VOISTATE","data_off":120,)"
        R"("voistatdata":{"prev":0}},"[1]":{"stype":-1},"[2]":{"stype":-1},)"
        R"("[3]":{"stype":"MIN","errs":0,"flags":0,"dtype":"INT_S64","data_off":128,)"
        R"("voistatdata":{"val":9223372036854775807}}}},"[1]":{"id":-1},)"
        R"("[2]":{"id":2,"name":"v2","flags":0,"dtype":"INT_U32","voistatmaxid":2,"stats_off":56,)"
        R"("stats":{"[0]":{"stype":-1},)"
        R"("[1]":{"stype":"SUM","errs":0,"flags":0,"dtype":"INT_U32","data_off":112,"voistatdata":{"val":0}},)"
        R"("[2]":{"stype":"MAX","errs":0,"flags":0,"dtype":"INT_U32","data_off":116,"voistatdata":{"val":0}}}}}})");
}

std::string stat_text(const Stat& stat, vsd_dtype voi, sb_str_fmt fmt, int objdump) {
    sbuf* const buf = sbuf_new_auto();
    EXPECT_EQ(stats_voistatdata_tostr(stat.data, voi, stat.dtype, stat.size, fmt, buf, objdump), 0);
    EXPECT_EQ(sbuf_finish(buf), 0);
    std::string text = sbuf_data(buf);
    sbuf_delete(buf);
    return text;
}

TEST(StatsText, AHistogramShowsItsBuckets) {
    auto info = stats_hist_lin(VSD_DTYPE_CRHIST32, 0, 10, 10);
    const BlobPtr blob = blob_with(VSD_DTYPE_INT_S32, {stats_vss_hist(info)});
    for (const int value : {-1, 1, 2, 3, 10}) stats_voi_update_abs_s32(blob.get(), 0, value);
    const Stat hist = stat_of(blob, VS_STYPE_HIST);
    EXPECT_EQ(stat_text(hist, VSD_DTYPE_INT_S32, SB_STRFMT_FREEFORM, 0),
              "nbkts=2, oob=1\n\t\t\t\t{lb=0,ub=10,cnt=3}\n\t\t\t\t{lb=10,ub=2147483647,cnt=1}");
    EXPECT_EQ(
        stat_text(hist, VSD_DTYPE_INT_S32, SB_STRFMT_FREEFORM, 1),
        "nbkts=2, "
        "oob=1\n\t\t\t\tbkt[0].{lb=0,ub=10,cnt=3}\n\t\t\t\tbkt[1].{lb=10,ub=2147483647,cnt=1}");
    EXPECT_EQ(
        stat_text(hist, VSD_DTYPE_INT_S32, SB_STRFMT_JSON, 1),
        R"("nbkts":2,"oob":1,"bkts":[{"bkt":0,"lb":0,"ub":10,"cnt":3},{"bkt":1,"lb":10,"ub":2147483647,"cnt":1}])");
}

// The caller writes the key. So a number has none of its own.
TEST(StatsText, ANumberIsANumberInJsonToo) {
    const BlobPtr blob = blob_with(VSD_DTYPE_INT_U32, {STATS_VSS_SUM()}, SB_VOI_RELUPDATE);
    EXPECT_EQ(stats_voi_update_abs_u32(blob.get(), 0, 1004), 0);
    Stat sum = stat_of(blob, VS_STYPE_SUM);
    EXPECT_EQ(stat_text(sum, VSD_DTYPE_INT_U32, SB_STRFMT_JSON, 0), "1004");
    EXPECT_EQ(stat_text(sum, VSD_DTYPE_INT_U32, SB_STRFMT_JSON, 1), "1004");
    EXPECT_EQ(stat_text(sum, VSD_DTYPE_INT_U32, SB_STRFMT_FREEFORM, 0), "1004");
    const Stat state = stat_of(blob, VS_STYPE_VOISTATE);
    EXPECT_EQ(stat_text(state, VSD_DTYPE_INT_U32, SB_STRFMT_JSON, 0), "\"prev\":1004");
    EXPECT_EQ(stat_text(state, VSD_DTYPE_INT_U32, SB_STRFMT_FREEFORM, 0), "prev=1004");
}

// FreeBSD's own code passes the size of a bound for a number of 32 bits.
TEST(StatsText, ANumberMayBePartOfSomethingLarger) {
    voistatdata bound{};
    bound.int32.s32 = -7;
    const Stat stat{&bound, VSD_DTYPE_INT_S32, sizeof(voistatdata_numeric)};
    EXPECT_EQ(stat_text(stat, VSD_DTYPE_INT_S32, SB_STRFMT_JSON, 0), "-7");
    EXPECT_EQ(stat_text(stat, VSD_DTYPE_VOISTATE, SB_STRFMT_FREEFORM, 0), "-7");
    sbuf* const buf = sbuf_new_auto();
    EXPECT_EQ(stats_voistatdata_tostr(&bound, VSD_DTYPE_INT_S64, VSD_DTYPE_INT_S64, 7,
                                      SB_STRFMT_JSON, buf, 0),
              EINVAL);
    sbuf_delete(buf);
}

TEST(StatsText, ADigestShowsItsCentroidsInOrderOrAsTheyLie) {
    auto info = stats_tdgst(VSD_DTYPE_TDGSTCLUST32, 3, 4);
    const BlobPtr blob = blob_with(VSD_DTYPE_INT_S32, {stats_vss_tdgst(info)});
    for (const int value : {7, -5}) stats_voi_update_abs_s32(blob.get(), 0, value);
    const Stat digest = stat_of(blob, VS_STYPE_TDGST);
    EXPECT_EQ(stat_text(digest, VSD_DTYPE_INT_S32, SB_STRFMT_FREEFORM, 0),
              "smplcnt=2, compcnt=0, maxctds=3, nctds=2\n"
              "\t\t\t\t{mu=-5.0000,cnt=1}\n\t\t\t\t{mu=7.0000,cnt=1}");
    EXPECT_EQ(
        stat_text(digest, VSD_DTYPE_INT_S32, SB_STRFMT_JSON, 1),
        R"("smplcnt":2,"compcnt":0,"maxctds":3,"nctds":2,"ctds":[{"ctd":0,"mu":7.0000,"cnt":1},)"
        R"({"ctd":1,"mu":-5.0000,"cnt":1},{"ctd":2,"mu":0.0000,"cnt":0}])");
}

// Every kind of statistic of every type, fed and not, parses back.
TEST(StatsText, JsonOfEveryShapeIsJson) {
    for (int dtype = VSD_DTYPE_INT_S32; dtype <= VSD_DTYPE_Q_U64; ++dtype) {
        const stats_hist_bkt bkts[] = {DRBKT(8, 16), DRBKT(16, 32)};
        for (int hist = VSD_DTYPE_CRHIST32; hist <= VSD_DTYPE_DVHIST64; ++hist) {
            auto buckets = stats_hist_usr(static_cast<vsd_dtype>(hist), bkts);
            auto digest =
                stats_tdgst(hist % 2 == 0 ? VSD_DTYPE_TDGSTCLUST32 : VSD_DTYPE_TDGSTCLUST64, 4, 2);
            const BlobPtr blob = blob_with(static_cast<vsd_dtype>(dtype),
                                           {STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(),
                                            stats_vss_hist(buckets), stats_vss_tdgst(digest)},
                                           SB_VOI_RELUPDATE);
            for (int fed = 0; fed < 2; ++fed) {
                for (uint32_t flags = 0; flags <= (SB_TOSTR_META | SB_TOSTR_OBJDUMP); ++flags) {
                    const auto parsed =
                        nlohmann::json::parse(text_of(blob.get(), SB_STRFMT_JSON, flags));
                    const bool named = flags == SB_TOSTR_META;
                    const auto& voi = parsed.at("vois").at(named ? "voi" : "[0]");
                    ASSERT_TRUE(voi.at("stats").contains(named ? "TDGST" : "[5]"));
                }
                voistatdata value{};
                value.int64.u64 = 16;
                ASSERT_EQ(stats_v1_voi_update(reinterpret_cast<statsblobv1*>(blob.get()), 0,
                                              static_cast<vsd_dtype>(dtype), &value, 0) == 0,
                          dtype < VSD_DTYPE_Q_S32)
                    << "a raw 16 has another precision than the default sum";
            }
        }
    }
}

TEST(StatsText, NamesAreEscaped) {
    const int tpl = stats_tpl_alloc("a \"quoted\"\\name\n", 0);
    ASSERT_EQ(add(tpl, 0, VSD_DTYPE_INT_U32, {STATS_VSS_SUM()}, 0, "\"\t"), 0);
    const BlobPtr blob = blob_of(tpl);
    const auto parsed = nlohmann::json::parse(text_of(blob.get(), SB_STRFMT_JSON, SB_TOSTR_META));
    EXPECT_EQ(parsed.at("tplname"), "a \"quoted\"\\name\n");
    EXPECT_TRUE(parsed.at("vois").contains("\"\t"));
}

TEST(StatsText, AnEmptyBlobIsAnEmptyObject) {
    const BlobPtr blob = blob_of(new_template());
    EXPECT_EQ(nlohmann::json::parse(text_of(blob.get(), SB_STRFMT_JSON)).at("vois").size(), 0u);
}

TEST(StatsText, RefusesWhatItCannotRender) {
    const BlobPtr blob = rendered_example();
    sbuf* const buf = sbuf_new_auto();
    EXPECT_EQ(stats_blob_tostr(nullptr, buf, SB_STRFMT_JSON, 0), EINVAL);
    EXPECT_EQ(stats_blob_tostr(blob.get(), nullptr, SB_STRFMT_JSON, 0), EINVAL);
    EXPECT_EQ(stats_blob_tostr(blob.get(), buf, SB_STRFMT_NUM_FMTS, 0), EINVAL);
    reinterpret_cast<uint32_t*>(blob.get())[2] ^= 1;  // the hash
    EXPECT_EQ(stats_blob_tostr(blob.get(), buf, SB_STRFMT_JSON, SB_TOSTR_META), EINVAL);
    sbuf_delete(buf);
    char room[16];
    sbuf fixed;
    ASSERT_NE(sbuf_new(&fixed, room, sizeof room, SBUF_FIXEDLEN), nullptr);
    EXPECT_EQ(stats_blob_tostr(blob.get(), &fixed, SB_STRFMT_JSON, 0), ENOMEM);
    sbuf_delete(&fixed);
}

}  // namespace

}  // namespace blkscope::stats
