#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "bus/envelope.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::bus {

/// Signs messages of a fleet and checks them: HMAC-SHA256 over the whole message, 16 bytes of it,
/// under a key that is derived from one of the fleet's file and the fleet's name. Immutable.
class FleetKeys {
public:
    /// The text of a key file: on each line 64 hexadecimal digits; empty lines and those that begin
    /// with `#` do not count. The first key signs, all are accepted. Errors: kInvalidArgs, with the
    /// number of the line.
    static Result<FleetKeys> parse(std::string_view file, std::string_view fleet);

    /// Sets the envelope's key and returns the message with its code.
    std::string seal(Envelope envelope, std::string_view body) const;
    /// The message without its code; nothing if no key of the file has made that.
    std::optional<std::string_view> check(std::string_view message) const;
    std::size_t size() const { return keys_.size(); }
    /// A name for each key, in their order, which says nothing of the key itself.
    std::vector<std::string> names() const;
    using Derived = Secret<std::array<std::uint8_t, 32>>;
    /// For another purpose than messages one key of each, in their order, which says nothing of the
    /// key itself.
    std::vector<Derived> derived_for(std::string_view purpose) const;

private:
    struct Key {
        std::uint8_t id = 0;  ///< of the key itself, so that files may list keys in any order
        Derived bytes;  ///< of messages
        Derived root;  ///< of other purposes
    };
    static Key derive(std::string_view raw, std::string_view fleet);

    std::vector<Key> keys_;
};

}  // namespace crab::bus
