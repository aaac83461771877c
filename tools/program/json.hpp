// JSON: a tree of values and the two ways in which the tools write it.
//
//     line()     {"device":"nbd0","counters":{"reads":1}}
//
//     block()    {
//                    "name": "nbd0",                      with tabs: a line for each member of the
//                    "data": {                            object and of the objects in it; what is
//                        "flags": ["a", "b"]              deeper, and each array, is in one line
//                    }
//                }
//
// The text is valid JSON whatever bytes the strings hold. Valid UTF-8 stays. Control characters and
// bytes that are not UTF-8 are escaped as \u00XX.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_string.hpp"

namespace blkscope::program {

class Json {
  public:
    struct Member;

    Json() = default;     // null
    Json(double number);  // null if it is not finite
    Json(bool truth) : text_(truth ? "true" : "false") {}
    Json(std::integral auto number) : text_(std::to_string(number)) {}
    Json(const char* text) : Json(std::string_view(text)) {}
    Json(const std::string& text) : Json(std::string_view(text)) {}
    Json(std::string_view text);
    Json(std::initializer_list<Member> members);

    template <class T>
    Json(const std::vector<T>& elements) : Json(array()) {
        for (const T& element : elements) push_back(element);
    }

    template <class T>
    Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}

    static Json object() { return Json(Kind::object); }
    static Json array() { return Json(Kind::array); }

    /// A number that is written with exactly these digits.
    static Json number(std::string digits);

    void push_back(Json element) { values_.push_back(std::move(element)); }

    /// Adds a member; its name may be the name of another member.
    void add(std::string name, Json value);

    /// The member of that name. If there is none, adds one with the value null.
    Json& operator[](std::string_view name);

    [[nodiscard]] std::string line() const;
    [[nodiscard]] std::string block() const;

  private:
    enum class Kind { text, object, array };
    struct Layout;

    explicit Json(Kind kind) : kind_(kind) {}
    void append(std::string& out, const Layout& layout, size_t depth) const;

    Kind kind_ = Kind::text;
    std::string text_ = "null";       // as it is written
    std::vector<std::string> names_;  // of an object's members
    std::vector<Json> values_;        // of an object's members, or an array's elements
};

struct Json::Member {
    std::string name;
    Json value;
};

using blkscope::json_string;

/// A foreign name for a terminal: as it is, or json_string() of it if that has escapes.
[[nodiscard]] std::string shown(const std::string& name);

}  // namespace blkscope::program
