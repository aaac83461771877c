// Reports of kstat(1) against a slow model of the original. Each round has random kstats of all types and a random
// command line. The model writes with printf(3), and its patterns are those of fnmatch(3) and of C++'s extended
// regular expressions. kstat(1M) lists the fields of each structure.
//
// Null strings in JSON and a time in JSON are left out, because ours are not the original's on purpose.
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <regex>
#include <set>

#include "printed.hpp"
#include "published.hpp"
#include "rounds.hpp"
#include "tools/kstat/reader.hpp"
#include "tools/kstat/report.hpp"

namespace blkscope::kstat_command {
namespace {

using Fields = std::array<std::string, 4>;  // patterns; an empty one matches anything

struct CommandLine {
    std::string letters;  // of -p, -C, -l, -j and -q
    bool stamped = false;
    std::string kstat_class;
    bool by_options = false;  // the only selection is that of -m, -i, -n and -s
    std::vector<Fields> selections{{}};

    [[nodiscard]] bool has(char letter) const { return letters.find(letter) != std::string::npos; }

    [[nodiscard]] std::vector<std::string> arguments() const {
        std::vector<std::string> words{"kstat"};
        for (const char letter : letters) words.push_back(std::string{'-', letter});
        if (stamped) words.insert(words.end(), {"-T", "unix"});
        if (!kstat_class.empty()) words.insert(words.end(), {"-c", "unused", "-c", kstat_class});
        for (const Fields& fields : selections) {
            if (!by_options) words.push_back(joined(fields));
            for (size_t i = 0; by_options && i < fields.size(); ++i) {
                if (fields[i].empty()) continue;
                words.insert(words.end(), {std::string{'-', "mins"[i]}, fields[i]});
            }
        }
        return words;
    }

    static std::string joined(const Fields& fields) {
        return fields[0] + ":" + fields[1] + ":" + fields[2] + ":" + fields[3];
    }
};

bool matches(const std::string& pattern, const std::string& text) {
    if (pattern.empty()) return true;
    if (pattern.size() < 2 || pattern.front() != '/' || pattern.back() != '/') {
        return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    }
    const std::string expression = pattern.substr(1, pattern.size() - 2);
    return std::regex_search(text, std::regex(expression, std::regex::extended));
}

struct ModelStatistic {
    std::string name;
    std::string value;
    bool quoted;  // in JSON
};

struct ModelKstat {
    const kstat_t* header;
    std::vector<ModelStatistic> statistics;
};

// Puts `one` in front of the first element that is not before it, as the original does.
template <class Element, class Before>
void insert_sorted(std::vector<Element>& elements, const Element& one, Before before) {
    elements.insert(
        std::ranges::find_if(elements, [&](const Element& other) { return !before(other, one); }),
        one);
}

bool before(const ModelStatistic& one, const ModelStatistic& other) {
    return strcasecmp(one.name.c_str(), other.name.c_str()) < 0;
}

bool comes_before(const ModelKstat& one, const ModelKstat& other) {
    const int modules = strcasecmp(one.header->ks_module, other.header->ks_module);
    if (modules != 0) return modules < 0;
    const int instances = one.header->ks_instance - other.header->ks_instance;
    if (instances != 0) return instances < 0;
    return strcasecmp(one.header->ks_name, other.header->ks_name) < 0;
}

std::string without_digits(std::string text) {
    for (const char digit : std::string("0123456789")) std::erase(text, digit);
    return text;
}

std::string seconds(hrtime_t ns) {
    if (ns == 0) return "0";
    return print("%lld.%09lld", ns / 1'000'000'000, ns % 1'000'000'000);
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += std::string{'\\', c};
        if (c == '\n') out += "\\n";
        if (c == '\t') out += "\\t";
        if (c < ' ' && c != '\n' && c != '\t') out += print("\\u%04x", c);
        if (c >= ' ' && c != '"' && c != '\\') out += c;
    }
    return out + "\"";
}

class Model {
  public:
    explicit Model(const CommandLine& line) : line_(line) {}

    std::string report(const std::list<kstat_t>& chain, std::time_t now) {
        std::vector<ModelKstat> kstats;
        for (const kstat_t& ksp : chain) {
            if (is_shown(ksp)) insert_sorted(kstats, read(ksp), comes_before);
        }
        std::string out;
        for (const Fields& fields : line_.selections) {
            for (const ModelKstat& kstat : kstats) out += text_of(kstat, fields);
        }
        if (line_.has('j')) return "[" + out + "]\n";
        return (line_.stamped ? print("%lld\n", static_cast<long long>(now)) : "") + out;
    }

    [[nodiscard]] bool matched() const { return matched_; }

  private:
    static std::string structure_of(const kstat_t& ksp) {
        return without_digits(ksp.ks_module) + ":" + without_digits(ksp.ks_name);
    }

    static bool is_shown(const kstat_t& ksp) {
        if (std::strncmp(ksp.ks_name, "kstat_", 6) == 0) return false;
        const std::set<std::string> known{"unix:var", "unix:ncstats", "unix:sysinfo",
                                          "unix:vminfo"};
        return ksp.ks_type != KSTAT_TYPE_RAW || known.contains(structure_of(ksp));
    }

    ModelKstat read(const kstat_t& ksp) {
        kstat_ = {&ksp, {}};
        add("crtime", seconds(ksp.ks_crtime));
        if (line_.has('p') || line_.has('C') || line_.has('l')) add("class", ksp.ks_class, true);
        if (published.unreadable == ksp.ks_name) return kstat_;
        add("snaptime", seconds(published.snaptime));
        if (ksp.ks_type == KSTAT_TYPE_NAMED) read_named(KSTAT_NAMED_PTR(&ksp), ksp.ks_ndata);
        if (ksp.ks_type == KSTAT_TYPE_INTR) read_interrupts(*KSTAT_INTR_PTR(&ksp));
        if (ksp.ks_type == KSTAT_TYPE_IO) read_io(*KSTAT_IO_PTR(&ksp));
        if (ksp.ks_type == KSTAT_TYPE_TIMER) read_timer(*KSTAT_TIMER_PTR(&ksp));
        if (ksp.ks_type == KSTAT_TYPE_RAW) read_raw(structure_of(ksp), ksp.ks_data);
        return kstat_;
    }

    void add(const std::string& name, const std::string& value, bool is_text = false) {
        insert_sorted(kstat_.statistics, {name, value, is_text}, before);
    }

    void add_signed(const std::string& name, long long value) { add(name, print("%lld", value)); }
    void add_unsigned(const std::string& name, unsigned long long value) {
        add(name, print("%llu", value));
    }

    void read_named(const kstat_named_t* records, uint_t count) {
        for (uint_t i = 0; i < count; ++i) {
            const auto& [name, type, value] = records[i];
            const std::string key = print("%.31s", name);
            if (key.empty()) continue;
            if (type == KSTAT_DATA_CHAR) add(key, print("%.16s", value.c), true);
            if (type == KSTAT_DATA_INT32) add(key, print("%d", value.i32));
            if (type == KSTAT_DATA_UINT32) add(key, print("%u", value.ui32));
            if (type == KSTAT_DATA_INT64) add_signed(key, value.i64);
            if (type == KSTAT_DATA_UINT64) add_unsigned(key, value.ui64);
            const char* const text = value.str.addr.ptr;
            if (type == KSTAT_DATA_STRING) add(key, text == nullptr ? "(null)" : text, true);
        }
    }

    void read_interrupts(const kstat_intr_t& data) {
        add_unsigned("hard", data.intrs[KSTAT_INTR_HARD]);
        add_unsigned("soft", data.intrs[KSTAT_INTR_SOFT]);
        add_unsigned("watchdog", data.intrs[KSTAT_INTR_WATCHDOG]);
        add_unsigned("spurious", data.intrs[KSTAT_INTR_SPURIOUS]);
        add_unsigned("multiple_service", data.intrs[KSTAT_INTR_MULTSVC]);
    }

    void read_io(const kstat_io_t& data) {
        add_unsigned("nread", data.nread);
        add_unsigned("nwritten", data.nwritten);
        add_unsigned("reads", data.reads);
        add_unsigned("writes", data.writes);
        add_signed("wtime", data.wtime);
        add_signed("wlentime", data.wlentime);
        add_signed("wlastupdate", data.wlastupdate);
        add_signed("rtime", data.rtime);
        add_signed("rlentime", data.rlentime);
        add_signed("rlastupdate", data.rlastupdate);
        add_unsigned("wcnt", data.wcnt);
        add_unsigned("rcnt", data.rcnt);
    }

    void read_timer(const kstat_timer_t& data) {
        add("name", data.name, true);
        add_unsigned("num_events", data.num_events);
        add_signed("elapsed_time", data.elapsed_time);
        add_signed("min_time", data.min_time);
        add_signed("max_time", data.max_time);
        add_signed("start_time", data.start_time);
        add_signed("stop_time", data.stop_time);
    }

    void read_raw(const std::string& structure, const void* data) {
        std::vector<std::string> names{"updates", "runque", "runocc",
                                       "swpque",  "swpocc", "waiting"};
        if (structure == "unix:vminfo") {
            names = {"freemem", "swap_resv", "swap_alloc", "swap_avail", "swap_free", "updates"};
        }
        if (structure == "unix:var") {
            names = {"v_buf",       "v_call",   "v_proc",    "v_maxupttl", "v_nglobpris",
                     "v_maxsyspri", "v_clist",  "v_maxup",   "v_hbuf",     "v_hmask",
                     "v_pbuf",      "v_sptmap", "v_maxpmem", "v_autoup",   "v_bufhwm"};
        }
        if (structure == "unix:ncstats") {
            names = {"hits",       "misses",    "enters",        "dbl_enters",
                     "long_enter", "long_look", "move_to_front", "purges"};
        }
        for (size_t i = 0; i < names.size(); ++i) {
            if (structure == "unix:vminfo") {
                add_unsigned(names[i], static_cast<const uint64_t*>(data)[i]);
            } else if (structure == "unix:sysinfo") {
                add_unsigned(names[i], static_cast<const uint32_t*>(data)[i]);
            } else {
                add_signed(names[i], static_cast<const int32_t*>(data)[i]);
            }
        }
    }

    std::string text_of(const ModelKstat& kstat, const Fields& fields) {
        const kstat_t& ksp = *kstat.header;
        if (!matches(line_.kstat_class, ksp.ks_class) || !matches(fields[0], ksp.ks_module) ||
            !matches(fields[1], print("%d", ksp.ks_instance)) || !matches(fields[2], ksp.ks_name)) {
            return "";
        }
        std::vector<ModelStatistic> chosen;
        for (const ModelStatistic& one : kstat.statistics) {
            if (matches(fields[3], one.name)) chosen.push_back(one);
        }
        if (chosen.empty()) return "";
        const bool first = !matched_;
        matched_ = true;
        if (line_.has('q')) return "";
        if (line_.has('j')) return (first ? "" : ", ") + json_of(ksp, chosen);
        return line_.has('p') || line_.has('C') || line_.has('l') ? lines_of(ksp, chosen)
                                                                  : block_of(ksp, chosen);
    }

    static std::string block_of(const kstat_t& ksp, const std::vector<ModelStatistic>& chosen) {
        std::string out =
            print("module: %-30.30s  instance: %-6d\nname:   %-30.30s  class:    %-.30s\n",
                  ksp.ks_module, ksp.ks_instance, ksp.ks_name, ksp.ks_class);
        for (const ModelStatistic& one : chosen) {
            out += print("\t%-30s  %s\n", one.name.c_str(), one.value.c_str());
        }
        return out + "\n";
    }

    [[nodiscard]] std::string lines_of(const kstat_t& ksp,
                                       const std::vector<ModelStatistic>& chosen) const {
        std::string out;
        for (const ModelStatistic& one : chosen) {
            out +=
                print("%s:%d:%s:%s", ksp.ks_module, ksp.ks_instance, ksp.ks_name, one.name.c_str());
            if (!line_.has('l')) out += (line_.has('C') ? ":" : "\t") + one.value;
            out += "\n";
        }
        return out;
    }

    static std::string json_of(const kstat_t& ksp, const std::vector<ModelStatistic>& chosen) {
        std::string out = "{\n\t\"module\": " + quoted(ksp.ks_module);
        out += print(",\n\t\"instance\": %d,\n\t\"name\": ", ksp.ks_instance) + quoted(ksp.ks_name);
        out += ",\n\t\"class\": " + quoted(ksp.ks_class);
        out += print(",\n\t\"type\": %d,\n\t\"snaptime\": ", ksp.ks_type);
        out += seconds(ksp.ks_snaptime) + ",\n\t\"data\": {\n";
        for (const ModelStatistic& one : chosen) {
            const std::string value = one.quoted ? quoted(one.value) : one.value;
            out += "\t\t" + quoted(one.name) + ": " + value;
            out += &one == &chosen.back() ? "\n" : ",\n";
        }
        return out + "\t}\n}";
    }

    const CommandLine& line_;
    ModelKstat kstat_{};
    bool matched_ = false;
};

class KstatReportModel : public testing::Test {
  protected:
    size_t below(size_t bound) { return random_() % bound; }

    std::string word(std::string_view alphabet, size_t length_max) {
        std::string text(1 + below(length_max), ' ');
        for (char& c : text) c = alphabet[below(alphabet.size())];
        return text;
    }

    // Any number, and often an extreme one.
    uint64_t number() {
        constexpr std::array<uint64_t, 4> extremes{0, UINT64_MAX, uint64_t{1} << 63, INT64_MAX};
        const uint64_t any = uint64_t{random_()} << 32 | random_();
        return below(4) == 0 ? extremes[below(extremes.size())] : any >> below(64);
    }

    void* room(size_t bytes) {
        const size_t words = (bytes + 7) / 8;
        auto& data = data_.emplace_back(std::make_unique<uint64_t[]>(words));
        for (size_t i = 0; i < words; ++i) data[i] = number();
        return data.get();
    }

    void fill_named(kstat_t& ksp) {
        constexpr std::array<uchar_t, 6> types{KSTAT_DATA_CHAR,   KSTAT_DATA_INT32,
                                               KSTAT_DATA_UINT32, KSTAT_DATA_INT64,
                                               KSTAT_DATA_UINT64, KSTAT_DATA_STRING};
        constexpr std::array texts{"",     "on", "a \"b\"", "back\\slash", "tab\tnew\nline\x01",
                                   "50 %?"};
        std::set<std::string> names;
        for (uint_t i = 0; i < ksp.ks_ndata; ++i) {
            kstat_named_t& record = KSTAT_NAMED_PTR(&ksp)[i];
            record = {};
            const std::string name = below(8) == 0 ? std::string(30, 'n') : word("abAB.-]*", 3);
            if (below(8) != 0 && names.insert(name).second) std::strcpy(record.name, name.c_str());
            record.data_type = types[below(types.size())];
            record.value.ui64 = number();
            const char* const text = texts[below(texts.size())];
            if (record.data_type == KSTAT_DATA_STRING) {
                record.value.str.addr.ptr = const_cast<char*>(text);
                record.value.str.len = static_cast<uint32_t>(std::strlen(text) + 1);
                if (nulls_ && below(4) == 0) record.value.str = {};
            }
            if (record.data_type == KSTAT_DATA_CHAR) {
                std::memset(record.value.c, 'c', sizeof record.value.c);
                if (below(4) != 0) std::strcpy(record.value.c, below(2) == 0 ? "" : "yes \\");
            }
        }
    }

    void publish_one() {
        kstat_t ksp{};
        constexpr std::array modules{"sd", "SD", "sd1", "unix", "un1ix", "a.b", "x-[y]"};
        constexpr std::array raw{"var", "sysinfo", "vminfo3", "nc2stats", "mystery"};
        constexpr std::array classes{"disk", "misc", "Disk", "device_error"};
        std::strcpy(ksp.ks_module, modules[below(modules.size())]);
        std::strcpy(ksp.ks_class, classes[below(classes.size())]);
        ksp.ks_type = static_cast<uchar_t>(below(KSTAT_NUM_TYPES));
        ksp.ks_instance = static_cast<int>(below(14)) - 1;
        std::strcpy(ksp.ks_name, below(12) == 0 ? "kstat_x" : word("abAB01-]*. \\", 4).c_str());
        if (ksp.ks_type == KSTAT_TYPE_RAW) std::strcpy(ksp.ks_name, raw[below(raw.size())]);
        ksp.ks_crtime = below(4) == 0 ? 0 : static_cast<hrtime_t>(number() >> 1);
        constexpr std::array<size_t, KSTAT_NUM_TYPES> sizes{
            60, sizeof(kstat_named_t), sizeof(kstat_intr_t), sizeof(kstat_io_t),
            sizeof(kstat_timer_t)};
        const size_t count = ksp.ks_type == KSTAT_TYPE_NAMED ? 1 + below(5) : 1;
        ksp.ks_ndata = static_cast<uint_t>(count);
        ksp.ks_data_size = count * sizes.at(ksp.ks_type);
        ksp.ks_data = room(ksp.ks_data_size);
        if (ksp.ks_type == KSTAT_TYPE_NAMED) fill_named(ksp);
        if (ksp.ks_type == KSTAT_TYPE_TIMER) std::strcpy(KSTAT_TIMER_PTR(&ksp)->name, "tick");
        if (ksp.ks_type != KSTAT_TYPE_RAW) ksp.ks_name[4] = '\0';
        publish(ksp);
    }

    // A pattern that describes `text`, or nearly.
    std::string pattern_of(std::string text) {
        if (below(5) == 0) text[below(text.size())] = 'b';
        return below(3) == 0 ? expression_of(text) : glob_of(text);
    }

    std::string glob_of(const std::string& text) {
        std::string pattern;
        for (const char c : text) {
            const size_t choice = below(12);
            if (choice == 0) pattern += "*";
            if (choice == 1) pattern += "?";
            if (choice == 2) pattern += std::string{'[', 'q', '\\', c, ']'};
            if (choice == 3) pattern += std::string{'[', '!', '\\', c, 'z', ']'};
            if (choice == 4) pattern += "[a-m0-3]";
            if (choice == 5 && below(2) == 0) break;
            if (choice > 4) pattern += (std::isalnum(c) != 0 ? "" : "\\") + std::string{c};
        }
        return pattern + (below(4) == 0 ? "*" : "");
    }

    std::string expression_of(const std::string& text) {
        std::string pattern = below(2) == 0 ? "^" : "";
        for (const char c : text) {
            std::string one = std::isalnum(c) != 0 ? std::string{c} : std::string{'[', c, ']'};
            if (c == '\\') one = "\\\\";
            const size_t choice = below(12);
            if (choice == 0) pattern += ".";
            if (choice == 1) pattern += "(" + one + "|q)";
            if (choice == 2) pattern += one + "+";
            if (choice == 3) pattern += one + "?";
            if (choice == 4) pattern += "[a-m0-3]{1,2}";
            if (choice == 5) pattern += ".*";
            if (choice > 5) pattern += one;
        }
        return "/" + pattern + (below(2) == 0 ? "$/" : "/");
    }

    Fields fields() {
        auto at = published.chain.begin();
        std::advance(at, below(published.chain.size()));
        Fields all;
        if (below(2) == 0) all[0] = pattern_of(at->ks_module);
        if (below(4) == 0) all[1] = pattern_of(std::to_string(at->ks_instance));
        if (below(2) == 0) all[2] = pattern_of(at->ks_name);
        constexpr std::array statistics{"crtime", "class", "snaptime", "nread",
                                        "hard",   "a",     "B.",       "v_buf"};
        if (below(3) == 0) all[3] = pattern_of(statistics[below(statistics.size())]);
        return all;
    }

    CommandLine command_line() {
        CommandLine line;
        for (const char letter : std::string("pClj")) {
            if (below(4) == 0) line.letters += letter;
        }
        if (line.letters.empty() && below(6) == 0) line.letters = "q";
        line.stamped = !line.has('j') && below(3) == 0;
        if (below(4) == 0) line.kstat_class = pattern_of(below(2) == 0 ? "disk" : "misc");
        line.by_options = below(3) == 0;
        line.selections = {fields()};
        while (!line.by_options && below(3) == 0) line.selections.push_back(fields());
        return line;
    }

    void publish_some(bool nulls) {
        published = Published{};
        data_.clear();
        nulls_ = nulls;
        published.snaptime = static_cast<hrtime_t>(number() >> 1);
        for (size_t i = 1 + below(8); i > 0; --i) publish_one();
        if (below(4) == 0) published.unreadable = published.chain.front().ks_name;
    }

  private:
    std::mt19937 random_{20261123};
    std::vector<std::unique_ptr<uint64_t[]>> data_;
    bool nulls_ = false;
};

TEST_F(KstatReportModel, EveryReportIsTheOriginals) {
    constexpr std::time_t now = 1'234'567'890;
    int all = 0;
    int matched = 0;
    for (; all < computed_rounds(3'000); ++all) {
        const bool json = below(4) == 0;
        publish_some(!json);
        CommandLine line = command_line();
        if (line.has('j') && !json) continue;
        std::string words;
        for (const std::string& word : line.arguments()) words += word + "  ";
        const auto parsed = parse_options(line.arguments());
        ASSERT_TRUE(std::holds_alternative<Options>(parsed)) << words;
        const auto& options = std::get<Options>(parsed);
        Reporter reporter(options);
        const std::string report = reporter.report(Reader(options).read(), now);
        Model model(line);
        ASSERT_EQ(report, model.report(published.chain, now)) << words;
        ASSERT_EQ(reporter.matched(), model.matched()) << words;
        matched += model.matched() ? 1 : 0;
    }
    EXPECT_GT(matched, all / 4);
    EXPECT_LT(matched, all * 9 / 10);
}

}  // namespace
}  // namespace blkscope::kstat_command
