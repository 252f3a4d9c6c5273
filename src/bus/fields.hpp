#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::bus {

/// Writes the body of a message: fields, each a number (u8), a length (u32) and bytes. What is
/// empty or 0 is left out, so an absent field is empty or 0; a list is one field for each entry.
class FieldWriter {
public:
    void add(std::uint8_t number, std::string_view text) {
        if (!text.empty()) add_always(number, text);
    }
    /// An entry of a list is there even if it is empty.
    void add_always(std::uint8_t number, std::string_view text);
    void add_number(std::uint8_t number, std::uint64_t value);
    void add_flag(std::uint8_t number, bool value) { add_number(number, value ? 1 : 0); }
    std::string take() { return std::move(out_); }
    std::size_t size() const { return out_.size(); }

private:
    std::string out_;
};

/// Reads such a body. Fields with unknown numbers are left to the caller to skip, so that a newer
/// sender may add some.
class FieldReader {
public:
    explicit FieldReader(std::string_view body) : rest_(body) {}

    struct Field {
        std::uint8_t number = 0;
        std::string_view bytes;  ///< of the body
        /// The number that it is; 0 if it has not the eight bytes of one.
        std::uint64_t value() const;
        bool flag() const { return value() == 1; }
    };
    /// Nothing at the end, or when the rest is no field: broken() tells them apart.
    std::optional<Field> next();
    bool broken() const { return broken_; }

private:
    std::string_view rest_;
    bool broken_ = false;
};

}  // namespace crab::bus
