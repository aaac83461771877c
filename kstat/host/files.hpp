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

/// The maximum age of a kstat's numbers: the kstats of one sweep share one look at a file.
inline constexpr hrtime_t sweep_ns = 5'000'000;
/// The same for values that hardly ever change.
inline constexpr hrtime_t settled_ns = 1'000'000'000;
/// The same for values that only an administrator changes.
inline constexpr hrtime_t configured_ns = 60'000'000'000;

inline const std::string stat_path = "/proc/stat";
inline const std::string vmstat_path = "/proc/vmstat";

/// A value, and the time of its computation.
template <class T>
class Fresh {
  public:
    /// Computes the value again if it is older than `age_max`.
    template <class Make>
    const T& get(hrtime_t age_max, const Make& make) {
        const hrtime_t now = gethrtime();
        if (!made_ || now - taken_ > age_max) {
            value_ = make();
            taken_ = now;
            made_ = true;
        }
        return value_;
    }
    hrtime_t taken() const { return taken_; }

  private:
    T value_{};
    hrtime_t taken_ = 0;
    bool made_ = false;
};

/// A file that stays open. The program may close the descriptor unexpectedly, as daemons close all
/// their descriptors. The descriptor's number may then belong to another file. The descriptor is
/// therefore used only while it refers to the same file.
class OpenFile {
  public:
    OpenFile() = default;
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
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
    /// A file's text, at most `age_max` old.
    Text get(const std::string& path, hrtime_t age_max = sweep_ns);

    /// A file's text now, through a descriptor that stays open: for the large files of /proc.
    std::string read_again(const std::string& path);

    /// A file's text now: for the many small files of /sys. Empty if it cannot be read.
    std::string read(const std::string& path) const;

    bool exists(const std::string& path) const;

  private:
    std::string root_;
    std::map<std::string, Fresh<std::string>> kept_;
    std::map<std::string, OpenFile> open_;
};

}  // namespace blkscope::kstat::host
