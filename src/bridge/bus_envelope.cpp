#include "bridge/bus_envelope.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <fcntl.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::bridge {
namespace {

using cetp::Envelope;

Envelope broken(std::string why) {
    return Envelope::error(cetp::code::kInternalError, std::move(why));
}

/// The text in a sealed memory file, as a success; what is wrong with it otherwise.
Envelope read_data_fd(int fd) {
    constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
    const int seals = ::fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & kSeals) != kSeals)
        return broken("the provider's data_fd is not sealed");
    struct stat status{};
    if (::fstat(fd, &status) != 0) return broken("the provider's data_fd cannot be read");
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > cetp::kMaxDataFd) return Envelope::too_large(size, cetp::kMaxDataFd);
    std::string text(size, '\0');
    for (std::size_t at = 0; at < size;) {
        const ssize_t got = ::pread(fd, text.data() + at, size - at, static_cast<off_t>(at));
        if (got <= 0) return broken("the provider's data_fd cannot be read");
        at += static_cast<std::size_t>(got);
    }
    if (!simdjson::validate_utf8(text.data(), text.size()))
        return broken("the provider's data_fd is not UTF-8");
    return Envelope::ok(std::move(text));
}

}  // namespace

Envelope read_bus_envelope(sd_bus_message* message) {
    if (sd_bus_message_has_signature(message, "a{sv}") == 0 ||
        sd_bus_message_enter_container(message, 'a', "{sv}") < 0) {
        return broken("the provider's reply is not an a{sv}");
    }
    cetp::Fields fields;
    std::optional<int> data_fd;
    while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
        const char *key = nullptr, *type = nullptr, *text = nullptr;
        std::uint32_t number = 0;
        int fd = -1;
        if (sd_bus_message_read(message, "s", &key) < 0 ||
            sd_bus_message_peek_type(message, nullptr, &type) < 0)
            return broken("the provider's reply is damaged");
        const std::string_view name = key, kind = type;
        if (kind == "s" && sd_bus_message_read(message, "v", "s", &text) > 0) {
            fields.insert_or_assign(std::string(name), std::string(text));
        } else if (name == "data") {
            return broken("the provider's `data` is not a string");
        } else if (kind == "u" && sd_bus_message_read(message, "v", "u", &number) > 0) {
            fields.insert_or_assign(std::string(name), number);
        } else if (kind == "h" && name == "data_fd" &&
                   sd_bus_message_read(message, "v", "h", &fd) > 0) {
            data_fd = fd;  // the message owns it
        } else if (sd_bus_message_skip(message, "v") < 0) {
            return broken("the provider's reply is damaged");
        }
        if (sd_bus_message_exit_container(message) < 0)
            return broken("the provider's reply is damaged");
    }
    Envelope envelope = cetp::read_envelope(fields);
    return envelope.success && data_fd ? read_data_fd(*data_fd) : envelope;
}

Delivery bus_error_outcome(std::string_view error_name, std::chrono::nanoseconds waited) {
    constexpr std::string_view kPrefix = "org.freedesktop.DBus.Error.";
    const std::string_view name =
        error_name.starts_with(kPrefix) ? error_name.substr(kPrefix.size()) : error_name;
    const auto is_one_of = [name](std::initializer_list<std::string_view> names) {
        return std::ranges::find(names, name) != names.end();
    };
    if (is_one_of({"Timeout", "TimedOut"})) return cetp::Envelope::no_answer_within(waited);
    if (is_one_of({"ServiceUnknown", "NameHasNoOwner", "NoReply", "Disconnected"}) ||
        name.starts_with("Spawn."))
        return std::nullopt;
    if (is_one_of({"AccessDenied", "AuthFailed", "InteractiveAuthorizationRequired"})) {
        return Envelope::error(cetp::code::kPermissionDenied,
                               "the bus does not let this call through");
    }
    if (name == "LimitsExceeded")
        return Envelope::error(cetp::code::kRateLimited,
                               "the bus has too much to do; try again in a moment");
    Envelope failed =
        broken(fmt::format("the provider failed with {}", cetp::clean_text(error_name)));
    failed.not_spoken =
        is_one_of({"UnknownMethod", "UnknownObject", "UnknownInterface", "InvalidArgs"});
    return failed;
}

}  // namespace crab::bridge
