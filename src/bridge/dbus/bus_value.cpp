#include "bridge/dbus/bus_value.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include <simdjson.h>
#include <systemd/sd-bus.h>

namespace crab::bridge {
namespace {

using json::Value;

std::unexpected<Error> damaged() {
    return fail(ErrorCode::kInvalidArgs, "a message of the bus is damaged");
}

template <class T>
Result<T> read_basic(sd_bus_message* message, char type) {
    T value{};
    if (sd_bus_message_read_basic(message, type, &value) <= 0) return damaged();
    return value;
}

template <class T, class Shown = T>
Result<Value> basic(sd_bus_message* message, char type) {
    const auto value = read_basic<T>(message, type);
    if (!value) return fail(value.error());
    return Value(static_cast<Shown>(*value));
}

/// Values keep whole numbers signed where they fit.
Result<Value> read_big(sd_bus_message* message) {
    const auto value = read_basic<std::uint64_t>(message, 't');
    if (!value) return fail(value.error());
    return std::in_range<std::int64_t>(*value) ? Value(static_cast<std::int64_t>(*value))
                                               : Value(*value);
}

Result<Value> read_bytes(sd_bus_message* message) {
    const void* bytes = nullptr;
    std::size_t size = 0;
    if (sd_bus_message_read_array(message, 'y', &bytes, &size) < 0) return damaged();
    std::string_view text(static_cast<const char*>(bytes), size);
    if (text.ends_with('\0')) text.remove_suffix(1);
    if (simdjson::validate_utf8(text.data(), text.size())) return Value(text);
    Value numbers = Value::array();
    for (const char byte : text)
        numbers.push_back(static_cast<int>(static_cast<unsigned char>(byte)));
    return numbers;
}

Result<Value> read_value(sd_bus_message* message);

/// What is left in the container that was entered, or in the message.
Result<Value> read_rest(sd_bus_message* message) {
    Value values = Value::array();
    while (true) {
        const int at_end = sd_bus_message_at_end(message, 0);
        if (at_end < 0) return damaged();
        if (at_end > 0) return values;
        auto value = read_value(message);
        if (!value) return value;
        values.push_back(*std::move(value));
    }
}

Result<Value> read_container(sd_bus_message* message, char type, const char* contents) {
    if (sd_bus_message_enter_container(message, type, contents) < 0) return damaged();
    auto values = read_rest(message);
    if (values && sd_bus_message_exit_container(message) < 0) return damaged();
    return values;
}

Result<Value> read_array(sd_bus_message* message, std::string_view contents) {
    if (contents == "y") return read_bytes(message);
    auto items = read_container(message, 'a', std::string(contents).c_str());
    if (!items || !contents.starts_with('{') || (contents[1] != 's' && contents[1] != 'o'))
        return items;
    Value object = Value::object();
    for (Value& entry : *items->as_array()) {
        Value::Items& pair = *entry.as_array();
        object.set(*pair[0].as_string(), std::move(pair[1]));
    }
    return object;
}

Result<Value> read_value(sd_bus_message* message) {
    char type = 0;
    const char* contents = nullptr;
    if (sd_bus_message_peek_type(message, &type, &contents) <= 0) return damaged();
    switch (type) {
        case 'y': return basic<std::uint8_t, int>(message, type);
        case 'b': return basic<int, bool>(message, type);
        case 'n': return basic<std::int16_t, int>(message, type);
        case 'q': return basic<std::uint16_t, int>(message, type);
        case 'i': return basic<std::int32_t, std::int64_t>(message, type);
        case 'u': return basic<std::uint32_t, std::int64_t>(message, type);
        case 'x': return basic<std::int64_t>(message, type);
        case 't': return read_big(message);
        case 'd': return basic<double>(message, type);
        case 's':
        case 'o':
        case 'g': return basic<const char*>(message, type);
        case 'a': return read_array(message, contents);
        case 'r':
        case 'e': return read_container(message, type, contents);
        case 'v': {
            auto held = read_container(message, type, contents);
            if (!held || held->as_array()->empty()) return damaged();
            return std::move(held->as_array()->front());
        }
        default:  // a descriptor, or what a later bus may invent
            if (sd_bus_message_skip(message, nullptr) < 0) return damaged();
            return Value();
    }
}

/// Takes the first complete type off a signature.
std::string_view take_type(std::string_view& signature) {
    std::size_t end = 0;
    while (end < signature.size() && signature[end] == 'a') ++end;
    int open = 0;
    do {
        const char c = end < signature.size() ? signature[end] : '\0';
        open += (c == '{' || c == '(') ? 1 : (c == '}' || c == ')') ? -1 : 0;
        ++end;
    } while (open > 0 && end < signature.size());
    const std::string_view type = signature.substr(0, end);
    signature.remove_prefix(type.size());
    return type;
}

bool append_number(sd_bus_message* message, char type, std::int64_t number) {
    switch (type) {
        case 'y':
            return sd_bus_message_append(message, "y", static_cast<std::uint8_t>(number)) >= 0;
        case 'i':
            return sd_bus_message_append(message, "i", static_cast<std::int32_t>(number)) >= 0;
        case 'u':
            return sd_bus_message_append(message, "u", static_cast<std::uint32_t>(number)) >= 0;
        case 'x': return sd_bus_message_append(message, "x", number) >= 0;
        default:
            return sd_bus_message_append(message, "t", static_cast<std::uint64_t>(number)) >= 0;
    }
}

bool append_value(sd_bus_message* message, std::string_view type, const Value& value);

bool append_variant(sd_bus_message* message, const Value& value) {
    const char* type = value.as_string() != nullptr ? "s" : value.as_bool() != nullptr ? "b" : "x";
    return sd_bus_message_open_container(message, 'v', type) >= 0 &&
           append_value(message, type, value) && sd_bus_message_close_container(message) >= 0;
}

bool append_array(sd_bus_message* message, std::string_view element, const Value& value) {
    if (sd_bus_message_open_container(message, 'a', std::string(element).c_str()) < 0) return false;
    if (element.starts_with('{')) {
        const std::string pair(element.substr(1, element.size() - 2));
        if (!value.is_object()) return false;
        for (const auto& [key, held] : *value.as_object()) {
            if (sd_bus_message_open_container(message, 'e', pair.c_str()) < 0 ||
                sd_bus_message_append_basic(message, pair[0], key.c_str()) < 0)
                return false;
            if (!append_value(message, std::string_view(pair).substr(1), held) ||
                sd_bus_message_close_container(message) < 0)
                return false;
        }
    } else {
        if (!value.is_array()) return false;
        for (const Value& item : *value.as_array()) {
            if (!append_value(message, element, item)) return false;
        }
    }
    return sd_bus_message_close_container(message) >= 0;
}

bool append_value(sd_bus_message* message, std::string_view type, const Value& value) {
    switch (type.empty() ? '\0' : type[0]) {
        case 's':
        case 'o':
        case 'g':
            return value.as_string() != nullptr &&
                   sd_bus_message_append_basic(message, type[0], value.as_string()->c_str()) >= 0;
        case 'b':
            return value.as_bool() != nullptr &&
                   sd_bus_message_append(message, "b", *value.as_bool() ? 1 : 0) >= 0;
        case 'd':
            return value.as_double() &&
                   sd_bus_message_append(message, "d", *value.as_double()) >= 0;
        case 'y':
        case 'i':
        case 'u':
        case 'x':
        case 't': return value.as_int64() && append_number(message, type[0], *value.as_int64());
        case 'v': return append_variant(message, value);
        case 'a': return append_array(message, type.substr(1), value);
        default: return false;
    }
}

}  // namespace

Result<Value> read_values(sd_bus_message* message) { return read_rest(message); }

bool append_values(sd_bus_message* message, std::string_view signature,
                   const Value::Items& values) {
    for (const Value& value : values) {
        if (!append_value(message, take_type(signature), value)) return false;
    }
    return signature.empty();
}

}  // namespace crab::bridge
