#include "blockdev/model/model_spec.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <stdexcept>

#include "blockdev/model/presets.hpp"

namespace blkscope::model {
namespace {

constexpr std::string_view file_distribution = "=empirical:";

constexpr std::array<std::string_view, Buf::op_count> names{"read",   "write", "flush", "trim",
                                                            "zeroes", "cache", "status"};

// The first item of the text. An item with a file runs to the end of the text.
Head first_item(std::string_view text) {
    const Head head = head_of(text, ',');
    if (head.part.find(file_distribution) == std::string_view::npos) return head;
    return {text, {}, false};
}

bool same_text(const std::optional<Distribution>& a, const std::optional<Distribution>& b) {
    return a.has_value() == b.has_value() && (!a || a->text() == b->text());
}

}  // namespace

std::string_view name_of(Buf::Op op) {
    const auto index = static_cast<size_t>(op);
    assert(index < names.size());
    return names[index];
}

ModelSpec ModelSpec::parse(std::string_view text, const HistogramsReader& reader) {
    return in_context("model", text, [&] {
        ModelSpec spec;
        spec.take_items(text, reader);
        spec.check();
        return spec;
    });
}

ModelSpec ModelSpec::parse_items(const std::vector<std::string>& items,
                                 const HistogramsReader& reader) {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
    return in_context("model", text, [&] {
        ModelSpec spec;
        for (const std::string& item : items) spec.take_item(item, reader);
        spec.check();
        return spec;
    });
}

void ModelSpec::take_items(std::string_view text, const HistogramsReader& reader) {
    for (;;) {
        const Head head = first_item(text);
        take_item(head.part, reader);
        if (!head.separated) return;
        text = head.rest;
    }
}

void ModelSpec::take_item(std::string_view item, const HistogramsReader& reader) {
    const auto [name, value, separated] = head_of(item, '=');
    if (!separated) {
        const Preset* preset = find_model_preset(name);
        if (preset == nullptr) {
            throw std::invalid_argument("item '" + std::string(item) +
                                        "' is no op=DIST, servers=N, per_byte=TIME or seed=N, "
                                        "and no preset: there are " +
                                        names_of_model_presets());
        }
        take_items(preset->spec, reader);
    } else if (name == "servers") {
        const uint64_t count = parse_count(value, "servers", 1);
        if (count > servers_max) {
            throw std::invalid_argument("servers is more than " + std::to_string(servers_max));
        }
        servers = static_cast<uint32_t>(count);
    } else if (name == "per_byte") {
        per_byte = parse_time(value);
    } else if (name == "seed") {
        seed = parse_count(value, "seed");
    } else {
        take_time(name, value, reader);
    }
}

void ModelSpec::take_time(std::string_view name, std::string_view time,
                          const HistogramsReader& reader) {
    const bool all = name == "all";
    const auto* at = std::find(names.begin(), names.end(), name);
    if (!all && at == names.end()) {
        throw std::invalid_argument(
            "unknown operation '" + std::string(name) +
            "': not read, write, flush, trim, zeroes, cache, status or all");
    }
    const auto [kind, arguments, separated] = head_of(time, ':');
    if (kind == "hdd" || kind == "ssd") {
        if (!all) {
            throw std::invalid_argument(
                std::string(kind) + " times reads and writes together: all=" + std::string(time));
        }
        *this = {.times = {},
                 .hdd = {},
                 .ssd = {},
                 .per_byte = per_byte,
                 .servers = servers,
                 .seed = seed};
        if (kind == "hdd") hdd = HddShape::parse(arguments);
        if (kind == "ssd") ssd = SsdShape::parse(arguments);
        return;
    }
    const auto read_histogram = [&](const std::string& file) {
        if (!reader) throw std::invalid_argument("no file can be read here");
        return reader(file, name);
    };
    const Distribution distribution = Distribution::parse(time, read_histogram);
    if (all) {
        hdd.reset();
        ssd.reset();
        times.fill(distribution);
        return;
    }
    if ((hdd || ssd) && (name == "read" || name == "write")) {
        throw std::invalid_argument(std::string(name) + "= after " + (hdd ? "hdd" : "ssd") +
                                    ", which times reads and writes together");
    }
    times[static_cast<size_t>(at - names.begin())] = distribution;
}

// Refuses what would have no effect.
void ModelSpec::check() const {
    const bool any = hdd || ssd || std::any_of(times.begin(), times.end(), [](const auto& time) {
                         return time.has_value();
                     });
    if (!any) throw std::invalid_argument("no operation has a time");
    if (ssd && servers != 0 && servers != ssd->channels) {
        throw std::invalid_argument("servers= differs from the channels of the ssd");
    }
    if (per_byte.ps > 0 && !has(Buf::Op::read) && !has(Buf::Op::write)) {
        throw std::invalid_argument(
            "per_byte= has no effect: neither reads nor writes have a time");
    }
}

bool ModelSpec::has(Buf::Op op) const {
    const bool transfers = op == Buf::Op::read || op == Buf::Op::write;
    return time_of(op).has_value() || (transfers && (hdd || ssd));
}

uint32_t ModelSpec::server_count(uint32_t depth) const {
    assert(depth > 0);
    if (ssd) return ssd->channels;
    if (servers != 0) return std::min(servers, depth);
    return hdd ? 1 : depth;
}

bool ModelSpec::all_the_same() const {
    return times.front() && std::all_of(times.begin(), times.end(), [&](const auto& time) {
               return same_text(time, times.front());
           });
}

std::string ModelSpec::text() const {
    std::string text;
    std::string last;  // an item with a file comes last
    const auto add = [&](std::string_view name, const std::string& value) {
        const std::string item = std::string(name) + "=" + value;
        std::string& to = item.find(file_distribution) == std::string::npos ? text : last;
        to += (to.empty() ? "" : ",") + item;
    };
    if (hdd) add("all", hdd->text());
    if (ssd) add("all", ssd->text());
    const bool same = all_the_same();
    if (same) add("all", times.front()->text());
    for (size_t i = 0; i < times.size() && !same; ++i) {
        if (times[i]) add(names[i], times[i]->text());
    }
    if (per_byte.ps > 0) add("per_byte", text_of(per_byte));
    if (servers != 0) add("servers", std::to_string(servers));
    if (seed) add("seed", std::to_string(*seed));
    if (!text.empty() && !last.empty()) text += ",";
    return text + last;
}

std::string ModelSpec::means() const {
    std::string text;
    const bool same = all_the_same();
    for (size_t i = 0; i < (same ? 1 : times.size()); ++i) {
        if (!times[i] || times[i]->says_mean()) continue;
        // A mean may be longer than any time that the grammar has.
        const double ns = std::min(times[i]->mean_ns(), Time{Time::max_ps}.ns());
        if (!text.empty()) text += ", ";
        text += std::string(same ? "all" : names[i]) + " ";
        text += text_of(Time{std::llround(ns) * 1000});
    }
    return text;
}

std::vector<std::string> ModelSpec::warnings() const {
    std::vector<std::string> lines;
    for (const auto& time : times) {
        const std::string line = time ? time->warning() : std::string();
        if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end()) {
            lines.push_back(line);
        }
    }
    return lines;
}

}  // namespace blkscope::model
