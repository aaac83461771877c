#include "tools/web/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tools/iostat/groups.hpp"

namespace blkscope::web {
namespace {

using iostat::Device;
using iostat::Histogram;
using iostat::Kind;

uint64_t unsigned_of(hrtime_t ns) {
    return ns > 0 ? static_cast<uint64_t>(ns) : 0;
}

// A family that is made from an IO kstat.
struct IoFamily {
    const char* name;
    Metric type;
    const char* help;
    std::string (*value)(const kstat_io_t& io);
};

const std::array<IoFamily, 12>& io_families() {
    constexpr Metric counter = Metric::counter;
    static const std::array<IoFamily, 12> families{{
        {"reads_completed", counter, "Reads that ended.",
         [](const kstat_io_t& io) { return std::to_string(io.reads); }},
        {"writes_completed", counter, "Writes that ended.",
         [](const kstat_io_t& io) { return std::to_string(io.writes); }},
        {"read_bytes", counter, "Bytes that were read.",
         [](const kstat_io_t& io) { return std::to_string(io.nread); }},
        {"written_bytes", counter, "Bytes that were written.",
         [](const kstat_io_t& io) { return std::to_string(io.nwritten); }},
        {"wait_queue_length", Metric::gauge, "Reads and writes that wait.",
         [](const kstat_io_t& io) { return std::to_string(io.wcnt); }},
        {"run_queue_length", Metric::gauge, "Reads and writes in service.",
         [](const kstat_io_t& io) { return std::to_string(io.rcnt); }},
        {"io_now", Metric::gauge, "Reads and writes that wait or are in service.",
         [](const kstat_io_t& io) { return std::to_string(uint64_t{io.wcnt} + io.rcnt); }},
        {"wait_busy_seconds", counter, "Time in which a request waited.",
         [](const kstat_io_t& io) { return seconds_text(unsigned_of(io.wtime)); }},
        {"run_busy_seconds", counter, "Time in which a request was in service.",
         [](const kstat_io_t& io) { return seconds_text(unsigned_of(io.rtime)); }},
        {"wait_length_seconds", counter,
         "Length of the wait queue times time; its rate is the mean length.",
         [](const kstat_io_t& io) { return seconds_text(unsigned_of(io.wlentime)); }},
        {"run_length_seconds", counter,
         "Length of the run queue times time; its rate is the mean length.",
         [](const kstat_io_t& io) { return seconds_text(unsigned_of(io.rlentime)); }},
        {"io_time_weighted_seconds", counter, "Length of both queues times time.",
         [](const kstat_io_t& io) {
             return seconds_text(unsigned_of(io.wlentime) + unsigned_of(io.rlentime));
         }},
    }};
    return families;
}

// A subject of an IO kstat, and the labels that name it.
struct Subject {
    Labels labels;
    kstat_io_t io;
};

void add_io(Exposition& text, const std::string& lead, const std::vector<Subject>& subjects) {
    for (const IoFamily& family : io_families()) {
        text.family(lead + family.name, family.type, family.help);
        for (const Subject& subject : subjects) {
            text.sample(subject.labels, family.value(subject.io));
        }
    }
}

// Operations with histograms. The first two have their series from the beginning, the others from
// their first request on.
// The labels of a disk, and others behind them.
Labels with(Labels labels, const Labels& others) {
    labels.insert(labels.end(), others.begin(), others.end());
    return labels;
}

constexpr std::array operations{"read", "write", "flush", "trim", "write_zeroes"};
constexpr size_t always_shown = 2;
constexpr std::array phases{"wait", "service", "total"};

const Histogram* find(const Device& device, const char* operation, const char* phase) {
    const auto found = device.histograms.find(std::string(operation) + "_" + phase);
    if (found == device.histograms.end() || found->second.unit != "ns") return nullptr;
    return found->second.sum ? &found->second : nullptr;
}

constexpr std::array<std::string_view, 22> edge_texts{
    "1e-06",  "2e-06", "5e-06", "1e-05", "2e-05", "5e-05", "0.0001", "0.0002",
    "0.0005", "0.001", "0.002", "0.005", "0.01",  "0.02",  "0.05",   "0.1",
    "0.2",    "0.5",   "1.0",   "2.0",   "5.0",   "10.0"};

// The same edges in nanoseconds.
constexpr auto edge_ns = [] {
    std::array<uint64_t, edge_texts.size()> edges{};
    uint64_t power = 1000;
    for (size_t i = 0; i < edges.size(); ++i) {
        constexpr std::array<uint64_t, 3> steps{1, 2, 5};
        edges[i] = steps[i % steps.size()] * power;
        if (i % steps.size() == steps.size() - 1) power *= 10;
    }
    return edges;
}();
static_assert(edge_ns.front() == 1000 && edge_ns.back() == 10'000'000'000);

// A bucket counts below an edge if all of its values are below.
void add_histogram(Exposition& text, const Labels& labels, const Histogram& histogram) {
    std::array<uint64_t, edge_texts.size()> counts{};
    uint64_t below = 0;
    uint32_t bucket = 0;
    const auto end =
        static_cast<uint32_t>(std::min<size_t>(histogram.counts.size(), histogram.shape.count()));
    for (size_t i = 0; i < counts.size(); ++i) {
        while (bucket < end && histogram.shape.upper(bucket) < edge_ns[i]) {
            below += histogram.counts[bucket++];
        }
        counts[i] = below;
    }
    text.histogram(labels, edge_texts, counts,
                   {.count = histogram.count(), .sum_ns = *histogram.sum});
}

// A family that is made from a count of an upstream.
struct UpstreamFamily {
    std::string_view record;
    const char* name;
    Metric type;
    const char* help;
};

constexpr std::array<UpstreamFamily, 6> upstream_families{{
    {"connections", "blkscope_upstream_connections", Metric::gauge,
     "Connections to an upstream at this moment."},
    {"reconnects", "blkscope_upstream_reconnects", Metric::counter,
     "Connections to an upstream after the first."},
    {"resent", "blkscope_upstream_resent", Metric::counter,
     "Requests that were sent to an upstream again."},
    {"losses", "blkscope_upstream_losses", Metric::counter,
     "Lost connections to an upstream that had writes without a flush."},
    {"timeouts", "blkscope_upstream_timeouts", Metric::counter,
     "Requests that a cluster did not answer in time."},
    {"orphans", "blkscope_upstream_orphans", Metric::gauge,
     "Requests that have failed, and that a cluster may still do."},
}};

// The look, in the parts that have families of their own.
class Metrics {
  public:
    Metrics(const Look& look, const MetricsOptions& options)
        : options_(options), text_(options.format), providers_(look.providers) {
        name_devices(look);
    }

    std::string take() {
        add_info();
        add_providers();
        add_io(text_, "blkscope_", subjects_of(Kind::disk));
        add_depths();
        add_commands();
        add_errnos();
        add_histograms();
        add_upstreams();
        add_settings();
        add_io(text_, "blkscope_partition_", subjects_of(Kind::partition));
        add_io(text_, "blkscope_client_", clients());
        if (options_.clients_named) add_client_info();
        return text_.take();
    }

  private:
    struct Named {
        const DeviceLook* look;
        std::string disk;  // unique among all disks
        std::string part;  // of a partition or client, behind the comma; else empty
    };

    // Two names may have the same label, because a label has valid UTF-8 only. The later ones get a
    // number.
    void name_devices(const Look& look) {
        std::set<std::string> used;
        for (const DeviceLook& one : look.devices) {
            if (options_.shows && !options_.shows(one)) continue;
            const size_t comma = std::min(one.device.name.find(','), one.device.name.size());
            Named named{&one, one.disk(), one.device.name.substr(comma)};
            if (!named.part.empty()) named.part.erase(0, 1);
            std::string unique = label_text(one.device.name);
            for (int copy = 2; !used.insert(unique).second; ++copy) {
                unique = fmt::format("{}#{}", label_text(one.device.name), copy);
                (named.part.empty() ? named.disk : named.part) =
                    fmt::format("{}#{}", named.part.empty() ? one.disk() : named.part, copy);
            }
            devices_.push_back(std::move(named));
        }
    }

    [[nodiscard]] static bool is_disk(const Named& named) {
        const Kind kind = named.look->device.kind;
        return kind != Kind::partition && kind != Kind::client;
    }

    [[nodiscard]] std::vector<Subject> subjects_of(Kind kind) const {
        std::vector<Subject> subjects;
        for (const Named& named : devices_) {
            if (kind == Kind::disk ? !is_disk(named) : named.look->device.kind != kind) continue;
            Labels labels{{"device", named.disk}};
            if (kind == Kind::partition) labels.emplace_back("partition", named.part);
            subjects.push_back({std::move(labels), named.look->device.io});
        }
        return subjects;
    }

    // Calls `add` for each disk, with the labels that name it.
    template <class Add>
    void each_disk(Add add) {
        for (const Named& named : devices_) {
            if (is_disk(named)) add(*named.look, Labels{{"device", named.disk}});
        }
    }

    template <class Add>
    void each_upstream(Add add) {
        each_disk([&](const DeviceLook& look, const Labels& disk) {
            if (look.settings.upstream) add(*look.settings.upstream, disk);
        });
    }

    void add_info() {
        text_.family("blkscope_build_info", Metric::gauge, "The version of blkscope web.");
        text_.sample({{"version", BLKSCOPE_VERSION}}, "1");
        text_.family("blkscope_device_info", Metric::gauge,
                     "The kstat that a device is read from.");
        each_disk([&](const DeviceLook& look, Labels labels) {
            labels.emplace_back("module", look.device.module);
            labels.emplace_back("instance", std::to_string(look.device.instance));
            labels.emplace_back("class", iostat::class_of(look.device.kind));
            text_.sample(labels, "1");
        });
        text_.family("blkscope_device_created_seconds", Metric::gauge,
                     "When a device was created, on the clock since the boot.");
        each_disk([&](const DeviceLook& look, const Labels& labels) {
            text_.sample(labels, seconds_text(unsigned_of(look.device.crtime)));
        });
    }

    void add_depths() {
        text_.family("blkscope_queue_depth", Metric::gauge,
                     "Requests that a device serves at once.");
        each_disk([&](const DeviceLook& look, const Labels& labels) {
            if (look.queue_depth) text_.sample(labels, std::to_string(*look.queue_depth));
        });
        text_.family("blkscope_connections", Metric::gauge, "Open connections to a device.");
        each_disk([&](const DeviceLook& look, const Labels& labels) {
            const auto found = look.commands.find("connections");
            if (found != look.commands.end()) text_.sample(labels, std::to_string(found->second));
        });
    }

    void add_providers() {
        text_.family("blkscope_provider_up", Metric::gauge,
                     "Whether a process that has kstats answers: 1 or 0.");
        for (const ProviderLook& one : providers_) {
            text_.sample({{"pid", std::to_string(one.pid)}}, one.is_up ? "1" : "0");
        }
    }

    // The record `other` has the failures whose pair of operation and errno had no place.
    void add_errnos() {
        text_.family("blkscope_errors_by_errno", Metric::counter,
                     "Requests that failed, by operation and errno.");
        each_disk([&](const DeviceLook& look, const Labels& disk) {
            for (const auto& [record, count] : look.errnos) {
                if (count == 0) continue;
                const ErrnoRecord pair = errno_record(record);
                text_.sample(with(disk, {{"op", pair.operation}, {"errno", pair.error}}),
                             std::to_string(count));
            }
        });
    }

    // The records of the kstat NAME,cmds whose names end with `tail`, by operation.
    void add_command_family(const char* name, const char* help, std::string_view tail) {
        text_.family(name, Metric::counter, help);
        each_disk([&](const DeviceLook& look, const Labels& disk) {
            for (const auto& [record, count] : look.commands) {
                if (!record.ends_with(tail)) continue;
                text_.sample(with(disk, {{"op", record.substr(0, record.size() - tail.size())}}),
                             std::to_string(count));
            }
        });
    }

    void add_commands() {
        add_command_family("blkscope_requests", "Requests that ended, by operation.", "_requests");
        add_command_family("blkscope_errors", "Requests that failed, by operation.", "_errors");
        text_.family("blkscope_device_errors", Metric::counter,
                     "Errors of a device, by kind, as iostat -e has them.");
        constexpr std::array kinds{"soft", "hard", "transport"};
        each_disk([&](const DeviceLook& look, const Labels& disk) {
            for (size_t i = 0; i < kinds.size() && !look.device.errors.empty(); ++i) {
                text_.sample(with(disk, {{"kind", kinds[i]}}),
                             std::to_string(iostat::error_count(look.device.errors, i)));
            }
        });
        text_.family("blkscope_requests_refused", Metric::counter,
                     "Requests that were refused as the client's mistake, and did not begin.");
        each_disk([&](const DeviceLook& look, const Labels& disk) {
            if (look.device.errors.empty()) return;
            text_.sample(disk, std::to_string(iostat::error_count(look.device.errors,
                                                                  iostat::refused_requests)));
        });
    }

    void add_histograms() {
        text_.family("blkscope_io_latency_seconds", Metric::histogram,
                     "Time of requests, by operation and phase.");
        each_disk([&](const DeviceLook& look, const Labels& disk) {
            for (size_t i = 0; i < operations.size(); ++i) {
                const Histogram* total = find(look.device, operations[i], "total");
                if (total == nullptr || (i >= always_shown && total->count() == 0)) continue;
                for (const char* phase : phases) {
                    const Histogram* histogram = find(look.device, operations[i], phase);
                    if (histogram == nullptr) continue;
                    add_histogram(text_, with(disk, {{"op", operations[i]}, {"phase", phase}}),
                                  *histogram);
                }
            }
        });
    }

    // Each state has a series, so that a condition on one of them never loses its series.
    void add_upstreams() {
        text_.family("blkscope_upstream_state", Metric::gauge,
                     "Whether the upstream of a device is in this state: 1 or 0.");
        each_upstream([&](const top::Upstream& upstream, const Labels& disk) {
            const auto add = [&](const std::string& state) {
                text_.sample(with(disk, {{"state", state}}), state == upstream.state ? "1" : "0");
            };
            for (const char* state : top::Upstream::states) add(state);
            add(upstream.state);
        });
        for (const auto& [record, name, type, help] : upstream_families) {
            text_.family(name, type, help);
            each_upstream([&, wanted = record](const top::Upstream& upstream, const Labels& disk) {
                for (const top::Upstream::Count& count : upstream.counts) {
                    if (count.name == wanted) text_.sample(disk, std::to_string(count.value));
                }
            });
        }
        text_.family("blkscope_upstream_round_trip_seconds", Metric::gauge,
                     "The shortest time of the last requests to an upstream.");
        each_upstream([&](const top::Upstream& upstream, const Labels& disk) {
            if (upstream.round_trip_ns) text_.sample(disk, seconds_text(*upstream.round_trip_ns));
        });
    }

    void add_settings() {
        text_.family("blkscope_model_overruns", Metric::counter,
                     "Requests for which the backing was slower than the model.");
        each_disk([&](const DeviceLook& look, const Labels& disk) {
            const auto& model = look.settings.model;
            if (model) text_.sample(disk, std::to_string(model->overruns));
        });
        text_.family("blkscope_limit_exceeded_seconds", Metric::counter,
                     "Time in which a limit held requests back.");
        each_disk([&](const DeviceLook& look, const Labels& disk) {
            if (!look.settings.limit) return;
            for (const top::LimitBucket& bucket : look.settings.limit->buckets) {
                text_.sample(with(disk, {{"limit", bucket.name}}),
                             seconds_text(bucket.exceeded_ns));
            }
        });
        text_.family("blkscope_fault_hits", Metric::counter, "Requests that a fault rule took.");
        each_disk([&](const DeviceLook& look, const Labels& disk) {
            for (const top::FaultSetting& fault : look.settings.faults) {
                text_.sample(with(disk, {{"fault", fault.id}, {"rule", fault.rule}}),
                             std::to_string(fault.hits));
            }
        });
    }

    // The clients of each disk, the busiest first.
    [[nodiscard]] std::map<std::string, std::vector<const Named*>> clients_by_disk() const {
        std::map<std::string, std::vector<const Named*>> clients;
        for (const Named& named : devices_) {
            if (named.look->device.kind == Kind::client) clients[named.disk].push_back(&named);
        }
        const auto requests = [](const Named* named) {
            const kstat_io_t& io = named->look->device.io;
            return uint64_t{io.reads} + io.writes;
        };
        for (auto& [disk, all] : clients) std::ranges::stable_sort(all, std::greater{}, requests);
        return clients;
    }

    [[nodiscard]] std::vector<Subject> clients() const {
        std::vector<Subject> subjects;
        for (const auto& [disk, all] : clients_by_disk()) {
            Subject other{{{"device", disk}, {"client", "other"}}, {}};
            for (size_t i = 0; i < all.size(); ++i) {
                const kstat_io_t& io = all[i]->look->device.io;
                if (i < clients_shown_max) {
                    subjects.push_back({{{"device", disk}, {"client", all[i]->part}}, io});
                } else {
                    iostat::add_counters(other.io, io);
                }
            }
            if (all.size() > clients_shown_max) subjects.push_back(std::move(other));
        }
        return subjects;
    }

    void add_client_info() {
        text_.family("blkscope_client_info", Metric::gauge,
                     "The program and the peer of a client.");
        for (const auto& [disk, all] : clients_by_disk()) {
            for (size_t i = 0; i < std::min(all.size(), clients_shown_max); ++i) {
                const DeviceLook& look = *all[i]->look;
                if (look.program.empty() && look.peer.empty()) continue;
                text_.sample({{"device", disk},
                              {"client", all[i]->part},
                              {"program", look.program},
                              {"peer", look.peer}},
                             "1");
            }
        }
    }

    MetricsOptions options_;
    Exposition text_;
    const std::vector<ProviderLook>& providers_;
    std::vector<Named> devices_;
};

}  // namespace

std::string metrics_text(const Look& look, const MetricsOptions& options) {
    return Metrics(look, options).take();
}

}  // namespace blkscope::web
