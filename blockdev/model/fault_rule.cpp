#include "blockdev/model/fault_rule.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <set>
#include <stdexcept>

#include "blockdev/model/model_spec.hpp"

namespace blkscope::model {
namespace {

constexpr int errno_max = 133;  // EHWPOISON, the largest of Linux

// The operations that rules have.
constexpr std::array<Buf::Op, 5> operations{Buf::Op::read, Buf::Op::write, Buf::Op::flush,
                                            Buf::Op::trim, Buf::Op::write_zeroes};

// The errors of the NBD protocol; the session sends any other as EIO.
constexpr std::array<int, 8> nbd_errors{EPERM,  EIO,       ENOMEM,  EINVAL,
                                        ENOSPC, EOVERFLOW, ENOTSUP, ESHUTDOWN};

std::optional<Buf::Op> parse_operation(std::string_view name) {
    if (name == "all") return std::nullopt;
    const auto* at = std::find_if(operations.begin(), operations.end(),
                                  [&](Buf::Op op) { return name_of(op) == name; });
    if (at != operations.end()) return *at;
    throw std::invalid_argument("unknown operation '" + std::string(name) +
                                "': not read, write, flush, trim, zeroes or all");
}

FaultRule::Sectors parse_sectors(std::string_view text) {
    const auto parts = split(text, '-');
    expect_parts(parts, 2, "sectors=A-B");
    const FaultRule::Sectors sectors{parse_count(parts[0], "sector"),
                                     parse_count(parts[1], "sector")};
    if (sectors.last < sectors.first) {
        throw std::invalid_argument(
            "sectors: the last one is before the first, so the rule can "
            "never match");
    }
    return sectors;
}

uint64_t parse_chance(std::string_view text) {
    const auto parts = split(text, '/');
    expect_parts(parts, 2, "chance=1/N");
    if (parts[0] != "1") throw std::invalid_argument("not of the form chance=1/N");
    return parse_count(parts[1], "chance", 1);
}

Time parse_positive_time(std::string_view text, std::string_view name) {
    const Time time = parse_time(text);
    if (time.ps == 0) {
        throw std::invalid_argument(std::string(name) + " is zero, so the rule has no effect");
    }
    return time;
}

}  // namespace

int parse_errno(std::string_view name) {
    if (name == "ENOTSUP") return ENOTSUP;
    for (int error = 1; error <= errno_max; ++error) {
        const char* each = strerrorname_np(error);
        if (each != nullptr && name == each) return error;
    }
    std::string known;
    for (const int error : nbd_errors) known += (known.empty() ? "" : ", ") + text_of_errno(error);
    throw std::invalid_argument("unknown error '" + std::string(name) + "': not one of " + known +
                                ", nor of the names of errno(3) that a client sees as EIO");
}

std::string text_of_errno(int error) {
    if (error == ENOTSUP) return "ENOTSUP";
    const char* name = strerrorname_np(error);
    assert(name != nullptr);
    return name;
}

FaultRule FaultRule::parse(std::string_view text, uint64_t size_bytes,
                           const HistogramReader& reader) {
    return in_context("fault", text, [&] {
        const Head operation = head_of(text, ':');
        if (!operation.separated) throw std::invalid_argument("not of the form op:kind");
        FaultRule rule;
        rule.op = parse_operation(operation.part);
        // A file may have any character, so it runs to the end of the text.
        const bool file = operation.rest.starts_with("delay=empirical:");
        const auto parts = file ? std::vector{operation.rest} : split(operation.rest, ';');
        rule.take_kind(parts.front(), reader);
        std::set<std::string_view> names;
        for (size_t i = 1; i < parts.size(); ++i) {
            const std::string_view name = head_of(parts[i], '=').part;
            if (!names.insert(name).second) {
                throw std::invalid_argument(std::string(name) + " is given twice");
            }
            rule.take_condition(parts[i]);
        }
        rule.check(size_bytes);
        return rule;
    });
}

void FaultRule::take_kind(std::string_view text, const HistogramReader& reader) {
    const auto [name, value, separated] = head_of(text, '=');
    if (name == "error" && separated) {
        kind = Kind::error;
        error = parse_errno(value);
    } else if (name == "delay" && separated) {
        kind = Kind::delay;
        delay = Distribution::parse(value, reader);
    } else if (name == "hang") {
        kind = Kind::hang;
        if (separated) hang = parse_positive_time(value, name);
    } else if (name == "corrupt") {
        kind = Kind::corrupt;
        if (separated) corrupt_bytes = parse_count(value, name, 1);
    } else if (text == "drop") {
        kind = Kind::drop;
    } else if (text == "torn") {
        kind = Kind::torn;
    } else if (text == "disconnect") {
        kind = Kind::disconnect;
    } else {
        throw std::invalid_argument("unknown kind '" + std::string(text) +
                                    "': not error=ERRNO, delay=DIST, hang[=TIME], drop, "
                                    "corrupt[=BYTES], torn or disconnect");
    }
}

void FaultRule::take_condition(std::string_view text) {
    const auto [name, value, separated] = head_of(text, '=');
    if (name == "sectors") {
        sectors = parse_sectors(value);
    } else if (name == "chance") {
        chance = parse_chance(value);
    } else if (name == "after") {
        after = parse_count(value, name);
    } else if (name == "count") {
        count = parse_count(value, name);
    } else if (name == "every") {
        every = parse_count(value, name, 1);
    } else if (name == "for") {
        lasts = parse_positive_time(value, name);
    } else if (text == "counted") {
        counted = true;
    } else if (text == "sticky") {
        sticky = true;
    } else {
        throw std::invalid_argument("unknown condition '" + std::string(text) +
                                    "': not sectors=A-B, chance=1/N, after=N, count=N, every=N, "
                                    "for=TIME, counted or sticky");
    }
}

// Refuses what can never match, or has no effect.
void FaultRule::check(uint64_t size_bytes) const {
    const auto refuse = [&](const std::string& why) {
        throw std::invalid_argument(why + ", so the rule can never match");
    };
    if (op && !allows(*op)) {
        refuse(kind_text() + " does not concern " + std::string(name_of(*op)) + " requests");
    }
    if (count == 0) refuse("count is zero");
    if (sectors && op == Buf::Op::flush) refuse("a flush has no sectors");
    if (sectors && sectors->first >= (size_bytes + sector_bytes - 1) / sector_bytes) {
        refuse("sector " + std::to_string(sectors->first) + " is behind the end of the device");
    }
    if (counted && kind != Kind::error && kind != Kind::torn) {
        throw std::invalid_argument("counted is for error and torn");
    }
    if (sticky && (kind != Kind::error || op == Buf::Op::read)) {
        throw std::invalid_argument("sticky is for errors of syncs, which reads do not have");
    }
}

bool FaultRule::allows(Buf::Op what) const {
    switch (kind) {
        case Kind::error:
        case Kind::delay:
        case Kind::hang:
        case Kind::disconnect:
            return std::find(operations.begin(), operations.end(), what) != operations.end();
        case Kind::drop:
        case Kind::torn:
            return what == Buf::Op::write;
        case Kind::corrupt:
            return what == Buf::Op::read || what == Buf::Op::write;
    }
    assert(false);
    return false;
}

bool FaultRule::concerns(const Buf& buf) const {
    if (!allows(buf.op) || (op && *op != buf.op)) return false;
    if (!sectors) return true;
    if (buf.op == Buf::Op::flush || buf.bcount == 0) return false;
    const uint64_t first = buf.offset / sector_bytes;
    const uint64_t last = (buf.offset + buf.bcount - 1) / sector_bytes;
    assert(first <= last);
    return first <= sectors->last && last >= sectors->first;
}

std::string FaultRule::kind_text() const {
    switch (kind) {
        case Kind::error:
            return "error=" + text_of_errno(error);
        case Kind::delay:
            assert(delay);
            return "delay=" + delay->text();
        case Kind::hang:
            return hang ? "hang=" + text_of(*hang) : "hang";
        case Kind::drop:
            return "drop";
        case Kind::corrupt:
            return corrupt_bytes == 1 ? "corrupt" : "corrupt=" + std::to_string(corrupt_bytes);
        case Kind::torn:
            return "torn";
        case Kind::disconnect:
            return "disconnect";
    }
    assert(false);
    return {};
}

std::string FaultRule::text() const {
    std::string text = std::string(op ? name_of(*op) : "all") + ":" + kind_text();
    const auto add = [&](const char* name, uint64_t value) {
        text += std::string(";") + name + std::to_string(value);
    };
    if (sectors) {
        add("sectors=", sectors->first);
        text += "-" + std::to_string(sectors->last);
    }
    if (chance != 1) add("chance=1/", chance);
    if (after != 0) add("after=", after);
    if (count != std::numeric_limits<uint64_t>::max()) add("count=", count);
    if (every != 1) add("every=", every);
    if (lasts) text += ";for=" + text_of(*lasts);
    if (counted) text += ";counted";
    if (sticky) text += ";sticky";
    return text;
}

std::string FaultRule::warning() const {
    const bool known = std::find(nbd_errors.begin(), nbd_errors.end(), error) != nbd_errors.end();
    if (kind == Kind::delay) return delay->warning();
    if (kind != Kind::error || known) return {};
    return "clients see " + text_of_errno(error) + " as EIO";
}

}  // namespace blkscope::model
