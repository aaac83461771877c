// ServedExports: a server's exports, and the list of their names for handshakes.
//
// Ownership: owns the exports until the workers close them; borrows the workers.
// Threads:   the control thread.
// Errors:    add() and change() throw std::system_error or another std::runtime_error, and
//            std::invalid_argument as Exports does.
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
class ServedExports;
class Workers;

/// Exports that are made and not offered yet. Closed at the end, unless ServedExports::change() takes them. To make one
/// takes a worker's turn, so a caller with many makes one after the other, and does other work in between.
///
/// Ownership: must not outlive the ServedExports.
class NewExports {
  public:
    explicit NewExports(ServedExports& exports);
    NewExports(NewExports&&) noexcept;
    NewExports& operator=(NewExports&&) = delete;
    ~NewExports();

    void add(ExportOptions options);

  private:
    friend ServedExports;

    ServedExports& exports_;
    std::vector<std::unique_ptr<Export>> made_;
};

class ServedExports {
  public:
    explicit ServedExports(Workers& workers);
    ~ServedExports();
    ServedExports& operator=(ServedExports&&) = delete;

    /// Adds an export. The next offer() puts it in the list of names.
    void add(ExportOptions options);
    /// Removes the exports with these names and adds others. If it throws, nothing has changed.
    void change(const std::vector<std::string>& removed, NewExports added);
    void close_all();

    /// Makes the list of names again. Clients may list it only if `may_be_listed`.
    void offer(bool may_be_listed);
    /// The list of names, with the current sizes of devices that have grown. The same object during
    /// the lifetime of this one.
    [[nodiscard]] const Exports& current_names();

    [[nodiscard]] size_t size() const { return exports_.size(); }
    [[nodiscard]] Export& operator[](size_t index) const;
    /// Null if the export has been removed.
    [[nodiscard]] Export* find(uint64_t serial) const;

  private:
    friend NewExports;
    using List = std::vector<std::unique_ptr<Export>>;

    std::unique_ptr<Export> make(ExportOptions options);

    Workers& workers_;
    uint64_t last_serial_ = 0;
    List exports_;
    Exports names_;  // of exports_, in the same order
};

}  // namespace blkscope::nbd
