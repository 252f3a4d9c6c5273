#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace crab::bus {

template <std::unsigned_integral T>
void append_little_endian(std::string& out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
        out.push_back(static_cast<char>(static_cast<unsigned char>(value >> 8 * i)));
}

/// Takes little-endian numbers off the front of a text. Who takes more than there is gets 0.
class Cursor {
public:
    explicit Cursor(std::string_view text) : rest_(text) {}
    std::size_t left() const { return rest_.size(); }

    template <std::unsigned_integral T>
    T take() {
        if (rest_.size() < sizeof(T)) {
            rest_ = {};
            return 0;
        }
        T value = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i)
            value = static_cast<T>(
                value | static_cast<T>(T{static_cast<unsigned char>(rest_[i])} << 8 * i));
        rest_.remove_prefix(sizeof(T));
        return value;
    }

private:
    std::string_view rest_;
};

}  // namespace crab::bus
