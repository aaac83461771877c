// Reports against a slow model of the original, over random counters and every set of options. The
// model has its formulas and its formats, one after the other. Each round has two reports: the one
// since the creation, and the next.
//
// No random number lies half-way between two printed ones. There, the last bit of a quotient would
// decide.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "devices.hpp"
#include "printed.hpp"
#include "rounds.hpp"
#include "tools/iostat/report.hpp"

namespace blkscope::iostat {
namespace {

// Which letters are set, and what follows from several.
struct Letters {
    explicit Letters(std::string set) : letters(std::move(set)) {
        if (letters.find_first_of("cdDexEt") == std::string::npos) letters += "tdc";
    }

    bool has(char letter) const { return letters.find(letter) != std::string::npos; }
    bool blocks() const { return !has('x') && (has('d') || has('D')); }
    bool horizontal() const { return blocks() || !(has('x') || has('e') || has('E')); }
    bool rates() const { return has('D'); }
    bool errors() const { return has('e') && !horizontal(); }
    bool listing() const { return has('E') && !horizontal(); }
    bool lines() const { return has('x') || errors(); }

    std::string letters;
};

struct Machine {
    std::vector<Device> devices;
    Processors processors;
};

struct Numbers {
    double reads, writes, transfers, data_read, data_written;
    double wait, actv, wsvc_t, asvc_t, svc_t, w_percent, b_percent;
    uint32_t soft, hard, transport;
};

std::string joined(const std::vector<std::string>& fields) {
    std::string line;
    for (const std::string& field : fields) {
        if (!line.empty()) line += ",";
        line += field;
    }
    return line + "\n";
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

class Model {
  public:
    explicit Model(const std::string& letters) : o_(letters) {}

    std::string report(const Machine* before, const Machine& now) {
        before_ = before;
        now_ = &now;
        std::string text = o_.horizontal() ? horizontal() : vertical();
        if (o_.listing()) {
            for (const Device& device : now.devices) text += listing(device);
        }
        return text;
    }

  private:
    static uint32_t record(const Device& device, size_t n) {
        if (device.errors.size() <= n) return 0;
        const auto* const number = std::get_if<uint32_t>(&device.errors[n].value);
        return number == nullptr ? 0 : *number;
    }

    Numbers numbers(size_t i) const {
        const Device& now = now_->devices[i];
        const Device* const before = before_ == nullptr ? nullptr : &before_->devices[i];
        const kstat_io_t old = before == nullptr ? kstat_io_t{} : before->io;
        const hrtime_t since = before == nullptr ? now.crtime : before->snaptime;
        const auto ns = static_cast<double>(now.snaptime - since);
        const double s = ns / 1e9;
        const double scale = o_.has('I') ? 1 : s;
        const double unit = o_.has('M') ? 1048576 : 1024;
        Numbers n{};
        n.reads = static_cast<uint32_t>(now.io.reads - old.reads) / scale;
        n.writes = static_cast<uint32_t>(now.io.writes - old.writes) / scale;
        n.transfers = n.reads + n.writes;
        n.data_read = static_cast<double>(now.io.nread - old.nread) / scale / unit;
        n.data_written = static_cast<double>(now.io.nwritten - old.nwritten) / scale / unit;
        n.wait = static_cast<double>(now.io.wlentime - old.wlentime) / ns;
        n.actv = static_cast<double>(now.io.rlentime - old.rlentime) / ns;
        const double per_second = n.transfers * scale / s;
        n.wsvc_t = per_second == 0 ? 0 : n.wait * 1000 / per_second;
        n.asvc_t = per_second == 0 ? 0 : n.actv * 1000 / per_second;
        n.svc_t = n.wsvc_t + n.asvc_t;
        n.w_percent = 100 * static_cast<double>(now.io.wtime - old.wtime) / ns;
        n.b_percent = 100 * static_cast<double>(now.io.rtime - old.rtime) / ns;
        n.soft = record(now, 0);
        n.hard = record(now, 1);
        n.transport = record(now, 2);
        return n;
    }

    // The fields of terminals and processors.
    std::vector<std::string> beside(int tty_in, int tty_out, int cpu) const {
        Processor sum;
        hrtime_t ns = 0;
        const auto count = static_cast<double>(now_->processors.size());
        for (size_t i = 0; i < now_->processors.size(); ++i) {
            const Processor& now = now_->processors[i];
            const Processor old = before_ == nullptr ? Processor{} : before_->processors[i];
            sum.user_ticks += now.user_ticks - old.user_ticks;
            sum.kernel_ticks += now.kernel_ticks - old.kernel_ticks;
            sum.idle_ticks += now.idle_ticks - old.idle_ticks;
            sum.wait_ticks += now.wait_ticks - old.wait_ticks;
            sum.characters_in += now.characters_in - old.characters_in;
            sum.characters_out += now.characters_out - old.characters_out;
            sum.dtrace_ns += now.dtrace_ns - old.dtrace_ns;
            ns = now.snaptime - old.snaptime;
        }
        const auto number = [](uint64_t n) { return static_cast<double>(n); };
        const double total =
            number(sum.user_ticks + sum.kernel_ticks + sum.idle_ticks + sum.wait_ticks);
        const auto hz = static_cast<double>(sysconf(_SC_CLK_TCK));
        const double seconds = o_.has('I') ? 1 : total / count / hz;
        std::vector<std::string> fields;
        if (o_.has('t')) {
            fields.push_back(print("%*.0f", tty_in, number(sum.characters_in) / seconds));
            fields.push_back(print("%*.0f", tty_out, number(sum.characters_out) / seconds));
        }
        if (!o_.has('c')) return fields;
        const double dtrace = 100 * number(sum.dtrace_ns) / static_cast<double>(ns) / count;
        for (const double percent :
             {100 * number(sum.user_ticks) / total, 100 * number(sum.kernel_ticks) / total, dtrace,
              100 * number(sum.idle_ticks) / total}) {
            fields.push_back(print("%*.0f", cpu, percent));
        }
        return fields;
    }

    std::string tty_data() const {
        if (!o_.has('t')) return "";
        const auto fields = beside(3, 4, 2);
        return " " + fields[0] + " " + fields[1] + " ";
    }
    std::string cpu_data() const {
        if (!o_.has('c')) return "";
        const auto fields = beside(3, 4, 2);
        std::string text;
        for (size_t i = fields.size() - 4; i < fields.size(); ++i) text += " " + fields[i];
        return text;
    }
    std::string beside_title() const {
        return std::string(o_.has('t') ? "   tty    " : "") + (o_.has('c') ? "     cpu" : "");
    }
    std::string beside_header() const {
        return std::string(o_.has('t') ? " tin tout " : "") + (o_.has('c') ? " us sy dt id" : "");
    }

    void add_beside_titles(std::vector<std::string>& title) const {
        if (o_.has('t')) title.emplace_back("tty");
        if (o_.has('c')) title.emplace_back("cpu");
    }
    void add_beside_headers(std::vector<std::string>& header) const {
        if (o_.has('t')) header.insert(header.end(), {"tin", "tout"});
        if (o_.has('c')) header.insert(header.end(), {"us", "sy", "dt", "id"});
    }

    std::string per() const { return o_.has('I') ? "i" : "s"; }
    std::string unit() const { return o_.has('M') ? "M" : "k"; }

    // ---- A line per report ----

    std::vector<std::string> block_header() const {
        if (o_.rates()) return {"rp" + per(), "wp" + per(), "util"};
        return {unit() + "p" + per(), "tp" + per(), "serv"};
    }

    std::string horizontal_separated() const {
        std::vector<std::string> title;
        std::vector<std::string> header;
        std::vector<std::string> data;
        const auto others = beside(0, 0, 0);
        const ptrdiff_t terminals = o_.has('t') ? 2 : 0;
        if (o_.has('t')) {
            title.emplace_back("tty");
            append(header, {"tin", "tout"});
            append(data, {others[0], others[1]});
        }
        for (size_t i = 0; o_.blocks() && i < now_->devices.size(); ++i) {
            const Numbers n = numbers(i);
            title.push_back(now_->devices[i].name);
            append(header, block_header());
            if (o_.rates()) {
                append(data, {print("%.0f", n.reads), print("%.0f", n.writes),
                              print("%.1f", n.b_percent)});
            } else {
                append(data, {print("%.0f", n.data_read + n.data_written),
                              print("%.0f", n.transfers), print("%.0f", n.svc_t)});
            }
        }
        if (o_.has('c')) {
            title.emplace_back("cpu");
            append(header, {"us", "sy", "dt", "id"});
            data.insert(data.end(), others.begin() + terminals, others.end());
        }
        return (before_ == nullptr ? joined(title) + joined(header) : "") + joined(data);
    }

    std::string horizontal() const {
        if (o_.has('r')) return horizontal_separated();
        std::string title = o_.has('t') ? "   tty    " : "";
        std::string header = o_.has('t') ? " tin tout " : "";
        std::string data = tty_data();
        for (size_t i = 0; o_.blocks() && i < now_->devices.size(); ++i) {
            const std::string& name = now_->devices[i].name;
            const std::string centred =
                print("%*s", static_cast<int>(6 + name.size() / 2), name.c_str());
            title += print("%-13.13s ", centred.c_str());
            const auto names = block_header();
            header += names[0] + " " + names[1] + " " + names[2] + "  ";
            const Numbers n = numbers(i);
            data += o_.rates() ? print("%3.0f %3.0f %4.1f  ", n.reads, n.writes, n.b_percent)
                               : print("%3.0f %3.0f %4.0f  ", n.data_read + n.data_written,
                                       n.transfers, n.svc_t);
        }
        if (o_.has('c')) title += "     cpu", header += " us sy dt id";
        const std::string head = before_ == nullptr ? title + "\n" + header + "\n" : "";
        return head + data + cpu_data() + "\n";
    }

    // ---- A line per device ----

    std::vector<std::string> columns() const {
        std::vector<std::string> names;
        if (o_.has('x')) {
            append(names, {"r/" + per(), "w/" + per(), unit() + "r/" + per(), unit() + "w/" + per(),
                           "wait", "actv"});
            if (o_.has('n')) append(names, {"wsvc_t", "asvc_t"});
            if (!o_.has('n')) names.emplace_back("svc_t");
            append(names, {"%w", "%b"});
        }
        if (o_.errors()) append(names, {"s/w", "h/w", "trn", "tot"});
        return names;
    }

    std::vector<double> extended(const Numbers& n) const {
        std::vector<double> values{n.reads, n.writes, n.data_read, n.data_written, n.wait, n.actv};
        if (o_.has('n')) values.insert(values.end(), {n.wsvc_t, n.asvc_t});
        if (!o_.has('n')) values.push_back(n.svc_t);
        values.insert(values.end(), {n.w_percent, n.b_percent});
        return values;
    }

    bool is_hidden(const Numbers& n) const {
        if (!o_.has('z') || !o_.has('x')) return false;
        if (o_.errors() && n.soft + n.hard + n.transport != 0) return false;
        for (const double value : {n.reads, n.writes, n.data_read, n.data_written, n.wait, n.actv,
                                   n.svc_t, n.w_percent, n.b_percent}) {
            if (value >= 0.1) return false;
        }
        return true;
    }

    std::string vertical_separated() const {
        std::vector<std::string> title;
        std::vector<std::string> header;
        std::string text;
        const auto others = beside(0, 0, 0);
        const bool apart = o_.has('n') || !o_.lines();
        if (o_.has('x')) title.emplace_back("extended device statistics");
        if (o_.errors()) title.emplace_back("errors");
        header = columns();
        if (o_.has('n')) header.emplace_back("device");
        if (!o_.has('n')) header.insert(header.begin(), "device");
        if (apart && !others.empty()) {
            std::vector<std::string> own_title;
            std::vector<std::string> own_header;
            add_beside_titles(own_title);
            add_beside_headers(own_header);
            text += joined(own_title) + joined(own_header) + joined(others);
        }
        if (!o_.lines()) return text;
        if (!apart) add_beside_titles(title), add_beside_headers(header);
        text += joined(title) + joined(header);
        for (size_t i = 0; i < now_->devices.size(); ++i) {
            const Numbers n = numbers(i);
            if (is_hidden(n)) continue;
            std::vector<std::string> line;
            if (o_.has('x')) {
                const auto values = extended(n);
                for (size_t k = 0; k < values.size(); ++k)
                    line.push_back(print("%.*f", k + 2 < values.size() ? 1 : 0, values[k]));
            }
            if (o_.errors()) {
                for (const uint32_t count :
                     {n.soft, n.hard, n.transport, n.soft + n.hard + n.transport})
                    line.push_back(std::to_string(count));
            }
            line.insert(o_.has('n') ? line.end() : line.begin(), now_->devices[i].name);
            if (!apart && i == 0) append(line, others);
            text += joined(line);
        }
        return text;
    }

    std::string extended_text(const Numbers& n) const {
        std::string text = print(" %6.1f %6.1f %6.1f %6.1f %4.1f %4.1f ", n.reads, n.writes,
                                 n.data_read, n.data_written, n.wait, n.actv);
        text += o_.has('n') ? print("%6.1f %6.1f ", n.wsvc_t, n.asvc_t) : print("%6.1f ", n.svc_t);
        return text + print("%3.0f %3.0f ", n.w_percent, n.b_percent);
    }

    std::string extended_header() const {
        const std::string data =
            print(" %6s %6s %6s %6s ", ("r/" + per()).c_str(), ("w/" + per()).c_str(),
                  (unit() + "r/" + per()).c_str(), (unit() + "w/" + per()).c_str());
        return data +
               (o_.has('n') ? "wait actv wsvc_t asvc_t  %w  %b " : "wait actv  svc_t  %w  %b ");
    }

    // The two lines before those of the devices, without terminals and processors.
    std::pair<std::string, std::string> head(int width) const {
        std::string header = o_.has('n') ? "" : print("%-*.*s", width, width, "device");
        if (o_.has('x')) header += extended_header();
        if (o_.errors() && !o_.has('x')) header += "  ";
        if (o_.errors()) header += "s/w h/w trn tot ";
        if (o_.has('n')) header += "device";
        std::string title;
        if (o_.has('x')) {
            const size_t left = (header.size() - 26) / 2;
            const size_t cut = (o_.errors() ? 16U : 0U) + (o_.has('n') ? 7U : 0U);
            title = std::string(left, ' ') + "extended device statistics" +
                    std::string(header.size() - left - 26 - cut, ' ');
            if (o_.errors() && o_.has('n')) title += " ";
        } else {
            title = std::string(o_.has('n') ? 2 : 11, ' ');
        }
        if (o_.errors()) title += "---- errors --- ";
        return {title, header};
    }

    std::string vertical() {
        if (o_.has('r')) return vertical_separated();
        std::string text;
        const bool apart = o_.has('n') || !o_.lines();
        if (apart && (o_.has('t') || o_.has('c'))) {
            text += beside_title() + "\n" + beside_header() + "\n" + tty_data() + cpu_data() + "\n";
        }
        if (!o_.lines()) return text;
        for (const Device& device : now_->devices)
            width_ = std::max(width_, static_cast<int>(device.name.size()));
        const int width = std::min(width_, 24);
        auto [title, header] = head(width);
        const size_t blank = header.size();
        if (!apart) title += beside_title(), header += beside_header();
        text += title + "\n" + header + "\n";
        for (size_t i = 0; i < now_->devices.size(); ++i) {
            const std::string& name = now_->devices[i].name;
            const Numbers n = numbers(i);
            const bool is_shown = !is_hidden(n);
            const std::string others = apart || i > 0 ? "" : tty_data() + cpu_data();
            if (!is_shown && others.empty()) continue;
            std::string line = o_.has('n') ? "" : print("%-*.*s", width, width, name.c_str());
            if (o_.has('x')) line += extended_text(n);
            if (o_.errors()) {
                if (!o_.has('x')) line += "  ";
                line += print("%3u %3u %3u %3u ", n.soft, n.hard, n.transport,
                              n.soft + n.hard + n.transport);
            }
            if (o_.has('n')) line += name;
            text += (is_shown ? line : std::string(blank, ' ')) + others + "\n";
        }
        return text;
    }

    // ---- The listing of errors ----

    std::string listing(const Device& device) const {
        if (device.errors.empty()) return "";
        const std::string& name = device.name;
        std::string text = name.size() > 20    ? name + " "
                           : name.size() >= 17 ? print("%-20.20s ", name.c_str())
                           : o_.has('n')       ? print("%-16.16s ", name.c_str())
                                               : print("%-9.9s ", name.c_str());
        size_t column = 0;
        bool pending = true;
        for (size_t i = 0; i < device.errors.size(); ++i) {
            const auto& [key, value] = device.errors[i];
            pending = true;
            if (key == "Size") {
                const uint64_t bytes = std::get<uint64_t>(value);
                if (!text.ends_with('\n')) text += "\n";
                text += print("Size: %2.2fGB <%llu bytes>\n",
                              static_cast<double>(static_cast<float>(bytes) / 1e9F),
                              static_cast<unsigned long long>(bytes));
                column = 0;
                pending = false;
            } else if (const auto* const words = std::get_if<std::string>(&value)) {
                text += key + ": " + *words + " ";
                column += key.size() + words->size();
            } else {
                text += key + ": " + std::to_string(std::get<uint32_t>(value)) + " ";
                column += key.size() + 4;
            }
            if (pending && (i == 2 || column >= 62)) {
                text += "\n";
                column = 0;
                pending = false;
            }
        }
        return text + (pending ? "\n" : "");
    }

    Letters o_;
    const Machine* before_ = nullptr;
    const Machine* now_ = nullptr;
    int width_ = 6;
};

class IostatReportModel : public testing::Test {
  protected:
    uint64_t below(uint64_t n) { return random_() % n; }

    Device device(const std::string& name) {
        Device device = idle_device(name);
        device.kid = static_cast<kid_t>(below(1'000'000'000) + 1);
        device.crtime = static_cast<hrtime_t>(below(1'000'000'000));
        device.snaptime = device.crtime;
        device.io.reads = below(2) == 0 ? 0xffff'ff00U : 0;  // soon beyond 32 bits
        if (below(2) == 0) return device;
        for (auto [key, value] : error_records()) {
            if (auto* const number = std::get_if<uint32_t>(&value))
                *number = static_cast<uint32_t>(below(500));
            if (auto* const words = std::get_if<std::string>(&value))
                *words = std::string(1 + below(15), 'w');
            if (auto* const bytes = std::get_if<uint64_t>(&value)) *bytes = random_() >> below(40);
            device.errors.push_back({key, value});
        }
        return device;
    }

    // An odd number of bytes below a quarter of 1024, and a whole number of 1024.
    uint64_t bytes() { return below(1000) * 1024 + 1 + below(100); }

    void go_on(Device& device) {
        const uint64_t ns = 700'000'000 + below(1'000'000'000);
        device.snaptime += static_cast<hrtime_t>(ns);
        if (below(3) == 0) return;
        device.io.nread += bytes();
        device.io.nwritten += bytes();
        device.io.wtime += static_cast<hrtime_t>(below(ns));
        device.io.rtime += static_cast<hrtime_t>(below(ns));
        device.io.wlentime += static_cast<hrtime_t>(below(50 * ns));
        device.io.rlentime += static_cast<hrtime_t>(below(50 * ns));
        if (below(4) == 0) return;  // requests in flight, and none that is finished
        device.io.reads += static_cast<uint_t>(below(1000));
        device.io.writes += static_cast<uint_t>(below(1000));
    }

    void go_on(Machine& machine) {
        for (Device& device : machine.devices) go_on(device);
        for (Processor& processor : machine.processors) {
            processor.snaptime += 1'000'003'000;
            processor.user_ticks += 1 + below(97);
            processor.kernel_ticks += below(97);
            processor.idle_ticks += below(97);
            processor.wait_ticks += below(97);
            processor.dtrace_ns += below(500'000'000);
            processor.characters_in += below(5000);
            processor.characters_out += below(5000);
        }
    }

    Machine machine() {
        constexpr const char* names[] = {"sd0", "nbd17", "sd1,a", "a-name-of-17-chars",
                                         "a-very-long-name-of-a-device-of-somebody"};
        Machine machine;
        for (uint64_t n = 1 + below(4); n > 0; --n)
            machine.devices.push_back(device(names[below(std::size(names))]));
        machine.processors.resize(1 + below(3));
        for (Processor& processor : machine.processors)
            processor.id = static_cast<int>(&processor - machine.processors.data());
        return machine;
    }

    // Letters that may stand together. A hidden first device leaves no line for the terminals of a
    // comma-separated report. errors_test.cpp has the commas of a listing.
    std::string letters() {
        std::string set;
        for (const char letter : std::string_view("xdDcteEnIMzr")) {
            if (below(5) < 2) set += letter;
        }
        if (set.find('D') != std::string::npos) std::erase(set, 'd');
        if (set.find('r') != std::string::npos) {
            std::erase(set, 'z');
            std::erase(set, 'E');
        }
        return set;
    }

    std::mt19937_64 random_{20261123};
};

TEST_F(IostatReportModel, EveryReportIsTheOriginals) {
    for (int round = 0; round < computed_rounds(3'000); ++round) {
        const std::string set = letters();
        std::vector<std::string> arguments{"iostat"};
        if (!set.empty()) arguments.push_back("-" + set);
        const auto parsed = parse_options(arguments);
        ASSERT_TRUE(std::holds_alternative<Options>(parsed)) << set;
        Reporter reporter(std::get<Options>(parsed));
        Model model(set);
        Machine first = machine();
        go_on(first);
        Machine second = first;
        go_on(second);
        ASSERT_EQ(reporter.report(first.devices, first.processors), model.report(nullptr, first))
            << "-" << set << " in round " << round;
        ASSERT_EQ(reporter.report(second.devices, second.processors), model.report(&first, second))
            << "-" << set << " in round " << round << ", later";
    }
}

}  // namespace
}  // namespace blkscope::iostat
