// OptionAnswers: answers a client's options, and keeps the terms agreed on so far.
//
// A new option needs a case in is_offered(), takes_data() and answer(); the compiler reports them.
//
// Ownership: borrows the exports and `replies`, which outlive it.
// Threads:   the control thread.
// Errors:    any option leads to a Step; the caller fills in its `send`.
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
        uint32_t parsed_bytes_max;
        TlsMode tls;
        ReplyForm replies_max;
    };

    /// An option from the client. `data` is empty if is_parsed() is false.
    struct Question {
        Option option{};
        uint32_t bytes = 0;  // of its data, as announced
        std::span<const std::byte> data;
    };

    OptionAnswers(const Exports& exports, const Settings& settings, OptionReplies& replies)
        : exports_(exports), settings_(settings), replies_(replies) {}

    /// True if the option's data is parsed: the option takes data, and the data is not too long.
    /// Other data is read and dropped.
    [[nodiscard]] bool is_parsed(Option option, uint32_t bytes) const;

    /// Answers the next option. The step's reason is valid until the next call.
    Step answer(const Question& question);

    void set_stopping() { stopping_ = true; }
    /// The client refuses zeroes after the answer to EXPORT_NAME.
    void set_no_zeroes() { no_zeroes_ = true; }
    [[nodiscard]] bool listed() const { return listed_; }

  private:
    /// False for an option that the server does not have or that --replies switches off.
    [[nodiscard]] bool is_offered() const;
    [[nodiscard]] bool is_too_long(uint32_t bytes) const {
        return bytes > settings_.parsed_bytes_max;
    }
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
    [[nodiscard]] uint16_t flags_of(const ExportInfo& exp) const;
    Step refuse_name(std::string_view name);
    Step refuse_data();
    Step acknowledge();
    Step refuse(OptionReply error, std::string_view why);
    Step close(std::string reason);
    Step transmission(size_t exp, std::string_view name);

    const Exports& exports_;
    const Settings settings_;
    OptionReplies& replies_;
    bool in_tls_ = false;
    bool stopping_ = false;
    bool no_zeroes_ = false;
    bool listed_ = false;
    Terms terms_;
    std::string contexts_of_;  // the name of the export whose context is selected
    Question question_;
    std::string reason_;
};

}  // namespace blkscope::nbd
