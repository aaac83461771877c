#include "kstat/wire/message.hpp"

#include <algorithm>
#include <iterator>

#include "kstat/wire/kstat2.hpp"

namespace blkscope::kstat::wire {
namespace {

// Enough for the replies of fixed size, also for those of later versions.
constexpr uint32_t short_reply_max = 4096;

void append(std::vector<std::byte>& out, Bytes bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

// Of the data, only the size counts.
template <class Head>
std::vector<std::byte> encode(Head head, Bytes body, size_t data_size) {
    head.length = static_cast<uint32_t>(body.size() + data_size);
    std::vector<std::byte> out;
    out.reserve(sizeof head + body.size());
    append(out, bytes_of(head));
    append(out, body);
    return out;
}

// The fields that a Header and a DataHead both have.
template <class Head>
Head common_head(const kstat_t& from) {
    Head to{};
    to.snaptime = from.ks_snaptime;
    to.data_size = from.ks_data_size;
    to.kid = from.ks_kid;
    to.ndata = from.ks_ndata;
    to.type = from.ks_type;
    to.flags = from.ks_flags;
    return to;
}

Header to_wire(const kstat_t& from) {
    auto to = common_head<Header>(from);
    to.crtime = from.ks_crtime;
    to.instance = from.ks_instance;
    std::copy(std::begin(from.ks_module), std::end(from.ks_module), to.module);
    std::copy(std::begin(from.ks_name), std::end(from.ks_name), to.name);
    std::copy(std::begin(from.ks_class), std::end(from.ks_class), to.klass);
    return to;
}

// Ends the strings with a NUL: a foreign provider may not have done so.
kstat_t from_wire(Header from) {
    from.module[KSTAT_STRLEN - 1] = from.name[KSTAT_STRLEN - 1] = 0;
    from.klass[KSTAT_STRLEN - 1] = 0;
    kstat_t to{};
    to.ks_crtime = from.crtime;
    to.ks_snaptime = from.snaptime;
    to.ks_data_size = from.data_size;
    to.ks_kid = from.kid;
    to.ks_instance = from.instance;
    to.ks_ndata = from.ndata;
    to.ks_type = from.type;
    to.ks_flags = from.flags;
    std::copy(std::begin(from.module), std::end(from.module), to.ks_module);
    std::copy(std::begin(from.name), std::end(from.name), to.ks_name);
    std::copy(std::begin(from.klass), std::end(from.klass), to.ks_class);
    return to;
}

// Copied out and in, because the data of a reply need not be aligned.
template <class Change>
bool for_each_record(std::span<std::byte> data, uint_t ndata, Change change) {
    for (uint_t i = 0; i < ndata; ++i) {
        std::byte* const at = data.data() + i * sizeof(kstat_named_t);
        kstat_named_t record;
        std::memcpy(&record, at, sizeof record);
        if (!change(record)) return false;
        std::memcpy(at, &record, sizeof record);
    }
    return true;
}

uintptr_t address(const void* pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
}

}  // namespace

uint32_t reply_length_limit(Op op) {
    switch (op) {
        case Op::hello:
        case Op::chain_id:
        case Op::write:
        case Op::kstat2_generation:
        case Op::kstat2_optional_set:
            return short_reply_max;
        case Op::headers:
            return sizeof(Page) + headers_per_page * sizeof(Header);
        case Op::kstat2_list:
            return short_reply_max + kstat2::wire::page_size_max;
        case Op::read:
        case Op::kstat2_read:
        case Op::kstat2_optional_list:
            return reply_length_max;
    }
    return reply_length_max;
}

std::vector<std::byte> encode_request(Op op, uint32_t sequence, Bytes body, Bytes data) {
    RequestHead head{};
    head.op = static_cast<uint16_t>(op);
    head.sequence = sequence;
    auto out = encode(head, body, data.size());
    append(out, data);
    return out;
}

std::vector<std::byte> encode_reply(ReplyHead head, Bytes body, size_t data_size) {
    return encode(head, body, data_size);
}

std::vector<std::byte> encode_page(const std::vector<kstat_t>& headers, bool more) {
    std::vector<std::byte> out;
    out.reserve(sizeof(Page) + headers.size() * sizeof(Header));
    append(out, bytes_of(Page{static_cast<uint32_t>(headers.size()), more ? 1U : 0U}));
    for (const kstat_t& header : headers) append(out, bytes_of(to_wire(header)));
    return out;
}

std::optional<DecodedPage> decode_page(Bytes body, kid_t after) {
    const auto page = take<Page>(body);
    if (!page || page->count > headers_per_page || page->more > 1) return std::nullopt;
    if (page->more == 1 && page->count < headers_per_page) return std::nullopt;
    if (body.size() != page->count * sizeof(Header)) return std::nullopt;
    DecodedPage result{{}, page->more == 1};
    result.headers.reserve(page->count);
    while (const auto header = take<Header>(body)) {
        if (header->kid <= after || header->type >= KSTAT_NUM_TYPES) return std::nullopt;
        after = header->kid;
        result.headers.push_back(from_wire(*header));
    }
    return result;
}

DataHead data_head(const kstat_t& header) {
    return common_head<DataHead>(header);
}

bool is_well_formed(const DataHead& head, size_t data_size) {
    if (head.data_size != data_size || data_size > data_size_max) return false;
    const uint64_t n = head.ndata;
    switch (head.type) {
        case KSTAT_TYPE_RAW:
            return true;
        case KSTAT_TYPE_NAMED:
            return data_size >= n * sizeof(kstat_named_t);
        case KSTAT_TYPE_INTR:
            return n == 1 && data_size >= sizeof(kstat_intr_t);
        case KSTAT_TYPE_IO:
            return n == 1 && data_size >= sizeof(kstat_io_t);
        case KSTAT_TYPE_TIMER:
            return data_size >= n * sizeof(kstat_timer_t);
        default:
            return false;
    }
}

bool pointers_to_offsets(std::span<std::byte> data, uint_t ndata) {
    bool all_inside = true;
    for_each_record(data, ndata, [&](kstat_named_t& record) {
        if (record.data_type != KSTAT_DATA_STRING) return true;
        // Compared as numbers: the pointer need not be valid.
        const uintptr_t offset = address(KSTAT_NAMED_STR_PTR(&record)) - address(data.data());
        const bool inside = offset >= ndata * sizeof record && offset <= data.size() &&
                            KSTAT_NAMED_STR_BUFLEN(&record) <= data.size() - offset;
        if (!inside) {
            KSTAT_NAMED_STR_BUFLEN(&record) = 0;
            if (KSTAT_NAMED_STR_PTR(&record) != nullptr) all_inside = false;
        }
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an offset in the form that the wire has
        KSTAT_NAMED_STR_PTR(&record) = reinterpret_cast<char*>(inside ? offset : 0);
        return true;
    });
    return all_inside;
}

bool offsets_to_pointers(std::span<std::byte> data, uint_t ndata) {
    return for_each_record(data, ndata, [&](kstat_named_t& record) {
        record.name[KSTAT_STRLEN - 1] = 0;
        if (record.data_type != KSTAT_DATA_STRING) return true;
        const uintptr_t offset = address(KSTAT_NAMED_STR_PTR(&record));
        const size_t length = KSTAT_NAMED_STR_BUFLEN(&record);
        if (offset == 0 || length == 0) {
            KSTAT_NAMED_STR_PTR(&record) = nullptr;
            KSTAT_NAMED_STR_BUFLEN(&record) = 0;
            return true;
        }
        if (offset < ndata * sizeof record || offset > data.size()) return false;
        if (length > data.size() - offset) return false;
        const auto string = data.subspan(offset, length);
        string.back() = std::byte{0};
        KSTAT_NAMED_STR_PTR(&record) = reinterpret_cast<char*>(string.data());
        return true;
    });
}

void rebase_pointers(std::span<std::byte> to, const void* from, uint_t ndata) {
    for_each_record(to, ndata, [&](kstat_named_t& record) {
        if (record.data_type != KSTAT_DATA_STRING) return true;
        const uintptr_t offset = address(KSTAT_NAMED_STR_PTR(&record)) - address(from);
        if (KSTAT_NAMED_STR_PTR(&record) != nullptr && offset < to.size()) {
            KSTAT_NAMED_STR_PTR(&record) = reinterpret_cast<char*>(to.data() + offset);
        }
        return true;
    });
}

}  // namespace blkscope::kstat::wire
