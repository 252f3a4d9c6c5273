#pragma once

#include "base/clock.hpp"
#include "push/push_message.hpp"

#include <cstdint>
#include <string>

namespace crab::push {

/// What a browser is told of.
enum class Purpose : std::uint8_t {
    kQuestions,  ///< calls that wait for a person
    kWaking,     ///< calls that wait for the device that it is
};

/// A browser that wants to be told something while no page of it is open, and through which push
/// service.
struct Subscription {
    std::string id;          ///< 16 hexadecimal characters, with `w` before them for kWaking
    std::string principal;   ///< whose it is
    std::string credential;  ///< ends with it; empty: of a user of this machine
    std::string endpoint;    ///< an URL that nobody else knows
    ReceiverKeys keys;
    SystemTime created_at;

    Purpose purpose() const { return id.starts_with('w') ? Purpose::kWaking : Purpose::kQuestions; }
};

}  // namespace crab::push
