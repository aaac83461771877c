// A reader's bytes about kstat2s in a provider. The first byte chooses the reader's user. Requests
// follow, and are answered from kstats of every sort.
#include <sys/kstat2.h>

#include "kstat/provider/requests.hpp"
#include "kstat/wire/kstat2.hpp"
#include "require.hpp"

namespace blkscope {
namespace {

namespace wire = kstat::wire;

class Provider {
  public:
    Provider() {
        install(make("open", ALL_ZONES, 0));
        install(make("private", ALL_ZONES, KSTAT2_MF_PRIV));
        install(make("elsewhere", 7, 0));
        const char* segments[] = {"misc", "fuzz", "histogram"};
        kstat2_t* const histogram = kstat2_create_histogram(
            segments, 3, ALL_ZONES, KSTAT2_NVHIST_LOG2, KSTAT2_NVMT_CNT, 1, KSTAT2_NVMF_NONE,
            nullptr, 0, 0, 0, 0, 0, "a histogram", KSTAT2_MF_NONE);
        kstat2_hist_add_value(histogram, 5);
        install(histogram);
        kstat2_register_optional("fuzz:optional", "on and off", turn, this);
    }

    kstat2::Maps& maps = kstat2::Maps::of_this_process();

  private:
    // Visible, and without a socket.
    void install(kstat2_t* ksp) {
        std::string why;
        require(maps.install(ksp, why));
    }

    kstat2_t* make(const char* name, zoneid_t zone, kstat2_metaflag_t flags) {
        static uint64_t numbers[] = {1, 2, 3};
        static char text[] = "text";
        static kstat2_named_str_t texts[] = {{text, sizeof text}, {nullptr, 0}};
        const char* segments[] = {"misc", "fuzz", name};
        kstat2_t* const ksp =
            kstat2_create(segments, 3, zone, nullptr, 4, 0, nullptr, "of every type", flags);
        kstat2_named_t* const pairs = KSTAT2_NAMED_PTR(ksp);
        kstat2_nv_init(&pairs[0], "int", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
        kstat2_nv_init(&pairs[1], "ints", KSTAT2_NVVT_INTS, KSTAT2_NVF_NONE);
        kstat2_nv_init(&pairs[2], "str", KSTAT2_NVVT_STR, KSTAT2_NVF_NONE);
        kstat2_nv_init(&pairs[3], "strs", KSTAT2_NVVT_STRS, KSTAT2_NVF_NONE);
        kstat2_nv_setints(&pairs[1], numbers, 3);
        kstat2_nv_setstr(&pairs[2], text);
        kstat2_nv_setstrs(&pairs[3], texts, 2);
        return ksp;
    }

    static int turn(kstat2_opt_id_t, int enable, void* self) {
        auto& provider = *static_cast<Provider*>(self);
        if (enable != 0) {
            provider.install(provider.optional_ = provider.make("optional", ALL_ZONES, 0));
        } else {
            kstat2_delete(provider.optional_);
        }
        return 0;
    }

    kstat2_t* optional_ = nullptr;
};

// A reader of ours takes the answer apart, and must be able to.
void check_reply(const kstat::Session& session, const wire::RequestHead& head, wire::Bytes asked,
                 wire::Bytes body) {
    switch (static_cast<wire::Op>(head.op)) {
        case wire::Op::kstat2_generation:
            return require(kstat2::wire::decode_generation(body).has_value());
        case wire::Op::kstat2_list: {
            const auto from = wire::take<kstat2::wire::ListFrom>(asked);
            const auto page = kstat2::wire::decode_page(body, from->after_kid);
            require(page.has_value());
            for (const kstat2::Map& map : page->maps) {
                require(session.viewer.sees_private || (map.metaflags & KSTAT2_MF_PRIV) == 0);
            }
            return;
        }
        case wire::Op::kstat2_read:
            return require(kstat2::wire::decode_values(body).has_value());
        case wire::Op::kstat2_optional_list:
            return require(kstat2::wire::decode_optionals(body).has_value());
        default:
            return;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static Provider& provider = *new Provider;
    (void)provider;
    if (size == 0) return 0;
    kstat::Session session{42, (data[0] & 1) != 0, (data[0] & 2) != 0};
    session.viewer = {(data[0] & 4) != 0, (data[0] & 8) != 0 ? 7 : GLOBAL_ZONEID};
    wire::Bytes rest = std::as_bytes(std::span(data + 1, size - 1));
    while (const auto head = wire::take<wire::RequestHead>(rest)) {
        if (head->length > request_length_max(session) || head->length > rest.size()) break;
        // A body's own memory, ending where it ends.
        std::vector<std::byte> body(rest.begin(), rest.begin() + head->length);
        rest = rest.subspan(head->length);
        const auto reply = answer(kstat::Chain::of_this_process(), session, *head, body);
        wire::Bytes answered(reply.head);
        const auto reply_head = wire::take<wire::ReplyHead>(answered);
        require(reply_head && reply_head->length == answered.size());
        if (reply_head->error == 0) check_reply(session, *head, body, answered);
    }
    return 0;
}

}  // namespace blkscope
