#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crab::json {

/// Walks the members of an object, or the items of an array, and gives each value as the bytes that
/// came, ready to be spliced into another text: what Root::raw_member() is for one member at the
/// top. The text is one that a Parser has accepted; of any other text the parts mean nothing, but
/// nothing outside of it is read and the walk ends.
class RawParts {
public:
    explicit RawParts(std::string_view container);

    /// Goes to the next part; false at the end, and for a text that is neither object nor array.
    bool next();
    /// The member's name without its escapes, a view until the following next(); empty for an item.
    std::string_view name() const { return name_; }
    /// The member's name as it came, with its quotes.
    std::string_view raw_name() const { return raw_name_; }
    /// The value as it came, without the white space around it; a view into the text.
    std::string_view value() const { return value_; }
    /// The parts of the value.
    RawParts inside() const { return RawParts(value_); }
    /// As TokenParts has it; here the end is known already.
    void passed(const RawParts&) {}

private:
    std::string_view rest_;
    std::string_view raw_name_, name_, value_;
    std::string unescaped_;
    bool is_object_ = false;
};

/// The value of the first member of that name, as it came; nothing when absent or when the text is
/// not an object.
std::optional<std::string_view> find_raw(std::string_view object, std::string_view name);
/// The text that a JSON string stands for, without quotes and escapes; nothing for another value.
std::optional<std::string> read_raw_string(std::string_view raw);
/// The same for a member that is a string.
std::optional<std::string> find_raw_string(std::string_view object, std::string_view name);

/// Appends a JSON text without its line ends, which can only stand between its tokens: for wires
/// that take a line as a message. Everything else stays as it came.
void append_one_line(std::string& out, std::string_view json);
/// Appends a JSON text without any white space between its tokens.
void append_compact(std::string& out, std::string_view json);

}  // namespace crab::json
