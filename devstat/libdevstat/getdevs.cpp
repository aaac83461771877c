// The functions with a kvm_t: the devices and their counters.
#include <devstat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <system_error>

#include "devstat/libdevstat/errors.hpp"
#include "devstat/libdevstat/view.hpp"

// libkvm's handle for this machine, with the same meaning as NULL. Weak: only programs that link
// libkvm define it.
extern "C" __attribute__((weak)) char kvm_this_machine[];

namespace blkscope::devstat {
namespace {

constexpr int fetches_max = 100;  // while the list changes faster than it can be read

std::string text_of(int error) {
    return std::generic_category().message(error);
}

bool is_this_machine(const kvm_t* kd) {
    return kd == nullptr || static_cast<const void*>(kd) == kvm_this_machine;
}

int refuse_kvm() {
    return fail(
        "readkmem_nl: error getting name list (kvm_nlist): there is no kernel memory to read; pass "
        "NULL");
}

// One of the three numbers of a system; -1 with "F: error getting WHAT" and the reason.
template <class Get>
auto number(kvm_t* kd, const std::string& function, const char* what, Get get)
    -> decltype(get(std::declval<Reader&>())) try {
    if (!is_this_machine(kd)) return refuse_kvm();
    return get(*View());
} catch (const std::system_error& error) {
    return fail(function + ": error getting " + what + "\n" + function + ": " +
                error.code().message());
} catch (const std::bad_alloc&) {
    return fail(function + ": error getting " + what + "\n" + function + ": " + text_of(ENOMEM));
}

// The generation and the devices behind it, as FreeBSD returns them in one piece. Returns an errno:
// EBUSY, the devices changed meanwhile; ENOMEM, `size` is too small.
int fetch(void* buffer, size_t size, int& count) try {
    const View view;
    count = view->devices();
    if (size < sizeof(long) + static_cast<size_t>(count) * sizeof(Devstat)) return ENOMEM;
    if (!view->read()) return EBUSY;
    const long generation = view->generation();
    auto* to = static_cast<std::byte*>(buffer);
    std::memcpy(to, &generation, sizeof generation);
    to += sizeof generation;
    for (const Reader::Known& known : view->entries()) {
        if (known.anonymous()) continue;
        std::memcpy(to, &known.entry, sizeof known.entry);
        to += sizeof known.entry;
    }
    return 0;
} catch (const std::system_error& error) {
    return error.code().value();
} catch (const std::bad_alloc&) {
    return ENOMEM;
}

bool make_room(devinfo& info, int count) {
    const size_t size = sizeof(long) + static_cast<size_t>(count) * sizeof(Devstat);
    void* const memory = std::realloc(info.mem_ptr, size);
    if (memory == nullptr) return false;
    info.mem_ptr = static_cast<uint8_t*>(memory);
    info.numdevs = count;
    return true;
}

long double uptime() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<long double>(now.tv_sec) + static_cast<long double>(now.tv_nsec) * 1e-9L;
}

int no_memory() {
    return fail("devstat_getdevs: Cannot allocate memory for mem_ptr element");
}

// Fetches until the list is stable and fits. `room` is the number of devices for which mem_ptr has
// room.
int fetch_into(devinfo& info, int room) {
    int count = 0;
    int error = EBUSY;
    for (int tries = 0; tries < fetches_max && (error == EBUSY || error == ENOMEM); ++tries) {
        const size_t size = sizeof(long) + static_cast<size_t>(room) * sizeof(Devstat);
        error = fetch(info.mem_ptr, size, count);
        if (error != ENOMEM || count <= room) continue;
        room = count;
        if (!make_room(info, room)) return no_memory();
    }
    if (error == 0) {
        info.numdevs = count;
        return 0;
    }
    return fail(std::string("devstat_getdevs: error getting device stats\ndevstat_getdevs: ") +
                text_of(error));
}

}  // namespace
}  // namespace blkscope::devstat

using namespace blkscope::devstat;

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT int devstat_getnumdevs(kvm_t* kd) {
    return number(kd, "devstat_getnumdevs", "number of devices",
                  [](Reader& reader) { return reader.devices(); });
}

EXPORT long devstat_getgeneration(kvm_t* kd) {
    return number(kd, "devstat_getgeneration", "devstat generation",
                  [](Reader& reader) { return reader.generation(); });
}

EXPORT int devstat_getversion(kvm_t* kd) {
    return number(kd, "devstat_getversion", "devstat version",
                  [](Reader& reader) { return reader.version(); });
}

EXPORT int devstat_checkversion(kvm_t* kd) {
    const std::string function = "devstat_checkversion";
    const int version = devstat_getversion(kd);
    if (version == DEVSTAT_VERSION) return 0;
    // A failed getversion has already written its reason, which stays first.
    std::string text = version == -1 ? devstat_errbuf + std::string("\n") : std::string();
    text += function + ": userland devstat version " + std::to_string(DEVSTAT_VERSION) +
            " is not the same as the kernel\n" + function + ": devstat version " +
            std::to_string(version) + "\n";
    text += function + (version < DEVSTAT_VERSION ? ": libdevstat newer than kernel\n"
                                                  : ": kernel newer than libdevstat\n");
    return fail(text);
}

EXPORT int devstat_getdevs(kvm_t* kd, struct statinfo* stats) {
    if (!is_this_machine(kd)) return refuse_kvm();
    if (stats->dinfo == nullptr) return fail("devstat_getdevs: stats->dinfo was NULL");
    devinfo& info = *stats->dinfo;
    int room = info.numdevs;
    if (info.mem_ptr == nullptr) {
        room = devstat_getnumdevs(nullptr);
        if (room < 0) return -1;
        if (!make_room(info, room)) return no_memory();
    }
    const long before = info.generation;
    if (fetch_into(info, room) != 0) return -1;
    // After the fetch: a slow one would otherwise count in one interval and be timed in the next.
    stats->snap_time = uptime();
    std::memcpy(&info.generation, info.mem_ptr, sizeof info.generation);
    info.devices = reinterpret_cast<Devstat*>(info.mem_ptr + sizeof(long));
    return info.generation == before ? 0 : 1;
}

}  // extern "C"
