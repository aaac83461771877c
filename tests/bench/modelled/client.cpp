// Reads from a running server, either at moments of its own or as fast as replies come. A line of
// output is a figure, with tabs between its fields.
//
// usage: truth_client open SOCKET DIST SERVERS SEED LOAD SECONDS
//            Poisson arrivals. The server has just started, and has --model read=DIST --seed SEED
//            --queue-depth SERVERS. Prints the integrals of nbd:0:nbd0 after the last reply, and
//            those of the recursion over the moments of sending and the draws of the model.
//            Nanoseconds.
//        truth_client closed SOCKET CLIENTS SECONDS
//            As many reads at once. Prints the time from send to reply in microseconds, and how
//            many replies had come at each half second.
//        truth_client clock SECONDS
//            Sends nothing. Prints by how many microseconds a program misses a moment a
//            millisecond ahead that only sleeps and looks at the clock. Nobody is earlier on this
//            machine.
#include <kstat.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "recursion.hpp"
#include "wire.hpp"

namespace blkscope::modelled {
namespace {

constexpr uint64_t arrival_seed = 20261123;
constexpr int64_t second = 1'000'000'000;
// Sleep ends this much before a read is due. A sleep may be too long by some tens of microseconds.
constexpr int64_t spin_ns = 100'000;

using Moments = std::vector<int64_t>;

// Of nanoseconds in their order.
void print_quantile(const char* figure, const Moments& sorted, double share) {
    const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size()));
    std::printf("%s\t%.3f\n", figure, static_cast<double>(sorted[at]) / 1e3);
}

// Sends each read at its moment. A read whose moment has passed is sent at once. Returns the true
// moments of sending, from the first.
Moments send_at(Wire& wire, const Moments& moments) {
    Moments sent;
    size_t ended = 0;
    const int64_t begin = now_ns() + 10'000'000;
    while (ended < moments.size()) {
        const int64_t now = now_ns() - begin;
        const size_t before = sent.size();
        while (sent.size() < moments.size() && moments[sent.size()] <= now) {
            wire.push(sent.size());
            sent.push_back(now);
        }
        if (sent.size() > before) wire.flush();
        const int64_t left = sent.size() < moments.size() ? moments[sent.size()] - now : second;
        wire.take(left - spin_ns, [&](uint64_t) { ++ended; });
    }
    return sent;
}

Moments poisson(double gap_ns, int64_t end_ns) {
    Moments moments;
    double at = 0;
    for (uint64_t n = 0; at < static_cast<double>(end_ns); ++n) {
        model::Draws draws(arrival_seed, 0, n);
        at += -std::log(draws.share()) * gap_ns;
        moments.push_back(std::llround(at));
    }
    return moments;
}

kstat_io_t read_io() {
    kstat_ctl_t* chain = kstat_open();
    if (chain == nullptr) throw std::runtime_error("no kstats");
    kstat_t* found = kstat_lookup(chain, "nbd", 0, "nbd0");
    kstat_io_t io{};
    const bool read = found != nullptr && kstat_read(chain, found, nullptr) >= 0;
    if (read) std::memcpy(&io, found->ks_data, sizeof io);
    kstat_close(chain);
    if (!read) throw std::runtime_error("nbd:0:nbd0 cannot be read");
    return io;
}

void print(const char* figure, hrtime_t expected, hrtime_t seen) {
    std::printf("%s\t%lld\t%lld\n", figure, static_cast<long long>(expected),
                static_cast<long long>(seen));
}

void run_open(const std::vector<std::string>& arguments) {
    const auto distribution = model::Distribution::parse(arguments.at(1), nullptr);
    const auto servers = static_cast<uint32_t>(std::stoul(arguments.at(2)));
    const uint64_t seed = std::stoull(arguments.at(3));
    const double gap_ns = distribution.mean_ns() / std::stod(arguments.at(4)) / servers;
    const auto end_ns = std::llround(std::stod(arguments.at(5)) * second);
    Wire wire(arguments.at(0));
    const Moments sent = send_at(wire, poisson(gap_ns, end_ns));
    const kstat_io_t io = read_io();
    if (io.reads != sent.size()) throw std::runtime_error("the server has had other reads");
    const auto services = queueing::services_of(distribution, seed, sent.size());
    const auto all = queueing::recursion({sent.begin(), sent.end()}, services, servers, servers);
    const queueing::Integrals expected = queueing::integrals_of(all);
    std::printf("requests\t%zu\n", sent.size());
    std::printf("elapsed\t%lld\n", static_cast<long long>(all.back().ended - sent.front()));
    print("wlentime", expected.wlentime, io.wlentime);
    print("rlentime", expected.rlentime, io.rlentime);
    print("wtime", expected.wtime, io.wtime);
    print("rtime", expected.rtime, io.rtime);
}

class Loop {
  public:
    Loop(const std::string& socket_path, uint64_t clients) : wire_(socket_path), sent_(clients) {}

    void run(int64_t duration_ns) {
        const int64_t begin = now_ns();
        for (uint64_t i = 0; i < sent_.size(); ++i) send(i, begin);
        int64_t now = begin;
        for (int64_t mark = 0; now < begin + duration_ns; now = now_ns()) {
            for (; now - begin >= mark; mark += second / 2) completed_.push_back(times_ns_.size());
            wire_.flush();
            wire_.take(second / 10, [this](uint64_t cookie) { ended(cookie); });
        }
        elapsed_ns_ = now - begin;
    }

    void print() {
        if (times_ns_.empty()) throw std::runtime_error("no reply has come");
        std::sort(times_ns_.begin(), times_ns_.end());
        double sum = 0;
        for (const int64_t ns : times_ns_) sum += static_cast<double>(ns);
        const auto count = static_cast<double>(times_ns_.size());
        std::printf("requests\t%zu\n", times_ns_.size());
        std::printf("rate\t%.1f\n", count * 1e9 / static_cast<double>(elapsed_ns_));
        std::printf("mean\t%.3f\n", sum / count / 1e3);
        print_quantile("p50", times_ns_, 0.5);
        print_quantile("p99", times_ns_, 0.99);
        for (size_t i = 0; i < completed_.size(); ++i) {
            std::printf("at\t%.1f\t%zu\n", static_cast<double>(i) / 2, completed_[i]);
        }
    }

  private:
    void send(uint64_t client, int64_t now) {
        sent_[client] = now;
        wire_.push(client);
    }
    void ended(uint64_t client) {
        const int64_t now = now_ns();
        times_ns_.push_back(now - sent_[client]);
        send(client, now);
    }

    Wire wire_;
    Moments sent_;      // by client
    Moments times_ns_;  // of all requests that have ended
    int64_t elapsed_ns_ = 0;
    std::vector<size_t> completed_;  // at each half second
};

void run_closed(const std::vector<std::string>& arguments) {
    Loop loop(arguments.at(0), std::stoull(arguments.at(1)));
    loop.run(std::llround(std::stod(arguments.at(2)) * second));
    loop.print();
}

// How late the thread is at a moment one millisecond ahead.
int64_t lateness_ns() {
    const int64_t due = now_ns() + second / 1000;
    const timespec wake{(due - spin_ns) / second, (due - spin_ns) % second};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr);
    int64_t now = now_ns();
    while (now < due) now = now_ns();
    return now - due;
}

void run_clock(const std::vector<std::string>& arguments) {
    const int64_t end = now_ns() + std::llround(std::stod(arguments.at(0)) * second);
    prctl(PR_SET_TIMERSLACK, 1);  // the kernel's 50 us of choice are no fault of the clock
    Moments late;
    while (late.empty() || now_ns() < end) late.push_back(lateness_ns());
    std::sort(late.begin(), late.end());
    for (const auto& [figure, share] :
         {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}) {
        print_quantile(figure, late, share);
    }
}

int run(const std::vector<std::string>& arguments) {
    constexpr size_t open_count = 6;
    constexpr size_t closed_count = 3;
    constexpr size_t clock_count = 1;
    const std::string mode = arguments.empty() ? "" : arguments.front();
    const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1),
                                        arguments.end());
    if (mode == "open" && rest.size() == open_count) {
        run_open(rest);
    } else if (mode == "closed" && rest.size() == closed_count) {
        run_closed(rest);
    } else if (mode == "clock" && rest.size() == clock_count) {
        run_clock(rest);
    } else {
        std::fprintf(stderr,
                     "usage: truth_client open SOCKET DIST SERVERS SEED LOAD SECONDS\n"
                     "       truth_client closed SOCKET CLIENTS SECONDS\n"
                     "       truth_client clock SECONDS\n");
        return 2;
    }
    return 0;
}

}  // namespace
}  // namespace blkscope::modelled

int main(int argc, char** argv) {
    try {
        return blkscope::modelled::run({argv + 1, argv + argc});
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "truth_client: %s\n", failure.what());
        return 1;
    }
}
