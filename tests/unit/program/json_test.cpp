#include "tools/program/json.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace blkscope::program {
namespace {

TEST(Json, ALineHasNoBlanks) {
    const Json report{{"name", "nbd0"}, {"counters", {{"reads", 1}, {"writes", 0.5}}}};
    EXPECT_EQ(report.line(), R"({"name":"nbd0","counters":{"reads":1,"writes":0.5}})");
}

TEST(Json, ABlockHasALineForEachMemberOfTwoLevels) {
    Json array = Json::array();
    array.push_back(Json{
        {"name", "nbd0"},
        {"data", {{"flags", std::vector<std::string>{"a", "b"}}, {"deep", {{"x", 1}, {"y", 2}}}}}});
    array.push_back(Json{{"data", Json::object()}});
    EXPECT_EQ(array.block(),
              "[{\n\t\"name\": \"nbd0\",\n\t\"data\": {\n\t\t\"flags\": [\"a\", \"b\"],\n"
              "\t\t\"deep\": {\"x\": 1, \"y\": 2}\n\t}\n}, {\n\t\"data\": {}\n}]");
}

TEST(Json, ValuesAreWhatTheyAre) {
    EXPECT_EQ(Json().line(), "null");
    EXPECT_EQ(Json(true).line(), "true");
    EXPECT_EQ(Json("text").line(), "\"text\"");
    EXPECT_EQ(Json(std::numeric_limits<uint64_t>::max()).line(), "18446744073709551615");
    EXPECT_EQ(Json(std::numeric_limits<int64_t>::min()).line(), "-9223372036854775808");
    EXPECT_EQ(Json(1.0).line(), "1.0");
    EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).line(), "null");
    EXPECT_EQ(Json(std::optional<int>()).line(), "null");
    EXPECT_EQ(Json(std::optional(3)).line(), "3");
    EXPECT_EQ(Json::number("1.500000000").line(), "1.500000000");
    EXPECT_EQ(Json::array().line(), "[]");
}

TEST(Json, AMemberIsMadeWhereItIsNamedFirst) {
    Json object;
    object["b"]["c"] = 1;
    object["a"] = 2;
    object["b"]["c"] = 3;
    EXPECT_EQ(object.line(), R"({"b":{"c":3},"a":2})");
    object.add("a", 4);
    EXPECT_EQ(object.line(), R"({"b":{"c":3},"a":2,"a":4})");
}

TEST(Json, NamesOfMembersAreEscapedToo) {
    EXPECT_EQ((Json{{"a\"\n\xff", 1}}).line(), R"({"a\"\n\u00ff":1})");
}

}  // namespace
}  // namespace blkscope::program
