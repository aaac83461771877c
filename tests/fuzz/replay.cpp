// A fuzz target without a fuzzer: the corpus, and what becomes of it under random changes. The seed
// is fixed, so a failure can be run again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern const char* const corpus_folder;  // of the target that this is linked into
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace blkscope {

namespace {

using Input = std::vector<uint8_t>;

constexpr int rounds = 20'000;
constexpr size_t size_max = 4096;

std::vector<Input> corpus() {
    std::vector<std::filesystem::path> paths;
    for (const auto& file : std::filesystem::directory_iterator(corpus_folder)) paths.push_back(file);
    std::sort(paths.begin(), paths.end());  // the same order on every machine
    std::vector<Input> inputs;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return inputs;
}

class Mutator {
  public:
    explicit Mutator(unsigned seed) : random_(seed) {}

    Input mutate(const std::vector<Input>& from) {
        Input input = from[below(from.size())];
        for (size_t changes = 1 + below(6); changes > 0; --changes) change(input, from);
        input.resize(std::min(input.size(), size_max));
        return input;
    }

  private:
    size_t below(size_t limit) { return random_() % limit; }

    void change(Input& input, const std::vector<Input>& from) {
        const size_t at = below(input.size() + 1);
        const auto place = input.begin() + static_cast<ptrdiff_t>(at);
        const size_t after = input.size() - at;
        switch (below(6)) {
            case 0:
                if (after > 0) input[at] = static_cast<uint8_t>(random_());
                return;
            case 1:
                overwrite_number(input, at);
                return;
            case 2:
                input.insert(place, 1 + below(16), static_cast<uint8_t>(random_()));
                return;
            case 3:
                input.erase(place, place + static_cast<ptrdiff_t>(below(after + 1)));
                return;
            case 4:
                input.resize(at);
                return;
            default: {
                const Input& other = from[below(from.size())];
                input.insert(place, other.begin(), other.end());
            }
        }
    }

    void overwrite_number(Input& input, size_t at) {
        constexpr std::array<uint32_t, 8> interesting{
            0, 1, 47, 48, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
        const uint32_t number = interesting[below(interesting.size())];
        if (input.size() - at >= sizeof number) std::memcpy(&input[at], &number, sizeof number);
    }

    std::mt19937 random_;
};

TEST(FuzzTarget, SurvivesItsCorpus) {
    const auto inputs = corpus();
    ASSERT_FALSE(inputs.empty()) << corpus_folder;
    for (const Input& input : inputs)
        EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
}

TEST(FuzzTarget, SurvivesWhatBecomesOfItsCorpus) {
    const auto inputs = corpus();
    Mutator mutator(20261121);
    for (int round = 0; round < rounds; ++round) {
        const Input input = mutator.mutate(inputs);
        ASSERT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
    }
}

}  // namespace

}  // namespace blkscope
