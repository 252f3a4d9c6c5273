#include "bus/fleet_keys.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace crab::bus {
namespace {

constexpr std::size_t kRawSize = 32;
constexpr std::size_t kMostKeys = 8;
constexpr std::size_t kKeyAt = 3;  ///< of the envelope's bytes

std::string_view trimmed(std::string_view line) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    return line;
}

std::span<const std::uint8_t> first_bytes(const crypto::Sha256Digest& digest) {
    return std::span(digest).first<kMacSize>();
}

}  // namespace

FleetKeys::Key FleetKeys::derive(std::string_view raw, std::string_view fleet) {
    const std::string bus = fmt::format("crab fleet bus 1 {}", fleet);
    const crypto::Sha256Digest key = crypto::hmac_sha256(bytes_of(raw), bytes_of(bus));
    const std::string others = fmt::format("crab fleet 1 {}", fleet);
    return {.id = crypto::hmac_sha256(key, bytes_of("id")).front(),
            .bytes = Secret(key),
            .root = Secret(crypto::hmac_sha256(bytes_of(raw), bytes_of(others)))};
}

Result<FleetKeys> FleetKeys::parse(std::string_view file, std::string_view fleet) {
    FleetKeys keys;
    for (int number = 1; !file.empty(); ++number) {
        const std::size_t end = std::min(file.find('\n'), file.size());
        const std::string_view line = trimmed(file.substr(0, end));
        file.remove_prefix(std::min(end + 1, file.size()));
        if (line.empty() || line.starts_with('#')) continue;
        const auto raw = from_hex(line);
        if (!raw || raw->size() != kRawSize)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("line {} of the fleet's key file is not 64 hexadecimal digits; "
                                    "make a key with `openssl rand -hex 32`",
                                    number));
        if (keys.keys_.size() == kMostKeys)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("the fleet's key file has more than {} keys", kMostKeys));
        keys.keys_.push_back(derive(*raw, fleet));
    }
    if (keys.keys_.empty())
        return fail(ErrorCode::kInvalidArgs,
                    "the fleet's key file has no key; make one with `openssl rand -hex 32`");
    return keys;
}

std::vector<std::string> FleetKeys::names() const {
    constexpr std::size_t kShort = 16;
    std::vector<std::string> names;
    for (const Key& key : keys_) {
        const auto code = crypto::hmac_sha256(key.bytes.reveal(), bytes_of("name"));
        names.push_back(to_hex(code).substr(0, kShort));
    }
    return names;
}

std::vector<FleetKeys::Derived> FleetKeys::derived_for(std::string_view purpose) const {
    std::vector<Derived> derived;
    for (const Key& key : keys_)
        derived.emplace_back(crypto::hmac_sha256(key.root.reveal(), bytes_of(purpose)));
    return derived;
}

std::string FleetKeys::seal(Envelope envelope, std::string_view body) const {
    const Key& key = keys_.front();
    envelope.key = key.id;
    std::string message = to_wire(envelope, body);
    const crypto::Sha256Digest code = crypto::hmac_sha256(key.bytes.reveal(), bytes_of(message));
    message.append(reinterpret_cast<const char*>(code.data()), kMacSize);
    return message;
}

std::optional<std::string_view> FleetKeys::check(std::string_view message) const {
    if (message.size() < kHeadSize + kMacSize || message.size() > kMostMessage) return std::nullopt;
    const std::string_view signed_part = message.substr(0, message.size() - kMacSize);
    const auto code = bytes_of(message.substr(signed_part.size()));
    const auto id = static_cast<std::uint8_t>(message[kKeyAt]);
    for (const Key& key : keys_) {
        if (key.id != id) continue;
        const auto expected = crypto::hmac_sha256(key.bytes.reveal(), bytes_of(signed_part));
        if (crypto::constant_time_equal(first_bytes(expected), code)) return signed_part;
    }
    return std::nullopt;
}

}  // namespace crab::bus
