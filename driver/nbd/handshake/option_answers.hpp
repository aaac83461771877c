// OptionAnswers: what each option of a client is answered, and what has been agreed on by then.
//
// Ownership: borrows the exports, which outlive it; writes its replies into what it is given.
// Threads:   one at a time.
// Errors:    whatever the client asks ends in a Step; its `send` is the caller's to fill in.
// Source:    the NBD protocol document, "Option haggling".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "driver/nbd/handshake/option_replies.hpp"
#include "driver/nbd/handshake/terms.hpp"

namespace blkscope::nbd {

class OptionAnswers {
  public:
    struct Settings {
        std::uint32_t parsed_bytes_max;
        TlsMode tls;
        ReplyForm replies_max;
    };

    /// An option as the client sent it. Without its data where that is not looked at.
    struct Question {
        Option option{};
        std::uint32_t bytes = 0;  // of its data, as announced
        std::span<const std::byte> data;
    };

    OptionAnswers(const Exports& exports, const Settings& settings, OptionReplies& replies)
        : exports_(exports), settings_(settings), replies_(replies) {}

    /// Whether the data of such an option is looked at; the rest is read and forgotten.
    [[nodiscard]] bool is_parsed(Option option, std::uint32_t bytes) const;

    /// Answers the next option. A reason that the step has stays until the next call.
    Step answer(const Question& question);

    void set_stopping() { stopping_ = true; }
    /// The client wants no zeroes behind the answer to EXPORT_NAME.
    void set_no_zeroes() { no_zeroes_ = true; }
    [[nodiscard]] bool listed() const { return listed_; }

  private:
    [[nodiscard]] bool is_known() const;
    Step answer_stopping();
    Step answer_without_tls();
    Step answer_starttls();
    void forget_agreements();
    Step answer_export_name();
    Step answer_list();
    Step answer_info_or_go();
    Step answer_structured_reply();
    Step answer_extended_headers();
    Step answer_meta_context();
    Step answer_unsupported();
    [[nodiscard]] std::uint16_t flags_of(const ExportInfo& exp) const;
    Step refuse_name(std::string_view name);
    Step refuse_data();
    Step acknowledge();
    Step refuse(OptionReply error, std::string_view why);
    Step close(std::string reason);
    Step transmission(std::size_t exp, std::string_view name);

    const Exports& exports_;
    const Settings settings_;
    OptionReplies& replies_;
    bool in_tls_ = false;
    bool stopping_ = false;
    bool no_zeroes_ = false;
    bool listed_ = false;
    Terms terms_;
    std::string contexts_of_;  // the name of the export that the selection is for
    Question question_;
    std::string reason_;
};

}  // namespace blkscope::nbd
