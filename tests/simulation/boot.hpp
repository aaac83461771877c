// Boot: one start of the server in a life, up to its orderly end or a crash.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blockdev/backing/crash_backing.hpp"
#include "client.hpp"
#include "driver/nbd/server/server.hpp"
#include "driver/nbd/transmission/worker.hpp"
#include "failures.hpp"
#include "life.hpp"
#include "live_changes.hpp"
#include "loiterer.hpp"
#include "obedience.hpp"
#include "oracle.hpp"
#include "other_server.hpp"
#include "simulated_executor.hpp"
#include "simulated_kernel.hpp"

namespace blkscope::simulation {

enum class Medium : uint8_t { memory, null, buffered, direct, elsewhere };

struct ExportPlan {
    Medium medium = Medium::memory;
    uint64_t bytes = 1 << 20;
    uint32_t depth = 16;
    std::vector<Share> partitions;  // by first byte
    bool gpt = false;               // the kind of their table
    OtherTerms other;               // of another server, which has the export's bytes
    unsigned connections = 1;       // to the other server
    std::optional<model::CrashCacheOptions> cache = {};  // a volatile one
    bool read_only = false;
};

/// Bytes of the partition table, which the clients never write.
inline constexpr uint64_t table_bytes = 8192;

/// Writes the partition table, if the disk has one.
void write_table(const ExportPlan& plan, Image& content);

/// The rules for new clients that a reload may change.
struct RulesPlan {
    nbd::TlsMode tls = nbd::TlsMode::off;
    /// Networks by the last byte of their first address, with the length of the prefix. Empty: all
    /// addresses are allowed.
    std::vector<std::pair<unsigned, unsigned>> allowed;

    [[nodiscard]] std::vector<std::string> allow_list() const;
    /// Whether the client with this address may connect. Each owner has one address.
    [[nodiscard]] bool allows(unsigned owner) const;
};

/// The server's limits for new clients, and the half handshakes beside them.
struct DoorPlan {
    unsigned loiterers = 0;
    unsigned loiterer_owners = 1;  // the users or addresses that have them
    unsigned handshakes_max = 64;
    hrtime_t handshake_ns = 4'000'000'000;
    uint64_t accept_error = 0;
    bool waits_for_loiterers = false;  // before the end
    size_t sockets_max = 0;            // at once, as with few descriptors; 0: no limit
    uint64_t spare_lost = 0;
    RulesPlan rules;
    RulesPlan rules_after_reload;
};

/// The disk of one export hangs for a while, or until the server has been told to end.
struct HangPlan {
    unsigned exp = 0;
    uint64_t one_in = 1;  // of its operations
    hrtime_t ns = 0;      // after its beginning, or after that of the server's end
    bool to_the_end = false;
};

struct LifePlan {
    unsigned workers = 1;
    std::vector<ExportPlan> exports;
    std::vector<ClientPlan> clients;  // of each boot
    std::vector<unsigned> client_export;
    DoorPlan door;
    Faults faults;
    Disk disk;
    unsigned boots = 1;
    bool reloads = false;
    bool tls = false;        // clients ask for TLS
    bool truncates = false;  // another process cuts a file in each boot
    unsigned changes = 0;    // of devices while they serve
    std::optional<HangPlan> hang;
    unsigned power_losses = 0;  // in each boot
    Cuts cuts;
};

class Boot {
  public:
    Boot(Timeline& timeline, uint64_t seed, const LifePlan& plan, Judge& judge, unsigned number);
    ~Boot();
    Boot(const Boot&) = delete;
    Boot& operator=(const Boot&) = delete;

    /// Runs one boot. `contents` are the exports' contents, before and after.
    void run(std::vector<Image>& contents, bool ends_with_crash);

    /// The clocks of this boot, as a text.
    [[nodiscard]] std::string clocks() const { return clocks_.text(); }
    [[nodiscard]] unsigned clients_come() const { return static_cast<unsigned>(clients_.size()); }

  private:
    struct Served {
        ExportPlan plan;
        std::string name;
        std::shared_ptr<SimulatedFile> file;
        std::shared_ptr<OtherServer> other;
        std::shared_ptr<VolatileCache> cache;  // until the export has it
        std::unique_ptr<Backing> store;        // the memory behind the cache
        std::unique_ptr<Oracle> oracle;
        std::vector<Client*> clients;
        bool with_liars = false;  // some client did not wait for its answers
        std::vector<Setting> settings;
        bool cut = false;     // another process has truncated the file
        bool closes = false;  // a fault rule has closed connections, or will
        bool lost_power = false;
    };

    /// What is left of an export that has ended.
    struct Removed {
        std::shared_ptr<SimulatedFile> file;
        std::shared_ptr<OtherServer> other;
        std::unique_ptr<Oracle> oracle;
        bool has_cache = false;  // a volatile one, in front of the file

        [[nodiscard]] bool has_content() const { return file || other; }
        /// What is there after the end, and must be.
        [[nodiscard]] Image content(bool flushed) const;
    };

    struct Driven {
        nbd::Worker* worker = nullptr;  // owned by the server
        unsigned ring = 0;
        bool turn_due = false;
        bool finished = false;
    };

    void make_server();
    [[nodiscard]] nbd::Server::Options options_of(const RulesPlan& rules) const;
    std::unique_ptr<nbd::Worker> make_worker();
    void start_worker(const nbd::Worker& worker);
    nbd::ExportOptions make_export(size_t index, const Image& content);
    std::unique_ptr<Backing> make_backing(Served& served, const Image& content);
    std::unique_ptr<Backing> make_other_server(Served& served, const Image& content);
    [[nodiscard]] bool is_asked(const OtherServer& other, const nbd::Request& request) const;
    void make_clients();
    void make_client(unsigned number);
    [[nodiscard]] static uint16_t flags_of(const ExportPlan& plan);
    [[nodiscard]] bool explains(const SimulatedFile* file, const FailedRequest& failed) const;
    [[nodiscard]] WidePlan wide_plan(const Served& served, const ClientPlan& plan) const;
    void make_loiterers();
    Wire draw_wire(Random& random, bool crumbs);
    [[nodiscard]] hrtime_t wait_allowed(unsigned client, const Wire& wire) const;
    [[nodiscard]] hrtime_t entry_allowed(const ClientPlan& plan, const Wire& wire) const;
    void drive(size_t worker);
    void reload(std::vector<Image>& contents);
    void try_failing_reload();
    void change_rules();
    void truncate_one();
    void plan_changes();
    void change_one();
    void end_changes();
    void note_change(Served& served);
    void plan_hang();
    void begin_hang();
    void let_go();
    nbd::WorkerSource::Time wait_a_moment();
    void plan_power_losses();
    void lose_power();
    void begin_setting(Served& served, Setting setting) const;
    [[nodiscard]] Setting without_power(Served& served) const;
    void power_was_lost(Served& served, const nbd::PowerLoss& loss);
    /// The clients of an export whose connections the workers have.
    [[nodiscard]] std::vector<const Client*> connected(const Served& served) const;
    [[nodiscard]] bool may_keep_power(const Served& served) const;
    [[nodiscard]] std::unique_ptr<Backing> with_cache(Served& served,
                                                      std::unique_ptr<Backing> backing) const;
    [[nodiscard]] bool hangs_to_the_end(const Client& client) const;
    void check_closed_in_time(hrtime_t since);
    void run_clients(std::vector<Image>& contents, bool ends_with_crash);
    /// False: `until` did not become true. `limit` is the longest time between two answers.
    bool step_until(const std::function<bool()>& until, hrtime_t limit, const char* what);
    [[nodiscard]] bool clients_over() const;
    [[nodiscard]] bool loiterers_over() const;
    [[nodiscard]] size_t device_of(const Served& served) const;
    void check_door();
    void check_quiet();
    void check_devices();
    void check_partitions(const Served& served, bool exact);
    void check_clients(Device& device);
    void check_records();
    void check_starts(const Served& served, std::span<const trace::Request> requests);
    void check_recorded(const std::vector<trace::Request>& requests);
    void check_errors();
    void end_all();
    void check_left();
    [[nodiscard]] static Removed removed_from(Served& served);
    [[nodiscard]] static Image left_by_crash(const SimulatedFile& file, bool has_cache,
                                             Random& random);
    void check_stored(Removed& removed, bool flushed, const char* which);
    void check_image(const Image& disk, Oracle& oracle, bool flushed, const char* which);
    void crash(std::vector<Image>& contents);
    void end_in_order(std::vector<Image>& contents);

    Timeline& timeline_;
    const uint64_t seed_;
    Random random_;
    const LifePlan& plan_;
    Judge& judge_;
    const ClockPlan clocks_;
    LiveChanges changes_;
    bool changes_over_ = false;
    SimulatedKernel kernel_;
    SimulatedExecutor executor_;
    RulesPlan rules_;
    std::vector<std::shared_ptr<OtherServer>> others_;  // outlive their backings
    std::unique_ptr<nbd::Server> server_;
    std::vector<Driven> workers_;
    std::vector<Served> exports_;
    std::vector<std::unique_ptr<Client>> clients_;
    std::vector<std::unique_ptr<Loiterer>> loiterers_;
    bool crashed_ = false;
    bool reload_due_ = false;
    bool power_due_ = false;
    unsigned power_losses_ = 0;
    bool moment_ends_ = false;  // by an event
    unsigned reloads_ = 0;
    bool keeps_names_ = false;  // of an export that a reload replaces
    std::vector<Removed> removed_;
    std::shared_ptr<SimulatedFile> hung_file_;  // also after its export was removed
    hrtime_t went_on_at_ = 0;                   // that file
    std::vector<const Client*> hung_clients_;   // of that file
    bool ends_ = false;  // no client is left, so none waits for a disk that hangs to the end
};

}  // namespace blkscope::simulation
