// A reader's bytes in a provider. The first byte chooses the reader's user. Requests follow, and
// are answered from a chain with a kstat of every type.
#include <sys/kstat.h>
#include <sys/mutex.h>

#include <cerrno>
#include <cstring>

#include "kstat/provider/requests.hpp"
#include "require.hpp"

namespace {

using namespace blkscope::kstat;

// Looks at all of what it is given, so that the sanitizers do.
int strings_snapshot(kstat_t* ksp, void* buffer, int rw) {
    static volatile size_t seen = 0;
    if (rw == KSTAT_READ) {
        std::memcpy(buffer, ksp->ks_data, ksp->ks_data_size);
        return 0;
    }
    const auto* const records = static_cast<const kstat_named_t*>(buffer);
    for (uint_t i = 0; i < ksp->ks_ndata; ++i) {
        if (records[i].data_type != KSTAT_DATA_STRING) continue;
        const char* const text = KSTAT_NAMED_STR_PTR(&records[i]);
        if (text != nullptr) seen = seen + std::strlen(text);
    }
    return 0;
}

class Provider {
  public:
    Provider() {
        add("raw", KSTAT_TYPE_RAW, 24, KSTAT_FLAG_WRITABLE);
        add("intr", KSTAT_TYPE_INTR, 1, KSTAT_FLAG_WRITABLE);
        add("io", KSTAT_TYPE_IO, 1, KSTAT_FLAG_WRITABLE);
        add("timer", KSTAT_TYPE_TIMER, 2, 0);
        add("empty", KSTAT_TYPE_NAMED, 0, 0);
        kstat_t* const numbers = add("numbers", KSTAT_TYPE_NAMED, 2, KSTAT_FLAG_WRITABLE);
        kstat_named_init(KSTAT_NAMED_PTR(numbers), "one", KSTAT_DATA_INT32);
        kstat_named_init(KSTAT_NAMED_PTR(numbers) + 1, "two", KSTAT_DATA_UINT64);
        add_strings();
    }

    Chain chain;

  private:
    kstat_t* make(const char* name, uchar_t type, uint_t ndata, int flags) {
        Wanted wanted{};
        kstat_set_string(wanted.name.module, "fuzz");
        kstat_set_string(wanted.name.name, name);
        kstat_set_string(wanted.klass, "misc");
        wanted.type = type;
        wanted.ndata = ndata;
        wanted.flags = static_cast<uchar_t>(flags);
        wanted.zone = ALL_ZONES;
        Chain::Refusal why{};
        return chain.create(wanted, why);
    }

    kstat_t* add(const char* name, uchar_t type, uint_t ndata, int flags) {
        kstat_t* const ksp = make(name, type, ndata, flags);
        chain.install(ksp);
        return ksp;
    }

    // The records, and room for the string behind them: a writable one with a snapshot of its own.
    void add_strings() {
        mutex_init(&lock_, nullptr, MUTEX_DRIVER, nullptr);
        kstat_t* const ksp = make("strings", KSTAT_TYPE_NAMED, 2,
                                  KSTAT_FLAG_WRITABLE | KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE);
        kstat_named_init(&strings_.records[0], "text", KSTAT_DATA_STRING);
        kstat_named_init(&strings_.records[1], "none", KSTAT_DATA_STRING);
        std::strcpy(strings_.text, "0123456");
        kstat_named_setstr(&strings_.records[0], strings_.text);
        ksp->ks_data = &strings_;
        ksp->ks_lock = &lock_;
        ksp->ks_snapshot = strings_snapshot;
        chain.install(ksp);
    }

    struct {
        kstat_named_t records[2];
        char text[8];
    } strings_{};
    kmutex_t lock_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static Provider& provider = *new Provider;
    if (size == 0) return 0;
    Session session{42, (data[0] & 1) != 0, (data[0] & 2) != 0};
    wire::Bytes rest = std::as_bytes(std::span(data + 1, size - 1));
    while (const auto head = wire::take<wire::RequestHead>(rest)) {
        if (head->length > request_length_max(session) || head->length > rest.size()) break;
        // A body's own memory: aligned as a connection's is, and ending where it ends.
        std::vector<std::byte> body(rest.begin(), rest.begin() + head->length);
        rest = rest.subspan(head->length);
        const auto reply = answer(provider.chain, session, *head, body);
        wire::Bytes answered(reply.head);
        const auto reply_head = wire::take<wire::ReplyHead>(answered);
        require(reply_head && reply_head->length == answered.size() + reply.data.size());
        require(reply_head->sequence == head->sequence);
    }
    return 0;
}
