// Strict JSON: the objects of a configuration or of a request, of which nothing is ignored.
//
//     parse_strictly(text) ─▶ Json ─▶ StrictObject ── text("name"), number("depth"), ... ── no_others()
//
// A key that is given twice, an unknown key and a value out of its range are errors. A typing error
// therefore never results in a default.
//
// Ownership: a StrictObject borrows its Json.
// Threads:   any, one at a time.
// Errors:    std::invalid_argument, "exports[1].queue-depth: ...".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope {

using StrictJson = nlohmann::json;

/// Throws the error about the value at `key`.
[[noreturn]] void refuse_key(const std::string& key, const std::string& why);

/// Comments in the form of C++ are allowed. A syntax error begins with "line 2, column 3: ".
StrictJson parse_strictly(std::string_view text);

/// Returns the values of an object by key, and at the end refuses the keys that were not asked for.
/// Each function leaves its value as it is if the key is missing.
class StrictObject {
  public:
    /// `path` stands in front of the keys in errors; empty for the whole text.
    StrictObject(const StrictJson& json, std::string path);

    [[nodiscard]] std::string path_of(const std::string& key) const;

    /// The value of the key; null if the key is missing.
    const StrictJson* find(const std::string& key);
    /// The array of the key; null if the key is missing.
    const StrictJson* array(const std::string& key);

    void text(const std::string& key, std::string& value);
    void required_text(const std::string& key, std::string& value);
    void flag(const std::string& key, bool& value);
    void number(const std::string& key, unsigned& value, unsigned largest, unsigned least = 1);
    /// A number without an upper limit of its own.
    void number(const std::string& key, std::optional<uint64_t>& value);
    /// "key=value" at the end of `items`. The value is a string or a whole number.
    void item(const std::string& key, std::vector<std::string>& items);
    std::vector<std::string> texts(const std::string& key);

    void no_others() const;

  private:
    const StrictJson& json_;
    std::string path_;
    std::vector<std::string> known_;
};

}  // namespace blkscope
