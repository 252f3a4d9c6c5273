#pragma once

#include "base/result.hpp"
#include "json/element.hpp"
#include "json/number.hpp"
#include "json/parser.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace crab::json {

/// A JSON value that owns what it holds, for configuration, schemas and tests; messages on the hot
/// path stay Elements. Objects keep the order of their members and hold each name once. Equality is
/// that of JSON Schema: numbers by value (1 equals 1.0), objects without regard to order.
class Value {
public:
    using Member = std::pair<std::string, Value>;
    using Items = std::vector<Value>;
    using Members = std::vector<Member>;

    Value() = default;  ///< null
    Value(std::nullptr_t) {}
    Value(bool value) : data_(value) {}
    Value(int value) : data_(std::int64_t{value}) {}
    Value(std::int64_t value) : data_(value) {}
    Value(std::uint64_t value) : data_(value) {}
    Value(double value) : data_(value) {}
    Value(std::string value) : data_(std::move(value)) {}
    Value(std::string_view value) : data_(std::string(value)) {}
    Value(const char* value) : data_(std::string(value)) {}
    explicit Value(Element element);

    static Value array(Items items = {});
    static Value object(std::initializer_list<Member> members = {});

    /// Reads one text. Errors: those of Parser::parse(), and kInvalidArgs when an object has two
    /// members of one name.
    static Result<Value> parse(std::string_view text, Limits limits = {});
    /// Compact JSON that parses back into an equal value.
    std::string dump() const;
    void append_to(std::string& out) const;

    bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
    bool is_number() const;
    bool is_array() const { return std::holds_alternative<Items>(data_); }
    bool is_object() const { return std::holds_alternative<Members>(data_); }

    /// What it holds, or nothing when it is of another type.
    const bool* as_bool() const { return std::get_if<bool>(&data_); }
    const std::string* as_string() const { return std::get_if<std::string>(&data_); }
    const Items* as_array() const { return std::get_if<Items>(&data_); }
    const Members* as_object() const { return std::get_if<Members>(&data_); }
    Items* as_array() { return std::get_if<Items>(&data_); }
    Members* as_object() { return std::get_if<Members>(&data_); }
    std::optional<Number> as_number() const;
    std::optional<double> as_double() const;
    /// A whole number that fits, written as `3` or as `3.0`.
    std::optional<std::int64_t> as_int64() const;

    /// The member of that name; nullptr when absent or when this is not an object.
    const Value* find(std::string_view key) const;
    Value* find(std::string_view key);
    /// The text of that member; nullptr when absent or of another type.
    const std::string* find_string(std::string_view key) const;
    /// A copy of it; empty when there is none.
    std::string text(std::string_view key) const;
    /// Resolves an RFC 6901 pointer; "" is the value itself. nullptr when it does not resolve or is
    /// malformed.
    const Value* resolve(std::string_view pointer) const;

    /// Sets a member, in place when the name exists; null becomes an object first. Returns the
    /// member. Not for other types.
    Value& set(std::string_view key, Value value);
    /// Removes a member; false when there was none.
    bool erase(std::string_view key);
    /// Adds an item; null becomes an array first. Returns the item. Not for other types.
    Value& push_back(Value item);

    friend bool operator==(const Value& left, const Value& right);

private:
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Items,
                 Members>
        data_;
};

/// Whether a parsed value and an owned one are equal by JSON Schema's rules.
bool equal(Element element, const Value& value);
/// Whether two parsed values are equal by JSON Schema's rules.
bool equal(Element left, Element right);
/// Equal values have equal hashes, whatever their form.
std::size_t hash_of(Element element);
std::size_t hash_of(const Value& value);

}  // namespace crab::json
