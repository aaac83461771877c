#include "tools/kstat2/reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace blkscope::kstat2_command {
namespace {

void require(kstat2_status_t status, const std::string& doing) {
    if (status == KSTAT2_S_OK) return;
    std::string why = kstat2_status_string(status);
    if (status == KSTAT2_S_SYS_FAIL) why = std::generic_category().message(errno);
    throw Failure(doing + ": " + why);
}

// A shell pattern that matches only the text itself.
std::string quoted(const std::string& text) {
    std::string pattern;
    for (const char c : text) {
        if (std::strchr("*?[\\", c) != nullptr) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

Value value_of(const struct kstat2_nv& nv) {
    if ((nv.flags & KSTAT2_NVF_INVAL) != 0) return {};
    switch (nv.type) {
        case KSTAT2_NVVT_INT:
            return nv.kstat2_integer;
        case KSTAT2_NVVT_INTS:
            return std::vector<uint64_t>(nv.kstat2_integers.array,
                                         nv.kstat2_integers.array + nv.kstat2_integers.length);
        case KSTAT2_NVVT_STR:
            return std::string(nv.kstat2_string);
        case KSTAT2_NVVT_STRS:
            return std::vector<std::string>(nv.kstat2_strings.array,
                                            nv.kstat2_strings.array + nv.kstat2_strings.length);
        default:
            return {};
    }
}

Meaning meaning_of(kstat2_map_t map, const char* name) {
    kstat2_nv_meta_t meta{};
    if (kstat2_nv_meta(map, name, &meta) != KSTAT2_S_OK) return {};
    return {meta.type, meta.flags, meta.scale, meta.desc};
}

std::vector<kstat2_nv_t> entries_of(kstat2_map_t map) {
    uint32_t size = 0;
    require(kstat2_map_size(map, KSTAT2_NVK_ALL, &size), "cannot read a map");
    std::vector<kstat2_nv_t> entries(size + 1);  // one more: an empty array has no address
    uint32_t stored = 0;
    require(kstat2_map_to_array(map, entries.data(), &size, &stored), "cannot read a map");
    entries.resize(stored);
    return entries;
}

Reading header_of(kstat2_map_t map) {
    const char* uri = nullptr;
    kstat2_map_meta_t meta{};
    Reading reading;
    require(kstat2_map_uri(map, &uri), "cannot name a map");
    require(kstat2_map_meta(map, &meta), "cannot describe a map");
    require(kstat2_map_flags(map, &reading.flags), "cannot describe a map");
    reading.uri = uri;
    reading.desc = meta.desc;
    reading.metatype = meta.type;
    reading.metaflags = meta.flags;
    return reading;
}

}  // namespace

Handle::Handle() {
    kstat2_matcher_list_t list = nullptr;
    require(kstat2_alloc_matcher_list(&list), "cannot select");
    matchers_.reset(list);
}

void Handle::select(kstat2_match_type_t type, const std::string& pattern) {
    const auto status = kstat2_add_matcher(type, pattern.c_str(), matchers_.get());
    if (status == KSTAT2_S_INVAL_ARG) throw BadPattern("'" + pattern + "' is no pattern");
    require(status, "cannot select");
}

kstat2_map_t Handle::update() {
    if (!handle_) {
        kstat2_handle_t handle = nullptr;
        require(kstat2_open(&handle, matchers_.get()), "cannot open the kstats");
        handle_.reset(handle);
    }
    require(kstat2_update(handle_.get()), "cannot update the kstats");
    kstat2_map_t root = nullptr;
    require(kstat2_lookup_map(handle_.get(), "/", &root), "cannot find the kstats");
    return root;
}

Reader::Reader(const Options& options) {
    const bool everything =
        options.globs.empty() && options.expressions.empty() && options.operands.empty();
    if (everything || !options.globs.empty() || !options.expressions.empty()) wholes_.emplace();
    for (const std::string& glob : options.globs) wholes_->select(KSTAT2_M_GLOB, glob);
    for (const std::string& expression : options.expressions) {
        wholes_->select(KSTAT2_M_RE, expression);
    }
    for (const Operand& operand : options.operands) {
        auto& handle = operand.statistic ? parts_ : wholes_;
        if (!handle) handle.emplace();
        handle->select(KSTAT2_M_STRING, operand.uri);
        if (operand.statistic) {
            operands_.push_back(operand);
        } else {
            const char* const below = operand.uri.ends_with('/') ? "*" : "/*";
            handle->select(KSTAT2_M_GLOB, quoted(operand.uri) + below);
        }
    }
}

void Reader::collect(kstat2_map_t map, Readings& readings) {
    Reading reading = header_of(map);
    for (const kstat2_nv_t nv : entries_of(map)) {
        if (nv->kind == KSTAT2_NVK_MAP) {
            collect(nv->kstat2_map, readings);
        } else {
            reading.statistics.push_back({nv->name, value_of(*nv), meaning_of(map, nv->name)});
        }
    }
    // The map is only a level of the tree, or its provider was removed before it could be read.
    if (reading.statistics.empty()) return;
    if (const uint64_t* const time = find_number(reading, "crtime")) reading.crtime = *time;
    if (const uint64_t* const time = find_number(reading, "snaptime")) reading.snaptime = *time;
    readings.try_emplace(reading.uri, std::move(reading));
}

void Reader::keep_selected(Readings& parts) const {
    for (auto& [uri, reading] : parts) {
        std::erase_if(reading.statistics, [&, &of = uri](const Statistic& statistic) {
            return std::ranges::none_of(operands_, [&](const Operand& operand) {
                return operand.uri == of && operand.statistic == statistic.name;
            });
        });
    }
    std::erase_if(parts, [](const auto& part) { return part.second.statistics.empty(); });
}

std::vector<Reading> Reader::read() {
    Readings readings;
    if (wholes_) collect(wholes_->update(), readings);
    if (parts_) {
        Readings parts;
        collect(parts_->update(), parts);
        keep_selected(parts);
        readings.merge(parts);
    }
    std::vector<Reading> sorted;
    for (auto& [uri, reading] : readings) sorted.push_back(std::move(reading));
    return sorted;
}

}  // namespace blkscope::kstat2_command
