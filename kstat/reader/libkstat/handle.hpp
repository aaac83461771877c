// A reader's copy of the chain: the kstats of the host and of all providers, merged.
//
//     KID 0, 1      kstat_headers, kstat_types: the reader's own
//     KID 2 ...     the host's, then the providers', numbered as found
//
// Numbers are never used again. The chain is therefore in the order of the KIDs, and new kstats
// stand at its end.
//
// Ownership: the handle owns the chain's kstats and their ks_data (from malloc).
// Threads:   one.
#pragma once

#include <kstat.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kstat/host/host.hpp"
#include "kstat/reader/libkstat/data.hpp"
#include "kstat/reader/provider.hpp"
#include "kstat/reader/run_directory.hpp"

namespace blkscope::kstat {

/// A provider, with the reader's numbers of its kstats.
class ListedProvider : public Provider {
  public:
    using Provider::Provider;

    /// Asks for the first headers, so that list() need not wait for each provider by itself.
    void ask_for_list();
    /// The headers of all its kstats. `kids` is unchanged.
    ///
    /// Errors: of ask_page(), the provider's own, and EPROTO after an invalid reply.
    Result<std::vector<kstat_t>> list();
    /// Whether to ask for a list at this update.
    bool is_to_list() const { return has_news() && list_time.may_begin(); }

    /// The provider's number of a kstat -> the reader's.
    std::map<kid_t, kid_t> kids;

    /// A kstat that is being reactivated did not become ready in time. The reader does not wait for
    /// the next ones until a kstat of this provider is ready at once.
    bool keeps_waiting = false;

  private:
    Result<std::vector<kstat_t>> ask_all_pages();
};

class Handle : public kstat_ctl_t {
  public:
    /// A handle without a chain; throws std::system_error.
    Handle();
    ~Handle();
    Handle& operator=(Handle&&) = delete;

    /// Finds new and ended providers and merges their lists. True: the chain changed, or a read has told so.
    bool update();

    /// 0, or an errno if the chain lacks a provider's kstats because the last update lacked a
    /// descriptor or memory.
    int shortage() const { return shortage_; }

    /// Both return an errno.
    int read(kstat_t& ksp, void* buffer);
    int write(kstat_t& ksp, const void* buffer);

    /// kc_chain_id, or the next one if a read or write, or a run directory, showed a newer chain.
    kid_t newest_chain_id();

  private:
    struct Node {
        kstat_t header;
        ListedProvider* provider;  // null: a kstat of the host, or of the reader
        kid_t kid_there;           // the kstat's number at the provider or host
        Room room{};               // the memory at header.ks_data
    };

    bool drop_gone();
    void note_news(const ListedProvider& provider);
    bool merge(ListedProvider& provider);
    bool merge(ListedProvider* provider, std::map<kid_t, kid_t>& kids,
               const std::vector<kstat_t>& headers);
    bool forget_kstats_of(ListedProvider& provider);
    kid_t add(ListedProvider* provider, const kstat_t& header);
    void remove(kid_t kid);
    void link();
    kid_t next_chain_id() const;
    int read(const Node& node, kstat_t& ksp, void* buffer, Room& room);
    int read_own(kstat_t& ksp, void* buffer, Room& room);
    int read_host(const Node& node, kstat_t& ksp, void* buffer, Room& room);
    int read_once(const Node& node, kstat_t& ksp, void* buffer, Room& room);

    RunDirectories directories_;
    host::Host host_;
    std::map<std::string, ListedProvider> providers_;
    std::map<kid_t, std::unique_ptr<Node>> nodes_;
    kid_t next_kid_ = 0;
    bool moved_on_ = false;
    int shortage_ = 0;
    bool changed_ = false;  // since the last update that said so
};

}  // namespace blkscope::kstat
