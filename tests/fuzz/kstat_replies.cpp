// A provider's bytes in a reader. A first byte chooses the type of the reader's kstat. Then comes a
// sequence of replies. Each has a byte for its sort, two bytes of length, and a body. The sorts are
// a page of headers, a read's data, a failed read's header, and a write of the data.
//
// After each, a program must be able to walk the kstat. Every record is within the data, and every
// name and string has its NUL.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "kstat/reader/libkstat/data.hpp"
#include "require.hpp"

namespace {

using namespace blkscope::kstat;

bool is_ended(const char* text, size_t room) {
    return std::memchr(text, 0, room) != nullptr;
}

void check_named(const kstat_named_t* records, uint_t ndata, const void* data, size_t size) {
    const auto* const end = static_cast<const char*>(data) + size;
    for (uint_t i = 0; i < ndata; ++i) {
        require(is_ended(records[i].name, sizeof records[i].name));
        if (records[i].data_type != KSTAT_DATA_STRING) continue;
        const char* const text = KSTAT_NAMED_STR_PTR(&records[i]);
        if (text == nullptr) continue;
        require(text >= static_cast<const char*>(data) && text < end);
        require(is_ended(text, static_cast<size_t>(end - text)));
    }
}

// Everything that the header promises is there, and the sanitizers see it read.
void walk(const kstat_t& ks, const void* data) {
    static volatile unsigned sum = 0;
    if (data == nullptr) return;
    for (size_t i = 0; i < ks.ks_data_size; ++i) sum = sum + static_cast<const uint8_t*>(data)[i];
    if (ks.ks_type == KSTAT_TYPE_NAMED) {
        require(ks.ks_data_size >= ks.ks_ndata * sizeof(kstat_named_t));
        check_named(static_cast<const kstat_named_t*>(data), ks.ks_ndata, data, ks.ks_data_size);
    }
    if (ks.ks_type == KSTAT_TYPE_TIMER) {
        require(ks.ks_data_size >= ks.ks_ndata * sizeof(kstat_timer_t));
        for (uint_t i = 0; i < ks.ks_ndata; ++i) {
            require(is_ended(static_cast<const kstat_timer_t*>(data)[i].name, KSTAT_STRLEN));
        }
    }
}

void take_page(std::span<std::byte> body) {
    const auto page = wire::decode_page(body, 2);
    if (!page) return;
    for (const kstat_t& ks : page->headers) {
        require(ks.ks_kid > 2 && ks.ks_type < KSTAT_NUM_TYPES && ks.ks_data == nullptr);
        require(is_ended(ks.ks_module, KSTAT_STRLEN) && is_ended(ks.ks_name, KSTAT_STRLEN) &&
                is_ended(ks.ks_class, KSTAT_STRLEN));
    }
}

void take_data(kstat_t& ks, std::span<std::byte> body) {
    // malloc's own size, so that a byte too many is seen; it suits kstat_named_t's alignment.
    void* const buffer = std::malloc(body.size() + 1);
    Room room{};
    if (accept_data(ks, body, buffer, room) == 0 && ks.ks_data_size > 0) walk(ks, buffer);
    std::free(buffer);
}

void write_back(kstat_t& ks) {
    auto request = prepare_write(ks, nullptr);
    if (!request) return;
    auto& [head, data] = *request;
    require(wire::is_well_formed(head, data.size()));
    if (head.type == KSTAT_TYPE_NAMED) require(wire::offsets_to_pointers(data, head.ndata));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
    if (size == 0) return 0;
    kstat_t ks{};
    ks.ks_type = input[0] % KSTAT_NUM_TYPES;
    for (size_t at = 1; size - at >= 3;) {
        const uint8_t what = input[at];
        const size_t length =
            std::min<size_t>(input[at + 1] + size_t{256} * input[at + 2], size - at - 3);
        std::vector<std::byte> body(length);
        if (length > 0) std::memcpy(body.data(), input + at + 3, length);
        at += 3 + length;
        switch (what % 4) {
            case 0:
                take_page(body);
                break;
            case 1:
                take_data(ks, body);
                break;
            case 2:
                accept_head(ks, body);
                break;
            default:
                write_back(ks);
        }
        walk(ks, ks.ks_data);
    }
    std::free(ks.ks_data);
    return 0;
}
