// Wrong requests of a provider: each refusal registers nothing and says why in one line.
#include <functional>

#include "support.hpp"

namespace blkscope::kstat2::tests {

namespace {

// A call that is right, to be spoilt in one place.
struct Call {
    std::vector<const char*> segments{"misc", "refused", "one"};
    uint32_t nsegments = 3;
    zoneid_t zone = ALL_ZONES;
    uint32_t flags = 0;
    const char* desc = "a test's";
    kstat2_metaflag_t mflags = KSTAT2_MF_NONE;
    // Of a plain one.
    kstat2_named_t* data = nullptr;
    uint_t ndata = 1;
    kstat2_md_t md{KSTAT2_NVMT_CNT, KSTAT2_NVMF_NONE, 1, "", -1};
    // Of a histogram.
    int type = KSTAT2_NVHIST_LINEAR;
    int content_type = KSTAT2_NVMT_CNT;
    uint64_t* buckets = nullptr;
    uint16_t num_buckets = 0;
    uint64_t range_min = 0, range_max = 1024, stepping = 128;

    kstat2_t* plain() {
        return kstat2_create(segments.data(), nsegments, zone, data, ndata, flags, &md, desc,
                             mflags);
    }
    kstat2_t* with_template() {
        return kstat2_create_with_template(segments.data(), nsegments, zone,
                                           kstat2_lookup_template(KSTAT2_MT_IO), flags, data, desc,
                                           mflags);
    }
    kstat2_t* histogram() {
        return kstat2_create_histogram(
            segments.data(), nsegments, zone, static_cast<kstat2_nv_hist_type_t>(type),
            static_cast<kstat2_nv_metatype_t>(content_type), md.scale, md.flags, buckets,
            num_buckets, range_min, range_max, stepping, flags, desc, mflags);
    }
};

struct Refusal {
    const char* reason;
    std::function<void(Call&)> spoil;
};

void expect_refused(const Refusal& refusal, kstat2_t* (Call::*create)()) {
    SCOPED_TRACE(refusal.reason);
    const auto before = Maps::of_this_process().generation(root);
    Call call;
    refusal.spoil(call);
    kstat2_t* ksp = nullptr;
    const std::string line = said([&] { ksp = (call.*create)(); });
    EXPECT_EQ(ksp, nullptr);
    EXPECT_NE(line.find(refusal.reason), std::string::npos) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    EXPECT_EQ(line.find("kstat2_create"), 0U) << line;
    EXPECT_EQ(Maps::of_this_process().generation(root), before);
    // Nothing is in the way of the right call.
    const Owned right((Call().*create)());
    EXPECT_NE(right, nullptr);
}

const std::string long_text(65535, 'x');
const std::string long_segment(252, 'x');
uint64_t some_buckets[10];
kstat2_named_t some_data[12];

const Refusal common_refusals[] = {
    {"three segments or more", [](Call& call) { call.nsegments = 0; }},
    {"three segments or more", [](Call& call) { call.nsegments = 2; }},
    {"a segment is NULL", [](Call& call) { call.segments[1] = nullptr; }},
    {"a segment is empty", [](Call& call) { call.segments[2] = ""; }},
    {"a segment has one of", [](Call& call) { call.segments[0] = "a/b"; }},
    {"a segment has one of", [](Call& call) { call.segments[0] = "a;b"; }},
    {"a segment has one of", [](Call& call) { call.segments[0] = "a:b"; }},
    {"control byte", [](Call& call) { call.segments[0] = "a\nb"; }},
    {"control byte", [](Call& call) { call.segments[0] = "\x7f"; }},
    {"not UTF-8", [](Call& call) { call.segments[0] = "\xff"; }},
    {"not UTF-8", [](Call& call) { call.segments[0] = "\xc0\x80"; }},
    {"not UTF-8", [](Call& call) { call.segments[0] = "\xe0\x9f\xbf"; }},
    {"not UTF-8", [](Call& call) { call.segments[0] = "\xed\xa0\x80"; }},
    {"not UTF-8", [](Call& call) { call.segments[0] = "\xf4\x90\x80\x80"; }},
    {"not UTF-8", [](Call& call) { call.segments[0] = "\xe2\x82"; }},
    {"longer than 255 bytes", [](Call& call) { call.segments[0] = long_segment.c_str(); }},
    {"desc is NULL", [](Call& call) { call.desc = nullptr; }},
    {"desc is too long", [](Call& call) { call.desc = long_text.c_str(); }},
    {"unknown flags", [](Call& call) { call.flags = 4; }},
    {"unknown flags", [](Call& call) { call.flags = KSTAT2_FLAG_DORMANT; }},
    {"unknown meta-flags", [](Call& call) { call.mflags = 4; }},
    {"no zone -2", [](Call& call) { call.zone = -2; }},
    {"no zone 10000", [](Call& call) { call.zone = 10000; }},
};

const Refusal plain_refusals[] = {
    {"ndata is 0", [](Call& call) { call.ndata = 0; }},
    {"ndata is 16385", [](Call& call) { call.ndata = 16385; }},
    {"unknown metadata type", [](Call& call) { call.md.type = 19; }},
    {"unknown metadata flags", [](Call& call) { call.md.flags = 4; }},
    {"scale is 0", [](Call& call) { call.md.scale = 0; }},
    {"description is too long", [](Call& call) { call.md.descr = long_text.c_str(); }},
    {"cannot have storage of the provider's",
     [](Call& call) {
         call.data = some_data;
         call.flags = KSTAT2_FLAG_PERSISTENT;
     }},
};

const Refusal histogram_refusals[] = {
    {"unknown histogram type", [](Call& call) { call.type = 4; }},
    {"unknown metadata type", [](Call& call) { call.content_type = 19; }},
    {"unknown metadata type", [](Call& call) { call.content_type = 65536 + 2; }},
    {"unknown metadata flags", [](Call& call) { call.md.flags = 8; }},
    {"scale is 0", [](Call& call) { call.md.scale = 0; }},
    {"stepping is 0", [](Call& call) { call.stepping = 0; }},
    {"range_max is not above range_min", [](Call& call) { call.range_min = 1024; }},
    {"does not divide", [](Call& call) { call.stepping = 100; }},
    {"more than 65535 buckets",
     [](Call& call) {
         call.range_max = 65534;
         call.stepping = 1;
     }},
    {"whole steps",
     [](Call& call) {
         call.type = KSTAT2_NVHIST_LOG10_LIN;
         call.range_min = 2;
         call.range_max = 4;
         call.stepping = 3;
     }},
    {"buckets without num_buckets", [](Call& call) { call.buckets = some_buckets; }},
    {"num_buckets without buckets", [](Call& call) { call.num_buckets = 10; }},
    {"num_buckets is 9, and the shape has 10",
     [](Call& call) {
         call.buckets = some_buckets;
         call.num_buckets = 9;
     }},
    {"cannot have storage of the provider's",
     [](Call& call) {
         call.buckets = some_buckets;
         call.num_buckets = 10;
         call.flags = KSTAT2_FLAG_PERSISTENT;
     }},
};

TEST(Kstat2Create, RefusesWhatIsWrongForEveryKindOfKstat) {
    for (const Refusal& refusal : common_refusals) {
        expect_refused(refusal, &Call::plain);
        expect_refused(refusal, &Call::with_template);
        expect_refused(refusal, &Call::histogram);
    }
}

TEST(Kstat2Create, RefusesPairsThatAreWrong) {
    for (const Refusal& refusal : plain_refusals) expect_refused(refusal, &Call::plain);
}

TEST(Kstat2Create, RefusesPersistentStorageOfTheProvidersForATemplateToo) {
    expect_refused(plain_refusals[std::size(plain_refusals) - 1], &Call::with_template);
}

TEST(Kstat2Create, RefusesHistogramsThatAreWrong) {
    for (const Refusal& refusal : histogram_refusals) expect_refused(refusal, &Call::histogram);
}

TEST(Kstat2Create, RefusesNullForTheSegmentsAndForTheTemplate) {
    EXPECT_NE(said([] {
                  EXPECT_EQ(kstat2_create(nullptr, 3, ALL_ZONES, nullptr, 1, 0, nullptr, "", 0),
                            nullptr);
              }).find("three segments"),
              std::string::npos);
    EXPECT_NE(said([] {
                  Segments segments("misc/refused/one");
                  EXPECT_EQ(kstat2_create_with_template(segments.data(), 3, ALL_ZONES, nullptr, 0,
                                                        nullptr, "", 0),
                            nullptr);
              }).find("the template is NULL"),
              std::string::npos);
}

TEST(Kstat2Create, RefusesAPathThatIsInUseWhoeverSeesIt) {
    const Owned first(number("misc/taken/one", 1, 0, 7));
    EXPECT_EQ(said([] { EXPECT_EQ(create("misc/taken/one"), nullptr); }),
              "kstat2_create('/misc/taken/one'): namespace collision\n");
}

TEST(Kstat2Create, RefusesAPathThatGoesThroughAPair) {
    const Owned above(number("misc/through/one", 1));
    EXPECT_EQ(said([] { EXPECT_EQ(create("misc/through/one/n/deeper"), nullptr); }),
              "kstat2_create('/misc/through/one/n/deeper'): 'n' is a pair of /misc/through/one\n");
    EXPECT_NE(said([] { EXPECT_EQ(create("misc/through/one/snaptime"), nullptr); }), "");
    const Owned beside(number("misc/through/one/m", 1));
    EXPECT_TRUE(listed(beside.get()));
}

TEST(Kstat2Create, RefusesATemplateWhosePairIsTheNameOfAKstatBelow) {
    const Owned below(number("misc/below/one/reads", 1));
    EXPECT_NE(said([] { EXPECT_EQ(templated("misc/below/one", KSTAT2_MT_IO), nullptr); }), "");
    const Owned intr(templated("misc/below/one", KSTAT2_MT_INTR));
    EXPECT_NE(intr, nullptr);
}

TEST(Kstat2Create, AcceptsTheLongestPathAndSegmentsInUtf8) {
    const std::string rest(255 - std::string("/misc/lang/").size(), 'x');
    const Owned longest(number("misc/lang/" + rest, 1));
    ASSERT_NE(longest, nullptr);
    EXPECT_EQ(std::string(longest->ks2_path).size(), 255U);
    const Owned words(number("misc/größe/\xf0\x9f\x93\x88", 1));
    EXPECT_TRUE(words && listed(words.get()));
}

TEST(Kstat2Create, GivesWhatTheHeaderSaysAndNothingToSeeYet) {
    const Owned ksp(create("misc/fresh/one", 3, KSTAT2_FLAG_PERSISTENT));
    EXPECT_STREQ(ksp->ks2_path, "/misc/fresh/one");
    EXPECT_EQ(ksp->ks2_ndata, 3U);
    EXPECT_EQ(ksp->ks2_metatype, static_cast<uint32_t>(KSTAT2_MT_NONE));
    EXPECT_NE(ksp->ks2_flags & KSTAT2_FLAG_INVALID, 0U);
    EXPECT_GT(ksp->ks2_crtime, 0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(KSTAT2_NAMED_PTR(ksp)[i].value.integer, 0U);
    EXPECT_FALSE(listed(ksp.get()));
    EXPECT_EQ(read(ksp.get()).error, ENXIO);
}

}  // namespace

}  // namespace blkscope::kstat2::tests
