// Result<T>: a value, or the reason why there is none. A function returns it for a failure that its
// caller decides on.
//
//     Result<Request> parse_request(std::span<const std::byte> bytes);
//
//     const auto request = parse_request(received);
//     if (!request) return close(request.error().message());
//     serve(*request);
//
// The reason is an error number, as std::error_code, unless E names another type. A result that is
// not looked at is a warning of the compiler.
//
// Absence without a failure is std::optional. A failed set-up throws std::system_error.
//
// Ownership: the result owns its value, and its reason.
// Threads:   as for T.
// Errors:    reading the value of a failure, or the reason of a success, aborts.
#pragma once

#include <cassert>
#include <system_error>
#include <utility>
#include <variant>

namespace blkscope {

template <class T, class E = std::error_code>
class [[nodiscard]] Result {
  public:
    /// Both are implicit, so that a function returns a value or a reason alike.
    constexpr Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    constexpr Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] constexpr bool has_value() const { return state_.index() == 0; }
    constexpr explicit operator bool() const { return has_value(); }

    [[nodiscard]] constexpr T& operator*() { return value_of(*this); }
    [[nodiscard]] constexpr const T& operator*() const { return value_of(*this); }
    [[nodiscard]] constexpr T* operator->() { return &value_of(*this); }
    [[nodiscard]] constexpr const T* operator->() const { return &value_of(*this); }

    /// The reason of a failure.
    [[nodiscard]] constexpr const E& error() const {
        assert(!has_value());
        return std::get<1>(state_);
    }

  private:
    template <class Self>
    static constexpr auto& value_of(Self& self) {
        assert(self.has_value());
        return std::get<0>(self.state_);
    }

    std::variant<T, E> state_;
};

/// The reason with this errno.
[[nodiscard]] inline std::error_code os_error(int number) {
    return {number, std::generic_category()};
}

}  // namespace blkscope
