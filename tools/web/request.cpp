#include "tools/web/request.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace blkscope::web {
namespace {

// Why a request is refused.
struct Refused {
    int status;
};

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A character of a method or a field's name.
bool is_token(char c) {
    return is_alphanumeric(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// A byte that no field and no target may have.
bool is_control(char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::string decoded(std::string_view text, bool plus_is_blank) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
            continue;
        }
        unsigned value = 0;
        const std::string_view digits = text.substr(i + 1, 2);
        const auto [at, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (digits.size() < 2 || at != digits.data() + 2 || error != std::errc{}) {
            throw Refused{400};
        }
        out += static_cast<char>(value);
        i += 2;
    }
    return out;
}

// Removes "http://AUTHORITY" from a target, and returns the authority. Empty: the target has none.
std::string_view take_authority(std::string_view& target) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (in_lower_case(target.substr(0, scheme.size())) != scheme) continue;
        target.remove_prefix(scheme.size());
        const std::string_view authority = target.substr(0, target.find_first_of("/?"));
        if (authority.empty() || authority.find('@') != std::string_view::npos) throw Refused{400};
        target.remove_prefix(authority.size());
        return authority;
    }
    return {};
}

void parse_target(std::string_view target, Request& request) {
    if (target.size() > target_bytes_max) throw Refused{414};
    request.host = take_authority(target);
    const bool has_path = target.starts_with('/');
    if (!has_path && request.host.empty()) throw Refused{400};
    const size_t question = std::min(target.find('?'), target.size());
    request.path = has_path ? decoded(target.substr(0, question), false) : "/";
    std::string_view rest = target.substr(std::min(question + 1, target.size()));
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        const size_t equals = std::min(one.find('='), one.size());
        request.query.emplace_back(decoded(one.substr(0, equals), true),
                                   decoded(one.substr(std::min(equals + 1, one.size())), true));
    }
}

void parse_request_line(std::string_view line, Request& request) {
    if (std::ranges::any_of(line, is_control)) throw Refused{400};
    const std::string_view method = line.substr(0, line.find(' '));
    if (method.empty() || !std::ranges::all_of(method, is_token)) throw Refused{400};
    line.remove_prefix(std::min(method.size() + 1, line.size()));
    const std::string_view target = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(target.size() + 1, line.size()));
    if (!line.starts_with("HTTP/")) throw Refused{400};
    if (line != "HTTP/1.1" && line != "HTTP/1.0") throw Refused{505};
    if (method != "GET" && method != "HEAD") throw Refused{405};
    request.is_head = method == "HEAD";
    request.is_old = line == "HTTP/1.0";
    request.keep_alive = !request.is_old;
    parse_target(target, request);
}

// Takes one field. `seen_host` is set by the Host.
class Fields {
  public:
    explicit Fields(Request& request) : request_(request) {}

    void take(std::string_view line) {
        if (++count_ > fields_max) throw Refused{431};
        const size_t colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0) throw Refused{400};
        const std::string name = in_lower_case(line.substr(0, colon));
        if (!std::ranges::all_of(name, is_token)) throw Refused{400};
        const std::string_view value = trimmed(line.substr(colon + 1));
        if (std::ranges::any_of(value, is_control)) throw Refused{400};
        if (name == "transfer-encoding") throw Refused{400};
        if (name == "content-length" && value != "0") throw Refused{413};
        if (name == "host" && seen_host_) throw Refused{400};
        seen_host_ = seen_host_ || name == "host";
        if (name == "connection") take_connection(value);
        for (const auto& [known, member] : kept) {
            if (name == known) request_.*member = value;
        }
    }

    [[nodiscard]] bool seen_host() const { return seen_host_; }

  private:
    static constexpr std::array<std::pair<std::string_view, std::string Request::*>, 7> kept{
        {{"host", &Request::host},
         {"accept", &Request::accept},
         {"authorization", &Request::authorization},
         {"origin", &Request::origin},
         {"sec-fetch-site", &Request::fetch_site},
         {"sec-fetch-mode", &Request::fetch_mode},
         {"if-none-match", &Request::if_none_match}}};

    // A list of options, perhaps in several fields. "close" counts first.
    void take_connection(std::string_view value) {
        const std::string options = in_lower_case(value);
        closes_ = closes_ || options.find("close") != std::string::npos;
        const bool keeps = options.find("keep-alive") != std::string::npos;
        request_.keep_alive = !closes_ && (request_.keep_alive || keeps);
    }

    Request& request_;
    size_t count_ = 0;
    bool seen_host_ = false;
    bool closes_ = false;
};

void parse_head(std::string_view head, Request& request) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    parse_request_line(line, request);
    head.remove_prefix(line.size() + 2);
    const std::string authority = request.host;  // of the target. Then the field does not count
    Fields fields(request);
    while (!head.starts_with("\r\n")) {
        const std::string_view field = head.substr(0, head.find("\r\n"));
        fields.take(field);
        head.remove_prefix(field.size() + 2);
    }
    if (!fields.seen_host() && !request.is_old) throw Refused{400};
    if (!authority.empty()) request.host = authority;
}

// Whether no head can begin with these bytes: noticed before its end comes.
bool is_hopeless(std::string_view received) {
    const std::string_view method = received.substr(0, received.find(' '));
    return method.size() > 20 || !std::ranges::all_of(method, is_token);
}

}  // namespace

std::string in_lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

std::optional<std::string> Request::parameter(std::string_view name) const {
    const auto found = std::ranges::find(query, name, &std::pair<std::string, std::string>::first);
    return found == query.end() ? std::nullopt : std::optional(found->second);
}

ParsedRequest parse_request(std::string_view received) {
    ParsedRequest parsed;
    const size_t end = received.find("\r\n\r\n");
    if (end == std::string_view::npos || end + 4 > head_bytes_max) {
        if (received.size() >= head_bytes_max) parsed.status = 431;
        if (!received.empty() && is_hopeless(received)) parsed.status = 400;
        return parsed;
    }
    parsed.bytes = end + 4;
    try {
        parse_head(received.substr(0, parsed.bytes), parsed.request);
        parsed.status = 200;
    } catch (const Refused& refused) {
        parsed.status = refused.status;
    }
    return parsed;
}

}  // namespace blkscope::web
