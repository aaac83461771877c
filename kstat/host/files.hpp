// The files of /proc and /sys. Each is read once for all the kstats of one sweep over the chain.
//
// Files of /proc stay open from one look to the next. After a pause of a second, opening such a
// file takes as long as reading it.
//
// Threads: one.
#pragma once

#include <sys/kstat.h>
#include <sys/stat.h>

#include <map>
#include <string>
#include <string_view>

namespace blkscope::kstat::host {

/// How long a value may be used.
struct Age {
    hrtime_t max;       // ns
    uint64_t look = 0;  // the look in which the value was computed; 0: any look
};

/// For values that hardly ever change.
inline constexpr Age settled{1'000'000'000};
/// For values that only an administrator changes.
inline constexpr Age configured{60'000'000'000};

inline const std::string stat_path = "/proc/stat";
inline const std::string vmstat_path = "/proc/vmstat";

/// A value, and the time of its computation.
template <class T>
class Fresh {
  public:
    /// Computes the value again if it is older than `age` allows, or of another look.
    template <class Make>
    const T& get(const Age& age, const Make& make) {
        const hrtime_t now = gethrtime();
        const bool of_another_look = age.look != 0 && age.look != look_;
        if (!made_ || now - taken_ > age.max || of_another_look) {
            value_ = make();
            taken_ = now;
            look_ = age.look;
            made_ = true;
        }
        return value_;
    }
    hrtime_t taken() const { return taken_; }

  private:
    T value_{};
    hrtime_t taken_ = 0;
    uint64_t look_ = 0;
    bool made_ = false;
};

/// A file that stays open. The program may close the descriptor unexpectedly, as daemons close all
/// their descriptors. The descriptor's number may then belong to another file. The descriptor is
/// therefore used only while it refers to the same file.
class OpenFile {
  public:
    OpenFile& operator=(OpenFile&&) = delete;
    ~OpenFile() { shut(); }

    /// The text now; empty if it cannot be read. A file that was removed is opened again.
    std::string read(const std::string& path);

  private:
    bool is_ours(struct stat& now) const;
    void shut();

    int descriptor_ = -1;
    struct stat opened_ {};
};

class Files {
  public:
    /// `root` is prepended to /proc and /sys in every path; empty for the machine's own.
    explicit Files(std::string root) : root_(std::move(root)) {}

    struct Text {
        std::string_view text;  // valid until the next call; empty if the file cannot be read
        hrtime_t taken;
    };
    /// A file's text, not older than `age`.
    Text get(const std::string& path, const Age& age);
    /// A file's text of this look.
    Text get(const std::string& path) { return get(path, sweep()); }

    /// The kstats of one sweep share one look at a file, for at most 5 ms.
    Age sweep() const { return {5'000'000, look_}; }
    /// Begins another look: no text of an earlier one serves the next sweep.
    void look_anew() { ++look_; }

    /// A file's text now, through a descriptor that stays open: for the large files of /proc.
    std::string read_again(const std::string& path);

    /// A file's text now: for the many small files of /sys. Empty if it cannot be read.
    std::string read(const std::string& path) const;

    bool exists(const std::string& path) const;

  private:
    std::string root_;
    uint64_t look_ = 1;
    std::map<std::string, Fresh<std::string>> kept_;
    std::map<std::string, OpenFile> open_;
};

}  // namespace blkscope::kstat::host
