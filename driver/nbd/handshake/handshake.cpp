#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/text.hpp"
#include <utility>

namespace blkscope::nbd {
namespace {

// No read is longer, however much there is to throw away.
constexpr std::size_t read_bytes_max = std::size_t{64} << 10;

constexpr std::string_view base_namespace = "base:";

template <std::unsigned_integral T>
void put(std::vector<std::byte>& to, T value) {
    std::array<std::byte, sizeof(T)> bytes{};
    store_be<T>(bytes, value);
    to.insert(to.end(), bytes.begin(), bytes.end());
}

void put(std::vector<std::byte>& to, std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

// The caller has checked that the number is there.
template <std::unsigned_integral T>
T get(std::span<const std::byte> from, std::size_t at) {
    return load_be<T>(from.subspan(at).first<sizeof(T)>());
}

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What INFO and GO ask: u32 name length, name, u16 count, count times u16 what to tell.
struct InfoQuestion {
    std::string_view exp;  // into the data it was read from
    bool name = false;
    bool description = false;
    bool block_sizes = false;
};

void note_wish(InfoQuestion& question, Info wish) {
    switch (wish) {
        case Info::name:
            question.name = true;
            return;
        case Info::description:
            question.description = true;
            return;
        case Info::block_size:
            question.block_sizes = true;  // always told, but who asks for them keeps to them
            return;
        case Info::exp:
            return;  // always told
    }
    // An unknown wish is ignored: the protocol's way of letting newer clients ask for more.
}

std::optional<InfoQuestion> parse_info_question(std::span<const std::byte> data) {
    constexpr std::size_t around_name = sizeof(std::uint32_t) + sizeof(std::uint16_t);
    if (data.size() < around_name) return std::nullopt;
    const std::size_t name_bytes = get<std::uint32_t>(data, 0);
    // Subtracted on our side: the client's number is near 2^32 when it means harm.
    if (name_bytes > data.size() - around_name) return std::nullopt;
    const std::size_t wishes = get<std::uint16_t>(data, sizeof(std::uint32_t) + name_bytes);
    if (data.size() - around_name - name_bytes != wishes * sizeof(std::uint16_t)) {
        return std::nullopt;
    }

    InfoQuestion question{.exp = as_text(data.subspan(sizeof(std::uint32_t), name_bytes))};
    if (!valid_string(question.exp)) return std::nullopt;
    for (std::size_t i = 0; i < wishes; ++i) {
        const std::size_t at = around_name + name_bytes + i * sizeof(std::uint16_t);
        note_wish(question, Info{get<std::uint16_t>(data, at)});
    }
    return question;
}

// What the two META_CONTEXT options ask: u32 name length, name, u32 count, count times a query of
// u32 length and text.
struct ContextQuestion {
    std::string_view exp;  // into the data it was read from
    bool any_query = false;
    bool names_allocation = false;
    bool names_all_of_base = false;
};

// Takes a counted string off the front; nothing where it is not whole or not a string.
std::optional<std::string_view> take_string(std::span<const std::byte>& from) {
    if (from.size() < sizeof(std::uint32_t)) return std::nullopt;
    const std::size_t bytes = get<std::uint32_t>(from, 0);
    from = from.subspan(sizeof(std::uint32_t));
    if (bytes > from.size()) return std::nullopt;
    const std::string_view text = as_text(from.first(bytes));
    from = from.subspan(bytes);
    return valid_string(text) ? std::optional(text) : std::nullopt;
}

std::optional<ContextQuestion> parse_context_question(std::span<const std::byte> data) {
    const auto name = take_string(data);
    if (!name || data.size() < sizeof(std::uint32_t)) return std::nullopt;
    const std::uint32_t queries = get<std::uint32_t>(data, 0);
    data = data.subspan(sizeof(std::uint32_t));
    ContextQuestion question{.exp = *name, .any_query = queries > 0};
    // Each takes at least its four bytes of what has come, whatever the client's number is.
    for (std::uint32_t i = 0; i < queries; ++i) {
        const auto query = take_string(data);
        if (!query) return std::nullopt;
        // Others' namespaces and unknown leaves are ignored, as are queries of no known form.
        if (*query == base_allocation) question.names_allocation = true;
        if (*query == base_namespace) question.names_all_of_base = true;
    }
    return data.empty() ? std::optional(question) : std::nullopt;
}

}  // namespace

std::optional<ReplyForm> reply_form(std::string_view word) {
    if (word == "simple") return ReplyForm::simple;
    if (word == "structured") return ReplyForm::structured;
    if (word == "extended") return ReplyForm::extended;
    return std::nullopt;
}

Handshake::Handshake(const Exports& exports, HandshakeLimits limits, TlsMode tls,
                     ReplyForm replies_max)
    : exports_(exports), limits_(limits), tls_(tls), replies_max_(replies_max) {}

std::array<std::byte, greeting_bytes> Handshake::greeting() {
    constexpr std::uint16_t flags = handshake_flag::fixed_newstyle | handshake_flag::no_zeroes;
    std::array<std::byte, greeting_bytes> bytes{};
    const std::span<std::byte, greeting_bytes> to(bytes);
    store_be(to.subspan<0, 8>(), init_magic);
    store_be(to.subspan<8, 8>(), option_magic);
    store_be(to.subspan<16, 2>(), flags);
    return bytes;
}

std::size_t Handshake::wanted() const {
    return std::min(missing_, read_bytes_max);
}

Step Handshake::feed(std::span<const std::byte> bytes) {
    assert(state_ != State::ended);
    assert(bytes.size() <= wanted());
    out_.clear();
    // It grows with what has come, never by what is announced.
    if (keep_) in_.insert(in_.end(), bytes.begin(), bytes.end());
    missing_ -= bytes.size();
    if (missing_ > 0) return go_on();

    switch (state_) {
        case State::client_flags:
            return take_client_flags();
        case State::option_header:
            return take_option_header();
        case State::option_data:
            return answer();
        case State::ended:
            break;  // asserted above
    }
    return close("the handshake has ended");
}

void Handshake::expect(State state, std::size_t bytes, bool keep) {
    state_ = state;
    missing_ = bytes;
    keep_ = keep;
    in_.clear();
}

Step Handshake::take_client_flags() {
    const auto flags = get<std::uint32_t>(in_, 0);
    if ((flags & ~(client_flag::fixed_newstyle | client_flag::no_zeroes)) != 0) {
        return close(fmt::format("client flags {:#x} hold one that was not offered", flags));
    }
    fixed_newstyle_ = (flags & client_flag::fixed_newstyle) != 0;
    no_zeroes_ = (flags & client_flag::no_zeroes) != 0;
    expect_option();
    return go_on();
}

bool Handshake::too_many_options() const {
    const std::uint64_t for_list =
        listed_ ? std::uint64_t{limits_.options_per_listed_export} * exports_.size() : 0;
    return options_seen_ > limits_.options_max + for_list;
}

// Metadata contexts are for block status, which there is in chunks only.
bool Handshake::is_known() const {
    switch (option_) {
        case Option::structured_reply:
        case Option::list_meta_context:
        case Option::set_meta_context:
            return replies_max_ != ReplyForm::simple;
        case Option::extended_headers:
            return replies_max_ == ReplyForm::extended;
        default:
            return true;
    }
}

// Whether the data of the option at hand is looked at; the rest is read and forgotten.
bool Handshake::is_parsed() const {
    const bool has_data = option_ == Option::export_name || option_ == Option::info ||
                          option_ == Option::go || option_ == Option::list_meta_context ||
                          option_ == Option::set_meta_context;
    return has_data && option_bytes_ <= limits_.parsed_bytes_max;
}

// Everything that closes before the data is read is decided here.
Step Handshake::take_option_header() {
    const auto magic = get<std::uint64_t>(in_, 0);
    option_ = Option{get<std::uint32_t>(in_, 8)};
    option_bytes_ = get<std::uint32_t>(in_, 12);
    const auto number = static_cast<std::uint32_t>(option_);

    if (magic != option_magic) {
        return close(fmt::format("an option began with {:#018x}, which is not its magic", magic));
    }
    if (++options_seen_; too_many_options()) {
        return close(fmt::format("{} options and still no export chosen", options_seen_));
    }
    if (option_bytes_ > limits_.option_bytes_max) {
        return close(fmt::format("option {} of {} bytes; the limit is {}", number, option_bytes_,
                                 limits_.option_bytes_max));
    }
    // Such a client cannot read an option's reply: it would take one for the answer to EXPORT_NAME.
    if (!fixed_newstyle_ && option_ != Option::export_name) {
        return close(fmt::format("option {} from a client without fixed newstyle", number));
    }
    if (option_ == Option::export_name && option_bytes_ > string_bytes_max) {
        return close(fmt::format("an export name of {} bytes; the limit is {}", option_bytes_,
                                 string_bytes_max));
    }
    expect(State::option_data, option_bytes_, is_parsed());
    return option_bytes_ == 0 ? answer() : go_on();
}

Step Handshake::answer() {
    if (option_ == Option::abort) return answer_abort();
    if (stopping_) return answer_stopping();
    if (option_ == Option::starttls) return answer_starttls();
    if (tls_ == TlsMode::require && !in_tls_) return answer_without_tls();
    if (!is_known()) return answer_unsupported();
    switch (option_) {
        case Option::export_name:
            return answer_export_name();
        case Option::list:
            return answer_list();
        case Option::info:
        case Option::go:
            return answer_info_or_go();
        case Option::structured_reply:
            return answer_structured_reply();
        case Option::extended_headers:
            return answer_extended_headers();
        case Option::list_meta_context:
        case Option::set_meta_context:
            return answer_meta_context();
        case Option::peek_export:
            return answer_unsupported();
        case Option::abort:
        case Option::starttls:
            break;  // above
    }
    return answer_unsupported();  // a number without a name
}

Step Handshake::answer_without_tls() {
    // EXPORT_NAME has no way to say no.
    if (option_ == Option::export_name) return close("an export was asked for without TLS");
    return refuse(OptionReply::err_tls_reqd, "this server requires TLS");
}

Step Handshake::answer_starttls() {
    if (option_bytes_ > 0) return refuse_data();
    if (tls_ == TlsMode::off) return refuse(OptionReply::err_policy, "this server has no TLS");
    if (in_tls_) return refuse(OptionReply::err_invalid, "TLS has been started already");
    in_tls_ = true;
    forget_agreements();
    put_reply(OptionReply::ack, 0);
    expect_option();
    return {.send = out_, .next = Step::Next::start_tls, .reason = {}};
}

Step Handshake::answer_stopping() {
    // EXPORT_NAME has no way to say no.
    if (option_ == Option::export_name) return close("an export was asked for while stopping");
    return refuse(OptionReply::err_shutdown, "the server is shutting down");
}

// What options before TLS have brought about. Anyone on the way may have said them; the client says
// its own again.
void Handshake::forget_agreements() {
    terms_ = {};
    contexts_of_.clear();
    listed_ = false;
}

// The one option that is not answered by an option reply, and cannot be refused.
Step Handshake::answer_export_name() {
    const std::string_view name = as_text(in_);
    if (terms_.replies == ReplyForm::extended) {
        return close("EXPORT_NAME from a client with extended headers");
    }
    if (!valid_string(name)) return close("an export name that is not UTF-8, or holds a NUL");
    const auto found = exports_.find(name);
    if (!found) return close(fmt::format("no export \"{}\"", printable(name)));

    put(out_, exports_[*found].size_bytes);
    put(out_, flags_of(exports_[*found]));
    if (!no_zeroes_) out_.resize(out_.size() + export_name_zeroes);
    return transmission(*found, name);
}

Step Handshake::answer_abort() {
    put_reply(OptionReply::ack, 0);
    return close({});
}

Step Handshake::answer_list() {
    if (option_bytes_ > 0) return refuse_data();
    if (!exports_.may_be_listed()) {
        return refuse(OptionReply::err_policy, "the exports of this server are not listed");
    }
    // Once only: its answer is by far the longest, and it bought the client further options.
    if (listed_) return refuse(OptionReply::err_invalid, "the exports have been listed already");
    listed_ = true;
    for (const ExportInfo& exp : exports_) {
        put_reply(OptionReply::server,
                  sizeof(std::uint32_t) + exp.name.size() + exp.description.size());
        put(out_, static_cast<std::uint32_t>(exp.name.size()));
        put(out_, exp.name);
        put(out_, exp.description);
    }
    return acknowledge();
}

// Both give the same answer, so that what INFO said still holds at GO.
Step Handshake::answer_info_or_go() {
    if (!is_parsed()) return refuse(OptionReply::err_too_big, "the option is too long");
    const auto question = parse_info_question(in_);
    if (!question) return refuse(OptionReply::err_invalid, "the option is malformed");
    const auto found = exports_.find(question->exp);
    if (!found) return refuse_name(question->exp);

    put_infos(exports_[*found], question->name, question->description);
    if (option_ == Option::info) return acknowledge();
    put_reply(OptionReply::ack, 0);
    terms_.block_sizes = question->block_sizes;
    return transmission(*found, question->exp);
}

Step Handshake::answer_structured_reply() {
    if (option_bytes_ > 0) return refuse_data();
    switch (terms_.replies) {
        case ReplyForm::simple:
            terms_.replies = ReplyForm::structured;
            return acknowledge();
        case ReplyForm::structured:
            return refuse(OptionReply::err_invalid, "structured replies are negotiated already");
        case ReplyForm::extended:
            break;  // which are structured, and more
    }
    return refuse(OptionReply::err_ext_header_reqd, "extended headers are negotiated already");
}

Step Handshake::answer_extended_headers() {
    if (option_bytes_ > 0) return refuse_data();
    if (terms_.replies == ReplyForm::extended) {
        return refuse(OptionReply::err_invalid, "extended headers are negotiated already");
    }
    terms_.replies = ReplyForm::extended;
    return acknowledge();
}

// LIST tells what there is; SET selects it for the export that it names, and nothing else stays
// selected, even where it fails.
Step Handshake::answer_meta_context() {
    const bool selects = option_ == Option::set_meta_context;
    if (selects) terms_.allocation = false;
    if (!is_parsed()) return refuse(OptionReply::err_too_big, "the option is too long");
    if (selects && terms_.replies == ReplyForm::simple) {
        return refuse(OptionReply::err_invalid, "structured replies have not been negotiated");
    }
    const auto question = parse_context_question(in_);
    if (!question) return refuse(OptionReply::err_invalid, "the option is malformed");
    if (!exports_.find(question->exp)) return refuse_name(question->exp);

    const bool wildcard = !question->any_query || question->names_all_of_base;
    if (question->names_allocation || (wildcard && !selects)) {
        put_reply(OptionReply::meta_context, sizeof(std::uint32_t) + base_allocation.size());
        put(out_, selects ? base_allocation_id : std::uint32_t{0});
        put(out_, base_allocation);
    }
    if (selects) {
        terms_.allocation = question->names_allocation;
        contexts_of_ = question->exp;
    }
    return acknowledge();
}

void Handshake::put_infos(const ExportInfo& exp, bool name, bool description) {
    put_reply(OptionReply::info, 12);
    put(out_, static_cast<std::uint16_t>(Info::exp));
    put(out_, exp.size_bytes);
    put(out_, flags_of(exp));
    if (name) {
        // The name it is listed under, which is how a client of the default export learns it.
        put_reply(OptionReply::info, sizeof(std::uint16_t) + exp.name.size());
        put(out_, static_cast<std::uint16_t>(Info::name));
        put(out_, exp.name);
    }
    if (description && !exp.description.empty()) {
        put_reply(OptionReply::info, sizeof(std::uint16_t) + exp.description.size());
        put(out_, static_cast<std::uint16_t>(Info::description));
        put(out_, exp.description);
    }
    // Also to those who did not ask: a client that knows the sizes can keep to them.
    put_reply(OptionReply::info, 14);
    put(out_, static_cast<std::uint16_t>(Info::block_size));
    put(out_, exp.block_size.minimum);
    put(out_, exp.block_size.preferred);
    put(out_, exp.block_size.maximum);
}

// An export's flags, and those that what was negotiated adds to them.
std::uint16_t Handshake::flags_of(const ExportInfo& exp) const {
    std::uint16_t flags = exp.transmission_flags;
    if (terms_.replies != ReplyForm::simple) flags |= transmission_flag::send_df;
    if (terms_.replies == ReplyForm::extended) flags |= transmission_flag::block_status_payload;
    return flags;
}

Step Handshake::answer_unsupported() {
    return refuse(OptionReply::err_unsup,
                  fmt::format("option {} is not supported", static_cast<std::uint32_t>(option_)));
}

Step Handshake::refuse_name(std::string_view name) {
    return refuse(OptionReply::err_unknown, fmt::format("no export \"{}\"", printable(name)));
}

Step Handshake::refuse_data() {
    return refuse(OptionReply::err_invalid,
                  fmt::format("option {} takes no data", static_cast<std::uint32_t>(option_)));
}

void Handshake::put_reply(OptionReply type, std::size_t data_bytes) {
    put(out_, option_reply_magic);
    put(out_, static_cast<std::uint32_t>(option_));
    put(out_, static_cast<std::uint32_t>(type));
    put(out_, static_cast<std::uint32_t>(data_bytes));
}

Step Handshake::go_on() {
    return {.send = out_, .next = Step::Next::go_on, .reason = {}};
}

Step Handshake::acknowledge() {
    put_reply(OptionReply::ack, 0);
    expect_option();
    return go_on();
}

Step Handshake::refuse(OptionReply error, std::string_view why) {
    put_reply(error, why.size());
    put(out_, why);
    expect_option();
    return go_on();
}

Step Handshake::close(std::string reason) {
    expect(State::ended, 0, false);
    reason_ = std::move(reason);
    return {.send = out_, .next = Step::Next::close, .reason = reason_};
}

Step Handshake::transmission(std::size_t exp, std::string_view name) {
    if (name != contexts_of_) terms_.allocation = false;  // they were another's
    expect(State::ended, 0, false);
    return {
        .send = out_, .next = Step::Next::transmission, .exp = exp, .terms = terms_, .reason = {}};
}

}  // namespace blkscope::nbd
