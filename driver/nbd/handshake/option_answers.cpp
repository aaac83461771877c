#include "driver/nbd/handshake/option_answers.hpp"

#include <fmt/core.h>

#include <cassert>
#include <utility>

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/handshake/option_questions.hpp"
#include "driver/nbd/text.hpp"

namespace blkscope::nbd {
namespace {

// answer() refuses data of the other options.
bool takes_data(Option option) {
    switch (option) {
        case Option::export_name:
        case Option::info:
        case Option::go:
        case Option::list_meta_context:
        case Option::set_meta_context:
            return true;
        case Option::abort:
        case Option::list:
        case Option::peek_export:
        case Option::starttls:
        case Option::structured_reply:
        case Option::extended_headers:
            return false;
    }
    return false;  // an unknown number
}

}  // namespace

// Metadata contexts serve block status, which needs replies in chunks.
bool OptionAnswers::is_offered() const {
    switch (question_.option) {
        case Option::structured_reply:
        case Option::list_meta_context:
        case Option::set_meta_context:
            return settings_.replies_max != ReplyForm::simple;
        case Option::extended_headers:
            return settings_.replies_max == ReplyForm::extended;
        case Option::export_name:
        case Option::abort:
        case Option::list:
        case Option::starttls:
        case Option::info:
        case Option::go:
            return true;
        case Option::peek_export:
            return false;
    }
    return false;  // an unknown number
}

bool OptionAnswers::is_parsed(Option option, uint32_t bytes) const {
    return takes_data(option) && !is_too_long(bytes);
}

Step OptionAnswers::answer(const Question& question) {
    assert(question.data.empty() || question.data.size() == question.bytes);
    question_ = question;
    replies_.begin(question_.option);
    if (question_.option == Option::abort) {
        replies_.reply(OptionReply::ack, 0);
        return close({});
    }
    if (stopping_) return answer_stopping();
    if (question_.option == Option::starttls) return answer_starttls();
    const bool in_clear = !in_tls_ && !planted("clear-text-served");
    if (settings_.tls == TlsMode::require && in_clear) return answer_without_tls();
    if (!is_offered()) return answer_unsupported();
    if (question_.bytes > 0 && !takes_data(question_.option)) return refuse_data();
    switch (question_.option) {
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
        case Option::abort:
        case Option::starttls:
        case Option::peek_export:
            break;  // handled above, as unknown numbers are
    }
    return answer_unsupported();
}

Step OptionAnswers::answer_without_tls() {
    // EXPORT_NAME has no error reply.
    if (question_.option == Option::export_name)
        return close("an export was asked for without TLS");
    return refuse(OptionReply::err_tls_reqd, "this server requires TLS");
}

// Comes before the check that answer() makes of all other options' data.
Step OptionAnswers::answer_starttls() {
    if (question_.bytes > 0) return refuse_data();
    if (settings_.tls == TlsMode::off)
        return refuse(OptionReply::err_policy, "this server has no TLS");
    if (in_tls_) return refuse(OptionReply::err_invalid, "TLS has been started already");
    in_tls_ = true;
    if (!planted("agreements-kept")) forget_agreements();
    replies_.reply(OptionReply::ack, 0);
    return {.send = {}, .next = Step::Next::start_tls, .reason = {}};
}

Step OptionAnswers::answer_stopping() {
    // EXPORT_NAME has no error reply.
    if (question_.option == Option::export_name)
        return close("an export was asked for while stopping");
    return refuse(OptionReply::err_shutdown, "the server is shutting down");
}

// Forgets the results of options before TLS, which an attacker may have sent. The client repeats
// its options.
void OptionAnswers::forget_agreements() {
    terms_ = {};
    contexts_of_.clear();
    listed_ = false;
}

// EXPORT_NAME alone is not answered by an option reply, and cannot be refused.
Step OptionAnswers::answer_export_name() {
    assert(question_.option == Option::export_name);
    const std::string_view name = as_text(question_.data);
    if (terms_.replies == ReplyForm::extended) {
        return close("EXPORT_NAME from a client with extended headers");
    }
    if (!valid_string(name)) {
        return close("an export name that is longer than 4096 bytes, not UTF-8, or holds a NUL");
    }
    const auto found = exports_.find(name);
    if (!found) return close(fmt::format("no export '{}'", printable(name)));

    replies_.put(exports_[*found].size_bytes);
    replies_.put(flags_of(exports_[*found]));
    if (!no_zeroes_) replies_.put_zeroes(export_name_zeroes);
    return transmission(*found, name);
}

Step OptionAnswers::answer_list() {
    if (!exports_.may_be_listed()) {
        return refuse(OptionReply::err_policy, "the exports of this server are not listed");
    }
    // Once only: the answer is the longest of all, and each LIST allows further options.
    if (listed_) return refuse(OptionReply::err_invalid, "the exports have been listed already");
    listed_ = true;
    for (const ExportInfo& exp : exports_) replies_.listed(exp);
    return acknowledge();
}

// INFO and GO give the same answer, so INFO's answer is still true at GO.
Step OptionAnswers::answer_info_or_go() {
    if (is_too_long(question_.bytes))
        return refuse(OptionReply::err_too_big, "the option is too long");
    assert(question_.data.size() == question_.bytes);
    const auto question = parse_info_question(question_.data);
    if (!question) return refuse(OptionReply::err_invalid, question.error());
    const auto found = exports_.find(question->exp);
    if (!found) return refuse_name(question->exp);

    replies_.infos(exports_[*found], flags_of(exports_[*found]), question->name,
                   question->description);
    if (question_.option == Option::info) return acknowledge();
    replies_.reply(OptionReply::ack, 0);
    terms_.block_sizes = question->block_sizes;
    return transmission(*found, question->exp);
}

Step OptionAnswers::answer_structured_reply() {
    switch (terms_.replies) {
        case ReplyForm::simple:
            terms_.replies = ReplyForm::structured;
            return acknowledge();
        case ReplyForm::structured:
            return refuse(OptionReply::err_invalid, "structured replies are negotiated already");
        case ReplyForm::extended:
            break;  // extended replies are structured, too
    }
    return refuse(OptionReply::err_ext_header_reqd, "extended headers are negotiated already");
}

Step OptionAnswers::answer_extended_headers() {
    if (terms_.replies == ReplyForm::extended) {
        return refuse(OptionReply::err_invalid, "extended headers are negotiated already");
    }
    terms_.replies = ReplyForm::extended;
    return acknowledge();
}

// LIST names the known contexts. SET selects them for one export and clears any earlier selection,
// even if SET fails.
Step OptionAnswers::answer_meta_context() {
    const bool selects = question_.option == Option::set_meta_context;
    assert(selects || question_.option == Option::list_meta_context);
    if (selects) terms_.allocation = false;
    if (is_too_long(question_.bytes))
        return refuse(OptionReply::err_too_big, "the option is too long");
    if (selects && terms_.replies == ReplyForm::simple) {
        return refuse(OptionReply::err_invalid, "structured replies have not been negotiated");
    }
    assert(question_.data.size() == question_.bytes);
    const auto question = parse_context_question(question_.data);
    if (!question) return refuse(OptionReply::err_invalid, question.error());
    const auto exp = exports_.find(question->exp);
    if (!exp) return refuse_name(question->exp);

    const bool offered = exports_[*exp].allocation;
    const bool wildcard = !question->any_query || question->names_all_of_base;
    if (offered && (question->names_allocation || (wildcard && !selects))) {
        replies_.reply(OptionReply::meta_context, sizeof(uint32_t) + base_allocation.size());
        replies_.put(selects ? base_allocation_id : uint32_t{0});
        replies_.put(base_allocation);
    }
    if (selects) {
        terms_.allocation = offered && question->names_allocation;
        contexts_of_ = question->exp;
    }
    return acknowledge();
}

// The export's flags, with the flags of the negotiated features.
uint16_t OptionAnswers::flags_of(const ExportInfo& exp) const {
    uint16_t flags = exp.transmission_flags;
    if (terms_.replies != ReplyForm::simple) flags |= transmission_flag::send_df;
    if (terms_.replies == ReplyForm::extended) flags |= transmission_flag::block_status_payload;
    return flags;
}

Step OptionAnswers::answer_unsupported() {
    return refuse(OptionReply::err_unsup, fmt::format("option {} is not supported",
                                                      static_cast<uint32_t>(question_.option)));
}

Step OptionAnswers::refuse_name(std::string_view name) {
    return refuse(OptionReply::err_unknown, fmt::format("no export '{}'", printable(name)));
}

Step OptionAnswers::refuse_data() {
    return refuse(OptionReply::err_invalid,
                  fmt::format("option {} takes no data", static_cast<uint32_t>(question_.option)));
}

Step OptionAnswers::acknowledge() {
    replies_.reply(OptionReply::ack, 0);
    return {.send = {}, .reason = {}};
}

Step OptionAnswers::refuse(OptionReply error, std::string_view why) {
    replies_.refuse(error, why);
    return {.send = {}, .reason = {}};
}

Step OptionAnswers::close(std::string reason) {
    reason_ = std::move(reason);
    return {.send = {}, .next = Step::Next::close, .reason = reason_};
}

Step OptionAnswers::transmission(size_t exp, std::string_view name) {
    assert(exp < exports_.size());
    assert(!stopping_);
    assert(in_tls_ || settings_.tls != TlsMode::require || planted("clear-text-served"));
    if (name != contexts_of_) terms_.allocation = false;  // the selection was for another export
    return {
        .send = {}, .next = Step::Next::transmission, .exp = exp, .terms = terms_, .reason = {}};
}

}  // namespace blkscope::nbd
