#pragma once

#include "base/result.hpp"
#include "bus/fields.hpp"
#include "fleet/messages.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::fleet {

// What the bodies of all messages between nodes share.

inline std::unexpected<Error> unreadable(const char* what) {
    return fail(ErrorCode::kInvalidArgs, what);
}

/// The forward id, in every body that has one.
inline constexpr std::uint8_t kIdField = 1;
void add_id(bus::FieldWriter& body, ForwardId id);
std::optional<ForwardId> id_of(std::string_view bytes);

/// Calls `field` for each field; false: the body is broken, or `field` said so.
template <class F>
bool each_field(std::string_view body, F&& field) {
    bus::FieldReader reader(body);
    while (const auto one = reader.next())
        if (!field(*one)) return false;
    return !reader.broken();
}

/// Reads the id of a body and hands its other fields on. Nothing: broken, or without an id.
template <class F>
std::optional<ForwardId> read_with_id(std::string_view body, F&& other) {
    std::optional<ForwardId> id;
    const bool whole = each_field(body, [&](const bus::FieldReader::Field& field) {
        if (field.number != kIdField) {
            other(field);
            return true;
        }
        id = id_of(field.bytes);
        return id.has_value();
    });
    return whole ? id : std::nullopt;
}

}  // namespace crab::fleet
