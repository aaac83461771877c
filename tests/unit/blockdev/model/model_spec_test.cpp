// The grammar of --model, and the presets.
#include "blockdev/model/model_spec.hpp"

#include <gtest/gtest.h>

#include "../../failure.hpp"
#include "blockdev/model/presets.hpp"

namespace blkscope::model {
namespace {

Histogram spec_measured(const std::string& file, std::string_view operation) {
    if (operation == "trim") throw std::invalid_argument("'" + file + "' has no trims");
    return {{{1000, 2000, 1}}};
}

ModelSpec spec_of(std::string_view text) {
    return ModelSpec::parse(text, spec_measured);
}

std::string spec_failure(std::string_view text) {
    return failure_of([&] { return spec_of(text); });
}

TEST(ModelSpec, ParsesBackWhatItPrints) {
    for (const char* text : {
             "all=const:1ms",
             "read=exp:1ms,write=lognormal:1ms:10ms,servers=4,seed=17",
             "flush=const:5ms,trim=const:1us,zeroes=const:2us,cache=const:3us,status=const:4us",
             "read=const:100us,per_byte=0.01ns",
             "all=hdd:7200:500us:14.94ms:163M",
             "all=ssd:30:59us:62us:4M:4ms,flush=const:1ms",
             "all=ssd:30:59us:62us:0:0ns",
             "write=const:1ms,seed=3,read=empirical:/tmp/a,b=c",
             "all=empirical:a.json",
         }) {
        EXPECT_EQ(spec_of(text).text(), text);
    }
}

TEST(ModelSpec, PrintsInOneFormWhateverTheOrder) {
    EXPECT_EQ(spec_of("seed=1,write=const:1ms,read=exp:1000us").text(),
              "read=exp:1ms,write=const:1ms,seed=1");
    EXPECT_EQ(spec_of("read=const:1ms,write=const:1ms,flush=const:1ms,trim=const:1ms,zeroes=const:"
                      "1ms,cache=const:1ms,status=const:1ms")
                  .text(),
              "all=const:1ms");
}

TEST(ModelSpec, IsEqualWhateverTheOrderOfItsItems) {
    EXPECT_EQ(spec_of("seed=1,read=exp:1ms"), spec_of("read=exp:1000us,seed=1"));
    for (const char* other : {"read=exp:1ms", "read=exp:1ms,seed=2", "write=exp:1ms,seed=1",
                              "read=exp:1ms,seed=1,servers=1", "nvme,seed=1"}) {
        EXPECT_FALSE(spec_of("read=exp:1ms,seed=1") == spec_of(other)) << other;
    }
}

// One text has room for one FILE.
TEST(ModelSpec, ItemsThatAreApartMayEachHaveAFile) {
    const ModelSpec spec = ModelSpec::parse_items(
        {"all=empirical:a,b", "read=empirical:c", "servers=2"}, spec_measured);
    EXPECT_EQ(spec.time_of(Buf::Op::read)->text(), "empirical:c");
    EXPECT_EQ(spec.time_of(Buf::Op::flush)->text(), "empirical:a,b");
    EXPECT_EQ(spec.servers, 2u);
    EXPECT_EQ(ModelSpec::parse_items({"nvme", "seed=3"}, spec_measured), spec_of("nvme,seed=3"));
    EXPECT_EQ(failure_of([] { ModelSpec::parse_items({"servers=2"}, spec_measured); }),
              "model 'servers=2': no operation has a time");
}

TEST(ModelSpec, ALaterItemReplacesAnEarlierOne) {
    EXPECT_EQ(spec_of("all=const:1ms,read=exp:2ms").time_of(Buf::Op::read)->text(), "exp:2ms");
    EXPECT_EQ(spec_of("all=hdd:7200:1ms:2ms:1M,all=const:1ms").text(), "all=const:1ms");
    EXPECT_EQ(spec_of("flush=const:1s,nvme").text(), spec_of("nvme").text());
    EXPECT_EQ(spec_of("nvme,flush=const:1ms,seed=4").text(),
              spec_of("nvme").text() + ",flush=const:1ms,seed=4");
}

TEST(ModelSpec, OperationsThatAreNotNamedTakeNoTime) {
    const ModelSpec spec = spec_of("read=const:1ms");
    EXPECT_TRUE(spec.has(Buf::Op::read));
    EXPECT_FALSE(spec.has(Buf::Op::write));
    EXPECT_FALSE(spec.has(Buf::Op::flush));
    const ModelSpec disk = spec_of("hdd7200");
    EXPECT_TRUE(disk.has(Buf::Op::write));
    EXPECT_FALSE(disk.has(Buf::Op::flush));
}

TEST(ModelSpec, ServersAreTheDepthUnlessTheModelSaysOtherwise) {
    EXPECT_EQ(spec_of("all=const:1ms").server_count(64), 64U);
    EXPECT_EQ(spec_of("all=const:1ms,servers=4").server_count(64), 4U);
    EXPECT_EQ(spec_of("all=const:1ms,servers=128").server_count(64), 64U);
    EXPECT_EQ(spec_of("hdd7200").server_count(64), 1U);
    EXPECT_EQ(spec_of("hdd7200,servers=2").server_count(64), 2U);
    EXPECT_EQ(spec_of("nvme").server_count(64), 30U);
}

TEST(ModelSpec, EachPresetIsALineOfTheGrammarWithASource) {
    EXPECT_EQ(model_presets().size(), 3U);
    for (const Preset& preset : model_presets()) {
        EXPECT_EQ(spec_of(preset.name).text(), preset.spec);
        EXPECT_GT(preset.source.size(), 20U) << preset.name;
        EXPECT_GT(preset.year, 2000) << preset.name;
    }
}

TEST(ModelSpec, SaysTheMeansThatNoTextSays) {
    EXPECT_EQ(spec_of("read=const:1ms,write=exp:2ms,flush=erlang:2:3ms").means(), "");
    EXPECT_EQ(spec_of("read=uniform:1ms:2ms,write=lognormal:600us:4ms,flush=exp:1ms").means(),
              "read 1.5ms, write 836.682us");
    EXPECT_EQ(spec_of("write=pareto:20000s:1.1").means(), "write 86400s");
    EXPECT_EQ(spec_of("all=uniform:1ms:2ms").means(), "all 1.5ms");
    EXPECT_EQ(spec_of("hdd7200").means(), "");
}

TEST(ModelSpec, WarnsOnceOfEachUnwiseDistribution) {
    EXPECT_EQ(spec_of("all=pareto:1ms:1.5").warnings().size(), 1U);
    EXPECT_TRUE(spec_of("all=exp:1ms").warnings().empty());
}

TEST(ModelSpec, ABadTextIsRefusedInOneLine) {
    EXPECT_EQ(spec_failure("read=gauss:1ms"),
              "model 'read=gauss:1ms': distribution 'gauss:1ms': unknown: not const, uniform, exp, "
              "erlang, lognormal, pareto or empirical");
    EXPECT_EQ(spec_failure("reed=const:1ms"),
              "model 'reed=const:1ms': unknown operation 'reed': not read, write, flush, trim, "
              "zeroes, cache, status or all");
    EXPECT_EQ(spec_failure("floppy"),
              "model 'floppy': item 'floppy' is no op=DIST, servers=N, per_byte=TIME or seed=N, "
              "and no preset: there are hdd7200, sata-ssd and nvme");
    EXPECT_EQ(spec_failure("read=const:1ms,"),
              "model 'read=const:1ms,': item '' is no op=DIST, servers=N, per_byte=TIME or seed=N, "
              "and no preset: there are hdd7200, sata-ssd and nvme");
    EXPECT_EQ(spec_failure("read=const:1ms,servers=0"),
              "model 'read=const:1ms,servers=0': servers '0' is less than 1");
    EXPECT_EQ(spec_failure("read=const:1ms,per_byte=-1ns"),
              "model 'read=const:1ms,per_byte=-1ns': time '-1ns' is negative");
    EXPECT_EQ(spec_failure("servers=4"), "model 'servers=4': no operation has a time");
    EXPECT_EQ(spec_failure("flush=const:1ms,per_byte=1ns"),
              "model 'flush=const:1ms,per_byte=1ns': per_byte= has no effect: neither reads nor "
              "writes have a time");
    EXPECT_EQ(spec_failure("trim=empirical:x"),
              "model 'trim=empirical:x': distribution 'empirical:x': 'x' has no trims");
}

TEST(ModelSpec, ADiskTimesReadsAndWritesTogether) {
    EXPECT_EQ(spec_failure("read=hdd:7200:1ms:2ms:1M"),
              "model 'read=hdd:7200:1ms:2ms:1M': hdd times reads and writes together: "
              "all=hdd:7200:1ms:2ms:1M");
    EXPECT_EQ(spec_failure("hdd7200,read=const:1ms"),
              "model 'hdd7200,read=const:1ms': read= after hdd, which times reads and writes "
              "together");
    EXPECT_EQ(spec_failure("nvme,servers=4"),
              "model 'nvme,servers=4': servers= differs from the channels of the ssd");
    EXPECT_EQ(spec_failure("all=hdd:0:1ms:2ms:1M"),
              "model 'all=hdd:0:1ms:2ms:1M': RPM '0' is less than 1");
    EXPECT_EQ(spec_failure("all=hdd:7200:2ms:1ms:1M"),
              "model 'all=hdd:7200:2ms:1ms:1M': SEEK_FULL is less than SEEK_MIN");
    EXPECT_EQ(spec_failure("all=ssd:1:1ms:1ms:1M"),
              "model 'all=ssd:1:1ms:1ms:1M': not of the form "
              "ssd:CHANNELS:READ:PROGRAM:GC_EVERY:GC_PAUSE");
}

}  // namespace
}  // namespace blkscope::model
