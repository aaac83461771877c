// Boot: one start of the server in a life, until its orderly end or a crash.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/transmission/worker.hpp"
#include "life.hpp"
#include "oracle.hpp"
#include "simulated_kernel.hpp"

namespace blkscope::simulation {

enum class Medium : uint8_t { memory, null, buffered, direct };

struct ExportPlan {
    Medium medium = Medium::memory;
    uint64_t bytes = 1 << 20;
    uint32_t depth = 16;
    unsigned worker = 0;
};

struct LifePlan {
    unsigned workers = 1;
    std::vector<ExportPlan> exports;
    std::vector<ClientPlan> clients;  // of each boot
    std::vector<unsigned> client_export;
    Faults faults;
    Disk disk;
    unsigned boots = 1;
    bool reloads = false;
    Cuts cuts;
};

class Boot {
  public:
    Boot(Timeline& timeline, uint64_t seed, const LifePlan& plan, Judge& judge, unsigned number);
    ~Boot();
    Boot(const Boot&) = delete;
    Boot& operator=(const Boot&) = delete;

    /// Runs until all is over; `contents` are the exports' at the beginning and at the end.
    void run(std::vector<std::vector<std::byte>>& contents, bool ends_with_crash);

    [[nodiscard]] unsigned clients_come() const { return static_cast<unsigned>(clients_.size()); }

  private:
    struct Served {
        ExportPlan plan;
        std::unique_ptr<nbd::Export> exp;
        nbd::Export* device_of = nullptr;
        uint64_t serial = 0;
        std::shared_ptr<SimulatedFile> file;
        std::unique_ptr<Oracle> oracle;
        std::vector<Client*> clients;
        bool with_liars = false;  // a client that did not wait for its answers
        bool retired = false;
    };

    struct Driven {
        std::unique_ptr<nbd::Worker> worker;
        unsigned ring = 0;
        bool turn_due = false;
        bool finished = false;
    };

    void make_workers();
    void make_export(size_t index, const std::vector<std::byte>& content);
    std::unique_ptr<Backing> make_backing(Served& served, const std::vector<std::byte>& content);
    void make_clients();
    [[nodiscard]] hrtime_t wait_allowed(unsigned client, const Wire& wire) const;
    void drive(size_t worker);
    void retire(size_t index);
    void reload(std::vector<std::vector<std::byte>>& contents);
    template <class Until>
    bool step_until(Until until, hrtime_t patience, const char* what);
    [[nodiscard]] bool clients_over() const;
    void check_devices();
    void check_errors();
    void end_all();
    void check_left();
    void crash(std::vector<std::vector<std::byte>>& contents);
    void end_in_order(std::vector<std::vector<std::byte>>& contents);

    Timeline& timeline_;
    const uint64_t seed_;
    Random random_;
    const LifePlan& plan_;
    Judge& judge_;
    SimulatedKernel kernel_;
    std::vector<Driven> workers_;
    std::vector<Served> exports_;
    std::vector<std::unique_ptr<Client>> clients_;
    std::vector<std::unique_ptr<Oracle>> old_oracles_;
    uint64_t last_serial_ = 0;
};

}  // namespace blkscope::simulation
