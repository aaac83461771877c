// libgeom: snapshots of libdevstat's entries, and a tree that names them.
#include <libgeom.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "devstat/libdevstat/view.hpp"

namespace blkscope::freebsd {
namespace {

using devstat::Devstat;
using devstat::Reader;
using devstat::View;

struct Snapshot {
    timespec when{};
    std::vector<Devstat> entries;
    size_t next = 0;
};

// An entry's id: its kstat's number, which is never used again. Both doors look through one reader, so
// that an id means the same in a snapshot and in the tree. No code follows the pointer.
void* id_of(const Reader::Known& known) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an id in the form that libgeom has
    return reinterpret_cast<void*>(static_cast<uintptr_t>(known.kid) + 1);
}

// All that a gmesh points to.
class Tree {
  public:
    Tree(gmesh& mesh, const std::vector<Reader::Known>& entries);
    Tree& operator=(Tree&&) = delete;

    [[nodiscard]] gident* idents() { return idents_.data(); }

  private:
    char* keep(const std::string& text) { return texts_.emplace_back(text).data(); }
    gclass& add_class(gmesh& mesh, const char* name);
    void add(gclass& in, unsigned rank, const Reader::Known& known);

    std::deque<std::string> texts_;
    std::deque<gclass> classes_;
    std::deque<ggeom> geoms_;
    std::deque<gprovider> providers_;
    std::vector<gident> idents_;
};

gclass& Tree::add_class(gmesh& mesh, const char* name) {
    gclass& added = classes_.emplace_back();
    added.lg_id = &added;
    added.lg_name = keep(name);
    LIST_INSERT_HEAD(&mesh.lg_class, &added, lg_class);
    idents_.push_back({added.lg_id, &added, gident::ISCLASS});
    return added;
}

void Tree::add(gclass& in, unsigned rank, const Reader::Known& known) {
    ggeom& geom = geoms_.emplace_back();
    geom.lg_id = &geom;
    geom.lg_class = &in;
    geom.lg_name = keep(known.name);
    geom.lg_rank = rank;
    LIST_INSERT_HEAD(&in.lg_geom, &geom, lg_geom);
    idents_.push_back({geom.lg_id, &geom, gident::ISGEOM});
    gprovider& provider = providers_.emplace_back();
    provider.lg_id = id_of(known);
    provider.lg_name = keep(known.name);
    provider.lg_geom = &geom;
    provider.lg_mode = keep("r0w0e0");
    provider.lg_sectorsize = known.entry.block_size;
    LIST_INSERT_HEAD(&geom.lg_provider, &provider, lg_provider);
    idents_.push_back({provider.lg_id, &provider, gident::ISPROVIDER});
}

// Inserted at the head, so the last comes first: from the end, and the disks last.
Tree::Tree(gmesh& mesh, const std::vector<Reader::Known>& entries) {
    LIST_INIT(&mesh.lg_class);
    gclass& partitions = add_class(mesh, "PART");
    gclass& disks = add_class(mesh, "DISK");
    for (auto known = entries.rbegin(); known != entries.rend(); ++known) {
        known->anonymous() ? add(partitions, 2, *known) : add(disks, 1, *known);
    }
    idents_.push_back({});
    mesh.lg_ident = idents_.data();
}

// The trees that are not deleted yet, by the pointer in their gmesh.
class Trees {
  public:
    void add(std::unique_ptr<Tree> tree) {
        const std::lock_guard lock(mutex_);
        gident* const idents = tree->idents();
        trees_.emplace(idents, std::move(tree));
    }
    void remove(const gident* idents) {
        const std::lock_guard lock(mutex_);
        trees_.erase(idents);
    }
    static Trees& of_this_process() {
        static Trees& trees = *new Trees;
        return trees;
    }

  private:
    std::mutex mutex_;
    std::map<const gident*, std::unique_ptr<Tree>> trees_;
};

// An errno.
template <class Work>
int guarded(Work work) try {
    work();
    return 0;
} catch (const std::system_error& error) {
    return error.code().value();
} catch (const std::bad_alloc&) {
    return ENOMEM;
}

Snapshot* take_snapshot() {
    auto snapshot = std::make_unique<Snapshot>();
    const View view;
    static_cast<void>(view->read());
    clock_gettime(CLOCK_REALTIME, &snapshot->when);
    for (const Reader::Known& known : view->entries()) {
        snapshot->entries.push_back(known.entry);
        snapshot->entries.back().id = id_of(known);
    }
    return snapshot.release();
}

std::atomic<bool> stats_are_open = false;

Snapshot& snapshot_at(void* snapshot) {
    return *static_cast<Snapshot*>(snapshot);
}

}  // namespace
}  // namespace blkscope::freebsd

using namespace blkscope::freebsd;

extern "C" {

int geom_gettree(struct gmesh* gmp) {
    return guarded([gmp] {
        const View view;
        Trees::of_this_process().add(std::make_unique<Tree>(*gmp, view->entries()));
    });
}

void geom_deletetree(struct gmesh* gmp) {
    Trees::of_this_process().remove(gmp->lg_ident);
    LIST_INIT(&gmp->lg_class);
    gmp->lg_ident = nullptr;
}

struct gident* geom_lookupid(struct gmesh* gmp, const void* id) {
    for (gident* at = gmp->lg_ident; at != nullptr && at->lg_id != nullptr; ++at) {
        if (at->lg_id == id) return at;
    }
    return nullptr;
}

int geom_stats_open(void) {
    const bool was_open = stats_are_open.exchange(true);
    const int error = was_open ? EBUSY : guarded([] { const View view; });
    if (error != 0 && !was_open) stats_are_open = false;
    errno = error;
    return error;
}

void geom_stats_close(void) {
    stats_are_open = false;  // nothing is mapped
}

void geom_stats_resync(void) {}  // and each snapshot looks anew

void* geom_stats_snapshot_get(void) {
    void* snapshot = nullptr;
    errno = guarded([&] { snapshot = take_snapshot(); });
    return snapshot;
}

void geom_stats_snapshot_free(void* snapshot) {
    delete static_cast<Snapshot*>(snapshot);
}

void geom_stats_snapshot_timestamp(void* snapshot, struct timespec* when) {
    *when = snapshot_at(snapshot).when;
}

void geom_stats_snapshot_reset(void* snapshot) {
    snapshot_at(snapshot).next = 0;
}

struct devstat* geom_stats_snapshot_next(void* snapshot) {
    Snapshot& of = snapshot_at(snapshot);
    return of.next < of.entries.size() ? &of.entries[of.next++] : nullptr;
}

}  // extern "C"
