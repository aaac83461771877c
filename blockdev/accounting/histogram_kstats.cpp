#include "blockdev/accounting/histogram_kstats.hpp"

#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "blockdev/accounting/histogram_switch.hpp"

namespace blkscope {
namespace {

constexpr size_t operation_count = RequestHistograms::operation_count;

// The sums of each operation, in the order of the pairs of `times`.
struct Sum {
    const char* name;
    uint64_t RequestHistograms::Operation::*ticks;
};
constexpr std::array sums{Sum{"_wait", &RequestHistograms::Operation::waited},
                          Sum{"_service", &RequestHistograms::Operation::served},
                          Sum{"_receive", &RequestHistograms::Operation::receiving},
                          Sum{"_reply", &RequestHistograms::Operation::replying}};
constexpr size_t sum_count = operation_count * sums.size();

std::string name_of(size_t operation) {
    assert(operation < operation_count);
    return Buf::name_of(static_cast<Buf::Op>(operation));
}

// The names of the pairs of `times`, for all devices. Never destroyed: kstats borrow them.
const std::vector<std::string>& sum_names() {
    static const auto& names = *[] {
        auto* const made = new std::vector<std::string>();
        for (size_t i = 0; i < operation_count; ++i) {
            for (const Sum& sum : sums) made->push_back(name_of(i) + sum.name);
        }
        return made;
    }();
    assert(names.size() == sum_count);
    return names;
}

// A path below the device's own.
struct Segments {
    std::array<const char*, 5> text;

    Segments(const std::string& device, const std::string& instance, const char* what)
        : text{"disk", device_module, device.c_str(), instance.c_str(), what} {}
};

}  // namespace

HistogramKstats::HistogramKstats(RequestHistograms& histograms, const std::string& name,
                                 int instance)
    : histograms_(histograms), name_(name), instance_(std::to_string(instance)) {
    HistogramSwitch::of_this_process().add(*this);
}

HistogramKstats::~HistogramKstats() {
    HistogramSwitch::of_this_process().remove(*this);
}

void HistogramKstats::publish() {
    if (!kstats_.empty()) return;
    histograms_.switch_on();
    for (size_t i = 0; i < operation_count; ++i) publish_operation(i);
    RequestHistograms::Counts& counts = histograms_.counts();
    publish_histogram("latency", RequestHistograms::powers_of_2, KSTAT2_NVMT_T_ACC, counts.latency,
                      "reads and writes by the time from their arrival to their end");
    publish_histogram("depth", RequestHistograms::depth_steps, KSTAT2_NVMT_CNT, counts.depth,
                      "reads and writes by how many of them were in the device before them");
    publish_times();
}

void HistogramKstats::withdraw() {
    kstats_.clear();
    histograms_.switch_off();
}

void HistogramKstats::publish_operation(size_t index) {
    const std::string name = name_of(index);
    RequestHistograms::Operation& operation = histograms_.counts().operations[index];
    publish_latencies(name + "_wait", operation.wait, "requests by the time that they waited");
    publish_latencies(name + "_service", operation.service,
                      "requests by the time that they were with the backing");
    publish_latencies(name + "_total", operation.total,
                      "requests by the time from their arrival to their end");
    publish_latencies(name + "_receive", operation.receive,
                      "requests by the time from their header to their arrival in the device");
    publish_latencies(name + "_reply", operation.reply,
                      "requests by the time from their end until their reply was sent");
    if (index == static_cast<size_t>(Buf::Op::flush)) return;
    publish_histogram(name + "_size", RequestHistograms::powers_of_2, KSTAT2_NVMT_BYTES,
                      operation.size, "requests by the bytes that they asked for");
}

void HistogramKstats::publish_latencies(const std::string& what,
                                        RequestHistograms::Latencies& counts, const char* desc) {
    publish_histogram(what, RequestHistograms::latency_steps, KSTAT2_NVMT_T_ACC, counts, desc);
}

void HistogramKstats::publish_histogram(const std::string& what, const kstat2::Buckets& shape,
                                        kstat2_nv_metatype_t content, std::span<uint64_t> counts,
                                        const char* desc) {
    assert(counts.size() == shape.count());
    assert(counts.size() <= UINT16_MAX);
    const bool times = content == KSTAT2_NVMT_T_ACC;
    Segments path(name_, instance_, what.c_str());
    keep(OwnedKstat2(kstat2_create_histogram(
        path.text.data(), path.text.size(), ALL_ZONES, shape.type(), content, times ? ns_per_s : 1,
        times ? KSTAT2_NVMF_FRACT : KSTAT2_NVMF_NONE, counts.data(),
        static_cast<uint16_t>(counts.size()), shape.range_min(), shape.range_max(),
        shape.stepping(), 0, desc, KSTAT2_MF_STABLE)));
}

// The sums of the values, which a histogram does not have.
void HistogramKstats::publish_times() {
    std::array<kstat2_md_t, sum_count> metadata{};
    metadata.fill({.type = KSTAT2_NVMT_T_ACC,
                   .flags = KSTAT2_NVMF_FRACT,
                   .scale = ns_per_s,
                   .descr = "of all requests together",
                   .v1_data_type = -1});
    Segments path(name_, instance_, "times");
    OwnedKstat2 kstat(kstat2_create(
        path.text.data(), path.text.size(), ALL_ZONES, nullptr, sum_count, 0, metadata.data(),
        "how long the stages of requests took, in all", KSTAT2_MF_STABLE));
    if (!kstat) return;
    kstat2_named_t* pair = KSTAT2_NAMED_PTR(kstat.get());
    for (const std::string& name : sum_names()) {
        kstat2_nv_init(pair++, name.c_str(), KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    }
    assert(pair == KSTAT2_NAMED_PTR(kstat.get()) + sum_count);
    kstat->ks2_private = this;
    kstat->ks2_update = update_times;
    keep(std::move(kstat));
}

int HistogramKstats::update_times(kstat2_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& kstats = *static_cast<const HistogramKstats*>(ksp->ks2_private);
    const auto ns = [](const uint64_t& ticks) {
        return static_cast<uint64_t>(to_ns(static_cast<hrtime_t>(observe(ticks))));
    };
    kstat2_named_t* pair = KSTAT2_NAMED_PTR(ksp);
    for (const RequestHistograms::Operation& operation : kstats.histograms_.counts().operations) {
        for (const Sum& sum : sums) (pair++)->value.integer = ns(operation.*sum.ticks);
    }
    assert(pair == KSTAT2_NAMED_PTR(ksp) + sum_count);
    return 0;
}

// A kstat that could not be created is missing; the others are published.
void HistogramKstats::keep(OwnedKstat2 kstat) {
    if (!kstat) return;
    kstat2_install(kstat.get());
    kstats_.push_back(std::move(kstat));
}

}  // namespace blkscope
