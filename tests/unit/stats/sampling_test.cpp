#include <cstring>

#include "fixture.hpp"

namespace blkscope::stats {

namespace {

using Rates = std::vector<stats_tpl_sample_rate>;

int roll(Rates& rates, uint64_t seed) {
    return stats_tpl_sample_rollthedice(rates.data(), static_cast<int>(rates.size()), &seed,
                                        sizeof seed);
}

TEST(StatsSampling, ChoosesEachTemplateAsOftenAsItsRateSays) {
    Rates rates{{11, 1}, {12, 0}, {13, 10}, {14, 39}};
    std::vector<int> counts(20);
    constexpr uint64_t rolls = 200'000;
    for (uint64_t seed = 0; seed < rolls; ++seed) {
        const int id = roll(rates, seed);
        ++counts[id < 0 ? 0 : static_cast<size_t>(id)];
    }
    EXPECT_NEAR(counts[11] / double{rolls}, 0.01, 0.001);
    EXPECT_EQ(counts[12], 0);
    EXPECT_NEAR(counts[13] / double{rolls}, 0.10, 0.003);
    EXPECT_NEAR(counts[14] / double{rolls}, 0.39, 0.005);
    EXPECT_NEAR(counts[0] / double{rolls}, 0.50, 0.005);
}

TEST(StatsSampling, IsTheSameForTheSameSeedAlsoAShortOne) {
    Rates rates{{1, 50}};
    int chosen = 0;
    for (int i = 0; i < 256; ++i) {
        const auto seed = static_cast<uint8_t>(i);
        const int id =
            stats_tpl_sample_rollthedice(rates.data(), 1, const_cast<uint8_t*>(&seed), 1);
        EXPECT_EQ(stats_tpl_sample_rollthedice(rates.data(), 1, const_cast<uint8_t*>(&seed), 1),
                  id);
        chosen += id == 1 ? 1 : 0;
    }
    EXPECT_GT(chosen, 90);
    EXPECT_LT(chosen, 166);
}

TEST(StatsSampling, WithoutASeedIsAnotherEachTime) {
    Rates rates{{1, 50}};
    int chosen = 0;
    for (int i = 0; i < 2000; ++i)
        chosen += stats_tpl_sample_rollthedice(rates.data(), 1, nullptr, 0) == 1 ? 1 : 0;
    EXPECT_GT(chosen, 800);
    EXPECT_LT(chosen, 1200);
    EXPECT_EQ(stats_tpl_sample_rollthedice(nullptr, 0, nullptr, 0), -1);
}

TEST(StatsSampling, TheCompatibleRollIsFreeBsds) {
    Rates rates{{1, 0}, {2, 1}, {3, 50}};
    uint32_t seed = 0x12345678;  // its hash is below a hundredth
    EXPECT_EQ(stats_tpl_sample_rollthedice_compat(rates.data(), 3, &seed, sizeof seed), 2);
    Rates ten{{1, 10}};
    int chosen = 0;
    for (uint64_t i = 0; i < 100'000; ++i) {
        const uint64_t long_seed = i * 0x9e3779b97f4a7c15;
        chosen += stats_tpl_sample_rollthedice_compat(
                      ten.data(), 1, const_cast<uint64_t*>(&long_seed), sizeof long_seed) == 1
                      ? 1
                      : 0;
    }
    EXPECT_NEAR(chosen / 100'000.0, 0.11, 0.005);
}

std::string text(const Rates& rates) {
    sbuf* const buf = sbuf_new_auto();
    EXPECT_EQ(stats_tpl_rates_tostr(rates.data(), static_cast<int>(rates.size()), buf), 0);
    sbuf_finish(buf);
    std::string result = sbuf_data(buf);
    sbuf_delete(buf);
    return result;
}

int parsed(const std::string& input, Rates& rates) {
    rates.resize(4);
    int count = 4;
    const int error = stats_tpl_rates_parse(input.c_str(), rates.data(), &count);
    rates.resize(error == 0 ? static_cast<size_t>(count) : 0);
    return error;
}

TEST(StatsSampling, RatesGoToTextAndBack) {
    const int a = stats_tpl_alloc("rate, one", 0);
    const int b = stats_tpl_alloc("rate2", 0);
    statsblob_tpl* tpl = nullptr;
    ASSERT_EQ(stats_tpl_fetch(b, &tpl), 0);
    const std::string hash = std::to_string(tpl->mb->tplhash);
    const Rates rates{{a, 10}, {b, 25}};
    Rates back;
    ASSERT_EQ(parsed(text(rates), back), 0);
    EXPECT_EQ(text(back), text(rates));
    for (const std::string& form :
         std::vector<std::string>{"rate2=25", "\"rate2\"=25", ":" + hash + "=25",
                                  "rate2:" + hash + "=25", " \"rate2\":" + hash + "=25 "}) {
        ASSERT_EQ(parsed(form, back), 0) << form;
        ASSERT_EQ(back.size(), 1u);
        EXPECT_EQ(back[0].tpl_slot_id, b);
        EXPECT_EQ(back[0].tpl_sample_pct, 25u);
    }
    EXPECT_EQ(parsed("", back), 0);
    EXPECT_TRUE(back.empty());
}

TEST(StatsSampling, RatesThatMakeNoSenseAreRefused) {
    ASSERT_GE(stats_tpl_alloc("rate3", 0), 0);
    Rates rates;
    for (const char* wrong : {"rate3", "rate3=", "rate3=x", "=5", "rate3=101", "rate3=60,rate3=41",
                              "rate3=5,", ",", "\"rate3=5", "rate3:12x=5", ":=5", "\"rate3\"x=5"})
        EXPECT_EQ(parsed(wrong, rates), EINVAL) << wrong;
    EXPECT_EQ(parsed("no such one=5", rates), ESRCH);
    EXPECT_EQ(parsed("rate3:1=5", rates), ESRCH);
    EXPECT_EQ(parsed("rate3=1,rate3=1,rate3=1,rate3=1,rate3=1", rates), EOVERFLOW);
}

// A subsystem as stats(3) describes one, whose list a sysctl shows and replaces.
struct TcpRates {
    stats_tpl_sample_rate* rates = nullptr;
    int count = 0;
    int locks = 0;     // held now
    int refusal = 0;   // the answer to a new list
    int in_order = 0;  // calls that saw the context of the one before
};
TcpRates tcp;

int tcp_rates(stats_tpl_sr_cb_action action, stats_tpl_sample_rate** rates, int* nrates,
              void* ctx) {
    if (ctx != nullptr) tcp.in_order += (*static_cast<int*>(ctx))++;
    switch (action) {
        case TPL_SR_RLOCKED_GET:
            ++tcp.locks;
            [[fallthrough]];
        case TPL_SR_UNLOCKED_GET:
            *rates = tcp.rates;
            *nrates = tcp.count;
            return 0;
        case TPL_SR_RUNLOCK:
            --tcp.locks;
            return 0;
        case TPL_SR_PUT:
            EXPECT_EQ(tcp.locks, 0);
            if (tcp.refusal != 0) return tcp.refusal;
            std::swap(tcp.rates, *rates);
            std::swap(tcp.count, *nrates);
            return 0;
    }
    return EINVAL;
}

int copy_out(sysctl_req* req, const void* from, size_t size) {
    if (req->oldptr != nullptr)
        static_cast<std::string*>(req->oldptr)->append(static_cast<const char*>(from), size);
    req->oldidx += size;
    return 0;
}

int copy_in(sysctl_req* req, void* to, size_t size) {
    if (req->newlen - req->newidx < size) return EINVAL;
    std::memcpy(to, static_cast<const char*>(req->newptr) + req->newidx, size);
    req->newidx += size;
    return 0;
}

// The value before the call, with its NUL.
std::string rates_of_tcp(const char* new_value, int expected_error, intmax_t context_bytes = 0) {
    std::string old;
    sysctl_req req{};
    req.oldptr = &old;
    req.oldfunc = copy_out;
    req.newptr = new_value;
    req.newlen = new_value == nullptr ? 0 : std::strlen(new_value);
    req.newfunc = copy_in;
    EXPECT_EQ(
        stats_tpl_sample_rates(nullptr, reinterpret_cast<void*>(tcp_rates), context_bytes, &req),
        expected_error)
        << (new_value == nullptr ? "" : new_value);
    EXPECT_EQ(tcp.locks, 0);
    return old;
}

TEST(StatsSampling, ASysctlShowsAndReplacesTheRatesOfASubsystem) {
    const int id = stats_tpl_alloc("sysctl", 0);
    ASSERT_GE(stats_tpl_alloc("sysctl2", 0), 0);
    statsblob_tpl* tpl = nullptr;
    ASSERT_EQ(stats_tpl_fetch(id, &tpl), 0);
    const std::string shown = "\"sysctl\":" + std::to_string(tpl->mb->tplhash) + "=30";
    const std::string nul(1, '\0');
    EXPECT_EQ(rates_of_tcp(nullptr, 0), nul);
    EXPECT_EQ(rates_of_tcp("sysctl=30", 0), nul);  // the answer has the old value
    EXPECT_EQ(rates_of_tcp(nullptr, 0, sizeof(int)), shown + nul);
    EXPECT_EQ(tcp.in_order, 1);  // the context of a call begins with zeroes
    for (const char* wrong : {"sysctl", "sysctl=101", "sysctl=60,sysctl2=41"})
        rates_of_tcp(wrong, EINVAL);
    rates_of_tcp("nosuch=1", ESRCH);
    tcp.refusal = EBUSY;
    rates_of_tcp("sysctl2=5", EBUSY);
    tcp.refusal = 0;
    EXPECT_EQ(rates_of_tcp(nullptr, 0), shown + nul);  // nothing wrong was taken
    rates_of_tcp((" " + shown + ", sysctl2=70\n").c_str(), 0);
    EXPECT_EQ(tcp.count, 2);
    rates_of_tcp("", 0);
    EXPECT_EQ(tcp.count, 0);
    EXPECT_EQ(tcp.rates, nullptr);
}

TEST(StatsSampling, ASysctlWithoutACallbackIsRefused) {
    sysctl_req req{};
    EXPECT_EQ(stats_tpl_sample_rates(nullptr, nullptr, 0, &req), EINVAL);
    EXPECT_EQ(stats_tpl_sample_rates(nullptr, reinterpret_cast<void*>(tcp_rates), 0, nullptr),
              EINVAL);
}

TEST(StatsSampling, EveryTemplateIsListed) {
    ASSERT_GE(stats_tpl_alloc("listed", 0), 0);
    sbuf* const buf = sbuf_new_auto();
    EXPECT_EQ(stats_tpl_list_tostr(buf), 0);
    sbuf_finish(buf);
    EXPECT_NE(std::strstr(sbuf_data(buf), "\"listed\":"), nullptr);
    sbuf_delete(buf);
}

}  // namespace

}  // namespace blkscope::stats
