// ServedExports: a server's exports, and the list of their names that handshakes look into.
//
// Ownership: owns the exports until they are retired; borrows the workers.
// Threads:   the control thread.
// Errors:    add() and change() throw std::system_error or another std::runtime_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/nbd/handshake/exports.hpp"
#include "driver/nbd/server/export_options.hpp"

namespace blkscope::nbd {

struct Export;
class Workers;

class ServedExports {
  public:
    explicit ServedExports(Workers& workers);
    ~ServedExports();
    ServedExports(const ServedExports&) = delete;
    ServedExports& operator=(const ServedExports&) = delete;

    /// Not in the list of names before the next offer().
    void add(ExportOptions options);
    /// Takes the exports of these names away and puts others in their place, all or, if it throws,
    /// nothing.
    void change(const std::vector<std::string>& removed, std::vector<ExportOptions> added);
    void retire_all();

    /// Makes the list of names anew. Clients may ask for all of it only if it `may_be_listed`.
    void offer(bool may_be_listed);
    /// The same object for as long as this one lives.
    [[nodiscard]] const Exports& names() const { return names_; }

    [[nodiscard]] size_t size() const { return exports_.size(); }
    [[nodiscard]] Export& operator[](size_t index) const;
    /// Null if the export has gone.
    [[nodiscard]] Export* find(uint64_t serial) const;

  private:
    using List = std::vector<std::unique_ptr<Export>>;

    std::unique_ptr<Export> make(ExportOptions options);

    Workers& workers_;
    uint64_t last_serial_ = 0;
    List exports_;
    Exports names_;  // of exports_, in their order
};

}  // namespace blkscope::nbd
