// A provider as a source of kstats: what it lists, of which the reader wants some.
//
// Threads: one at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "kstat/reader/libkstat2/matchers.hpp"
#include "kstat/reader/libkstat2/source.hpp"
#include "kstat/reader/provider.hpp"
#include "kstat/wire/kstat2.hpp"

namespace blkscope::kstat2::reader {

/// Whether these are values of that kstat: what a provider may send when it is asked for them.
[[nodiscard]] bool fits(const Values& values, const Map& map);

class Remote : public kstat::Provider, public Source {
  public:
    using Provider::Provider;

    using Kstats = std::map<kid_t, std::shared_ptr<Listed>>;
    [[nodiscard]] const Kstats& kstats() const { return kstats_; }

    /// Fetches the list again if it is not what it was. A provider that falls silent keeps what it
    /// had; one that knows nothing of this kind of kstats has none. True: kstats() may be others.
    bool follow(const Matchers& matchers);

    /// The process that had these kstats is gone. True: there were some.
    bool forget();

    std::optional<Values> read(const Listed& listed) override;

    /// None from a provider that is silent.
    std::vector<Optional> optionals();
    /// Returns an errno.
    int set_optional(kstat2_opt_id_t id, wire::Switch wanted);

  private:
    std::optional<uint64_t> ask_generation();
    std::optional<std::vector<Map>> ask_list();
    void accept(std::vector<Map> maps, const Matchers& matchers);
    std::shared_ptr<Listed> known(const Map& map) const;

    Kstats kstats_;
    std::optional<uint64_t> generation_;  // that kstats_ belongs to
};

}  // namespace blkscope::kstat2::reader
