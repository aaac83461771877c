#include "tools/program/json_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/text_encoding.hpp"
#include "tools/program/foreign_json.hpp"

namespace blkscope::program {
namespace {

using nlohmann::json;

size_t lines_in(std::string_view text) {
    return static_cast<size_t>(std::ranges::count(text, '\n'));
}

// The bytes of the document at the front of the text; none if its end is not there.
size_t document_bytes(std::string_view text) {
    size_t open = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            ++open;
        } else if ((c == '}' || c == ']') && --open == 0) {
            return i + 1;
        }
    }
    return 0;
}

[[noreturn]] void refuse_line(size_t line, std::string_view why) {
    throw std::invalid_argument(fmt::format("line {}: {}", line, why));
}

}  // namespace

std::vector<JsonDocument> json_documents(std::string_view text) {
    if (text.empty()) throw std::invalid_argument("it is empty");
    if (const auto encoding = wide_encoding(text); !encoding.empty()) {
        throw std::invalid_argument(fmt::format("it is a text in {}; save it as UTF-8", encoding));
    }
    text = without_mark(text);
    std::vector<JsonDocument> documents;
    size_t line = 1;
    while (!text.empty()) {
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
        if (text.starts_with('{') || text.starts_with('[')) {
            const size_t bytes = document_bytes(text);
            if (bytes == 0)
                refuse_line(line, "the JSON that begins here has no end; was it cut off?");
            documents.push_back({text.substr(0, bytes), line});
            line += lines_in(documents.back().text);
            text.remove_prefix(bytes);
        } else {
            const size_t end = std::min(text.find('\n'), text.size() - 1);
            line += lines_in(text.substr(0, end + 1));
            if (!text.empty()) text.remove_prefix(end + 1);
        }
    }
    if (documents.empty()) throw std::invalid_argument("it has no JSON: no line begins with '{'");
    return documents;
}

json parse_document(const JsonDocument& document) {
    struct TooDeep {};
    const auto limit = [](int depth, json::parse_event_t, const json&) {
        if (depth > foreign_depth_max) throw TooDeep{};
        return true;
    };
    try {
        return json::parse(document.text, limit);
    } catch (const json::parse_error& error) {
        const auto until = document.text.substr(0, std::min(error.byte, document.text.size()));
        refuse_line(document.line + lines_in(until), "it is no JSON");
    } catch (const TooDeep&) {
        refuse_line(document.line, "the JSON that begins here is nested too deeply");
    }
}

}  // namespace blkscope::program
