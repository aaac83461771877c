#include <cerrno>
#include <optional>

#include "kstat/reader/libkstat/handle.hpp"

namespace blkscope::kstat {
namespace {

// More than any machine has. A faulty provider can cost a reader 50 MB at most.
constexpr size_t kstats_max = 1 << 18;

}  // namespace

void ListedProvider::ask_for_list() {
    ask_ahead(wire::Op::headers, wire::bytes_of(wire::ListFrom{}));
}

Result<std::vector<kstat_t>> ListedProvider::list() {
    list_time.begin();
    auto headers = ask_all_pages();
    list_time.end(headers.has_value());
    return headers;
}

Result<std::vector<kstat_t>> ListedProvider::ask_all_pages() {
    std::vector<kstat_t> headers;
    std::optional<kid_t> chain_id;
    for (bool more = true; more;) {
        const wire::ListFrom from{headers.empty() ? 0 : headers.back().ks_kid, 0};
        const auto reply = ask_page(wire::Op::headers, wire::bytes_of(from));
        if (!reply) return reply.error();
        if (reply->head.error != 0) {
            leave_out(no_list);
            return os_error(reply->head.error);
        }
        auto page = wire::decode_page(reply->body, from.after_kid);
        if (!page || headers.size() + page->headers.size() > kstats_max) {
            drop();
            return os_error(EPROTO);
        }
        headers.insert(headers.end(), page->headers.begin(), page->headers.end());
        more = page->more;
        // The id of the first page: if the chain changes between two pages, the next update lists
        // again.
        if (!chain_id) chain_id = reply->head.chain_id;
    }
    note_listed(*chain_id);
    return headers;
}

}  // namespace blkscope::kstat
