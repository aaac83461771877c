#include "tools/kstat/json.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace blkscope::kstat_command {
namespace {

using program::json_string;

Chosen each_of(const Reading& kstat) {
    Chosen chosen;
    for (const Statistic& statistic : kstat.statistics) chosen.push_back(&statistic);
    return chosen;
}

TEST(KstatJson, AnObjectIsWrittenOverLines) {
    const Reading kstat{.module = "nbd",
                        .instance = 0,
                        .name = "nbd0",
                        .kstat_class = "disk",
                        .type = KSTAT_TYPE_IO,
                        .snaptime = 2'500'000'000,
                        .statistics = {{"crtime", Moment{0}}, {"vendor", Text("ACME")}}};
    const std::string out = json_object(kstat, each_of(kstat), {}).block();
    EXPECT_EQ(out,
              "{\n\t\"module\": \"nbd\",\n\t\"instance\": 0,\n\t\"name\": \"nbd0\",\n"
              "\t\"class\": \"disk\",\n\t\"type\": 3,\n\t\"snaptime\": 2.500000000,\n"
              "\t\"data\": {\n\t\t\"crtime\": 0,\n\t\t\"vendor\": \"ACME\"\n\t}\n}");
}

TEST(KstatJson, ATimeIsAMemberOfTheObject) {
    const Reading kstat{.statistics = {{"x", int64_t{1}}}};
    const std::string out = json_object(kstat, each_of(kstat), 1'234'567'890).block();
    EXPECT_EQ(nlohmann::json::parse(out)["time"], 1'234'567'890);
}

TEST(KstatJson, OfStatisticsWithOneNameTheFirstIsShown) {
    const Reading kstat{.statistics = {{"x", int64_t{1}}, {"x", int64_t{2}}, {"X", int64_t{3}}}};
    const std::string out = json_object(kstat, each_of(kstat), {}).block();
    EXPECT_NE(out.find("\"data\": {\n\t\t\"x\": 1,\n\t\t\"X\": 3\n\t}"), std::string::npos) << out;
}

TEST(KstatJson, StringsAreEscapedWhereJsonWantsIt) {
    EXPECT_EQ(json_string("a\"b\\c"), R"("a\"b\\c")");
    EXPECT_EQ(json_string("tab\tline\n"), R"("tab\tline\n")");
    EXPECT_EQ(json_string("what?/"), R"("what?/")");
    EXPECT_EQ(json_string("\x01\x1f\x7f\r"), R"("\u0001\u001f\u007f\u000d")");
}

TEST(KstatJson, Utf8StaysAndOtherBytesAreEscaped) {
    EXPECT_EQ(json_string("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xbe"),
              "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xbe\"");
    EXPECT_EQ(json_string("\xe9t\xe9"), R"("\u00e9t\u00e9")");
    EXPECT_EQ(json_string("\xc3"), R"("\u00c3")");
    EXPECT_EQ(json_string("\xc0\xaf"), R"("\u00c0\u00af")");                      // overlong
    EXPECT_EQ(json_string("\xed\xa0\x80"), R"("\u00ed\u00a0\u0080")");            // a surrogate
    EXPECT_EQ(json_string("\xf4\x90\x80\x80"), R"("\u00f4\u0090\u0080\u0080")");  // beyond Unicode
}

TEST(KstatJson, WhatHasNoNumberOrStringInJsonIsNull) {
    EXPECT_EQ(json_value(Text()).line(), "null");
    EXPECT_EQ(json_value(std::numeric_limits<double>::quiet_NaN()).line(), "null");
    EXPECT_EQ(json_value(std::numeric_limits<float>::infinity()).line(), "null");
    EXPECT_EQ(json_value(0.5).line(), "0.5");
    EXPECT_EQ(json_value(Text("")).line(), "\"\"");
    EXPECT_EQ(json_value(Moment{1'000'000'000}).line(), "1.000000000");
}

TEST(KstatJson, AnyBytesMakeAStringThatParses) {
    std::mt19937 random(20261121);
    for (int i = 0; i < 20'000; ++i) {
        std::string text(random() % 12, ' ');
        for (char& c : text)
            c = static_cast<char>(random() % 3 == 0 ? random() : random() % 64 + 192);
        const auto parsed = nlohmann::json::parse(json_string(text), nullptr, false);
        ASSERT_TRUE(parsed.is_string()) << json_string(text);
    }
}

TEST(KstatJson, AnyNumberIsOneInJson) {
    std::mt19937_64 random(20261121);
    for (int i = 0; i < 20'000; ++i) {
        const uint64_t bits = random();
        double number = 0;
        std::memcpy(&number, &bits, sizeof(number));
        const std::string text = json_value(number).line();
        ASSERT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded()) << text;
    }
}

}  // namespace
}  // namespace blkscope::kstat_command
