// Introduction: a client's handshake, from the greeting to the first request. Bytes in, bytes out.
//
//     greeting ─▶ flags ─▶ detours ─▶ form of replies ─▶ metadata context ─▶ GO or EXPORT_NAME
//
// A detour is an allowed option that changes nothing: LIST, INFO, an unknown or a wrong one. Each
// answer must be the protocol's answer to the option.
//
// Ownership: a value; borrows the names of the exports.
// Threads:   a single one.
// Errors:    complaint() says which answer of the server was wrong.
// Source:    the NBD protocol document, "Handshake phase".
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/protocol.hpp"
#include "random.hpp"

namespace blkscope::simulation {

/// The server's properties that a client expects, and the client's choices.
struct Invitation {
    std::string export_name;
    uint64_t export_bytes = 0;
    size_t exports = 1;  // the number of exports in a LIST
    nbd::ReplyForm form = nbd::ReplyForm::simple;
    nbd::TlsMode mode = nbd::TlsMode::off;
    bool tls = false;        // the client asks for TLS
    uint16_t flags = 0;      // of the transmission, whatever the form of replies; 0: any
    bool allocation = true;  // base:allocation is offered
    nbd::BlockSize sizes{.minimum = 0};  // of the export; without a minimum any
};

/// An option with its header.
std::vector<std::byte> said_option(nbd::Option option, std::string_view data = {});
/// The data of INFO and GO, and of the options for metadata contexts.
std::string info_question(std::string_view name, const std::vector<nbd::Info>& wishes);
std::string context_question(std::string_view name, std::string_view query);

class Introduction {
  public:
    Introduction(const Invitation& invitation, Random& random);

    /// Takes received bytes and appends the bytes to send. Returns the number of bytes taken.
    size_t hear(const std::byte* bytes, size_t count, std::vector<std::byte>& out);

    [[nodiscard]] bool done() const { return state_ == State::done; }
    /// The export does not exist any more, which is allowed after a reload.
    [[nodiscard]] bool refused() const { return state_ == State::refused; }
    /// The server requires TLS, and the client does not ask for it. Each of its options must fail.
    [[nodiscard]] bool must_fail() const {
        return invitation_.mode == nbd::TlsMode::require && !invitation_.tls;
    }
    /// From here on all bytes are within TLS.
    [[nodiscard]] bool tls_begun() const { return tls_begun_; }
    [[nodiscard]] const std::string& complaint() const { return complaint_; }
    /// The id of base:allocation, which each block status names.
    [[nodiscard]] uint32_t context_id() const { return context_id_; }
    /// The client asks for the block sizes, so the server may refuse larger requests.
    [[nodiscard]] bool asked_for_sizes() const { return asked_for_sizes_; }

  private:
    enum class State : uint8_t { greeting, options, export_name, done, refused };

    struct Said {
        nbd::Option option = nbd::Option::abort;
        std::string data;
        nbd::OptionReply answer = nbd::OptionReply::ack;  // the last part's type
    };

    Said draw_detour(Random& random) const;
    void draw_start_of_tls(Random& random);
    void say(std::vector<std::byte>& out);
    size_t hear_greeting(const std::byte* bytes, size_t count, std::vector<std::byte>& out);
    size_t hear_reply(const std::byte* bytes, size_t count, std::vector<std::byte>& out);
    size_t hear_export(const std::byte* bytes, size_t count);
    void take_part(const Said& asked, nbd::OptionReply type, const std::byte* data, size_t bytes);
    void answered(const Said& asked, nbd::OptionReply type);
    void check_flags(uint16_t flags);
    void check_sizes(const std::byte* data, size_t bytes);
    void complain(const std::string& what);

    const Invitation invitation_;
    State state_ = State::greeting;
    bool no_zeroes_ = true;
    bool all_at_once_ = false;
    std::deque<Said> to_say_;
    std::deque<Said> unanswered_;
    size_t listed_ = 0;
    bool tls_begun_ = false;
    bool told_size_ = false;
    bool told_context_ = false;
    bool asked_for_sizes_ = false;
    uint32_t context_id_ = 0;
    std::string complaint_;
};

}  // namespace blkscope::simulation
