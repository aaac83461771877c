// A provider as a source of kstats: its list, and the part that the reader selects.
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

/// Whether these values fit that kstat, in their number and types: the check of a provider's reply.
[[nodiscard]] bool fits(const Values& values, const Map& map);

class Remote : public kstat::Provider, public Source {
  public:
    using Provider::Provider;

    using Kstats = std::map<kid_t, std::shared_ptr<Listed>>;
    [[nodiscard]] const Kstats& kstats() const { return kstats_; }

    /// Asks for the generation, so that follow() need not wait for each provider by itself.
    void ask_for_generation();
    /// Fetches the list again if it has changed. A provider that times out keeps its old list; a
    /// provider without kstat2 has none. True: kstats() may have changed.
    bool follow(const Matchers& matchers);

    /// The process with these kstats ended. True: there were some.
    bool forget();

    Result<Values> read(const Listed& listed) override;

    /// Empty if the provider is silent.
    std::vector<Optional> optionals();
    /// Returns an errno.
    int set_optional(kstat2_opt_id_t id, wire::Switch wanted);

  private:
    Result<uint64_t> hear_generation();
    Result<std::vector<Map>> ask_list();
    /// Gives up the connection, and gives the reason.
    std::error_code invalid_reply();
    void accept(std::vector<Map> maps, const Matchers& matchers);
    std::shared_ptr<Listed> known(const Map& map) const;

    Kstats kstats_;
    std::optional<uint64_t> generation_;  // the generation of kstats_
};

}  // namespace blkscope::kstat2::reader
