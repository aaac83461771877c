// The example of the four histograms, as its output shows it.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "child_process.hpp"

namespace blkscope {

namespace {

struct Row {
    unsigned bucket;
    std::string range;
};

// The tables of the manual page, its misprints corrected. The last row of a bounded histogram
// begins at its bound. The rows of decades are numbered without a gap.
const std::vector<Row> linear{{0, "0"},          {1, "1 - 127"},
                              {2, "128 - 255"},  {3, "256 - 383"},
                              {4, "384 - 511"},  {5, "512 - 639"},
                              {6, "640 - 767"},  {7, "768 - 895"},
                              {8, "896 - 1023"}, {9, "1024 - 18446744073709551615"}};
const std::vector<Row> log2{{0, "0"},
                            {1, "1"},
                            {2, "2 - 3"},
                            {3, "4 - 7"},
                            {4, "8 - 15"},
                            {63, "4611686018427387904 - 9223372036854775807"},
                            {64, "9223372036854775808 - 18446744073709551615"}};
const std::vector<Row> log10{{0, "0"},
                             {1, "1 - 9"},
                             {2, "10 - 99"},
                             {3, "100 - 999"},
                             {19, "1000000000000000000 - 9999999999999999999"},
                             {20, "10000000000000000000 - 18446744073709551615"}};
const std::vector<Row> decades{{0, "0 - 99"},
                               {1, "100 - 199"},
                               {2, "200 - 399"},
                               {3, "400 - 599"},
                               {4, "600 - 799"},
                               {5, "800 - 999"},
                               {6, "1000 - 1999"},
                               {7, "2000 - 3999"},
                               {8, "4000 - 5999"},
                               {9, "6000 - 7999"},
                               {10, "8000 - 9999"},
                               {11, "10000 - 19999"},
                               {12, "20000 - 39999"},
                               {13, "40000 - 59999"},
                               {14, "60000 - 79999"},
                               {15, "80000 - 99999"},
                               {16, "100000 - 18446744073709551615"}};

class Kstat2Example : public KstatProcesses {
  protected:
    Kstat2Example() {
        const Outcome outcome = run_shell(HISTOGRAMS " </dev/null");
        said = outcome.out;
        status = outcome.status;
    }

    /// The rows of one table, without the numbers and counts, blanks run together.
    std::vector<std::string> table(const std::string& path) const {
        std::istringstream lines(said.substr(said.find("kstat:" + path)));
        std::string line;
        std::getline(lines, line);
        std::vector<std::string> rows;
        while (std::getline(lines, line) && !line.starts_with("kstat:")) {
            std::istringstream words(line);
            unsigned bucket = 0;
            words >> bucket;
            EXPECT_EQ(bucket, rows.size());
            std::string range;
            std::string word;
            std::string next;
            words >> word;
            while (words >> next) {
                range += (range.empty() ? "" : " ") + word;
                word = next;
            }
            EXPECT_EQ(word, "2") << line;
            rows.push_back(range);
        }
        return rows;
    }

    void expect_table(const std::string& path, const std::vector<Row>& rows) const {
        const auto printed = table(path);
        ASSERT_EQ(printed.size(), rows.back().bucket + 1);
        for (const Row& row : rows) EXPECT_EQ(printed[row.bucket], row.range);
    }

    std::string said;
    int status = -1;
};

TEST_F(Kstat2Example, PrintsTheTablesOfTheManual) {
    EXPECT_EQ(status, 0) << said;
    expect_table("/misc/my_drv/1/data_in", linear);
    expect_table("/misc/my_drv/data_in/2", log2);
    expect_table("/misc/my_drv/data_in/3", log10);
    expect_table("/misc/my_drv/data_in/4", decades);
}

}  // namespace

}  // namespace blkscope
