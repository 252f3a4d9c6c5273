#include "net/loop/journal.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::net {
namespace {

/// syslog's severities.
int priority_of(log::Level level) {
    switch (level) {
        case log::Level::kDebug: return 7;
        case log::Level::kInfo: return 6;
        case log::Level::kWarn: return 4;
        case log::Level::kError:
        case log::Level::kOff: return 3;
    }
    return 3;
}

/// `call_id` is CRAB_CALL_ID: capitals, digits and underscores are all that a name may have.
std::string name_of_field(std::string_view key) {
    std::string name = "CRAB_";
    for (const char c : key) {
        const bool small = c >= 'a' && c <= 'z';
        const bool good = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name += small ? static_cast<char>(c - 'a' + 'A') : good ? c : '_';
    }
    return name;
}

/// `NAME=value`, or of a value with line breaks its name, its length in eight bytes, little-endian,
/// and itself.
void append_field(std::string& entry, std::string_view name, std::string_view value) {
    entry += name;
    if (value.contains('\n')) {
        entry += '\n';
        auto size = static_cast<std::uint64_t>(value.size());
        for (int i = 0; i < 8; ++i, size >>= 8) entry += static_cast<char>(size & 0xff);
    } else {
        entry += '=';
    }
    entry += value;
    entry += '\n';
}

bool is_stream(std::string_view stream, int descriptor) {
    struct stat status{};
    return !stream.empty() && ::fstat(descriptor, &status) == 0 &&
           stream == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

/// Nothing when it is too long for one.
std::optional<sockaddr_un> address_of(std::string_view path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return std::nullopt;
    path.copy(address.sun_path, path.size());
    return address;
}

}  // namespace

std::optional<Journal> Journal::open(std::string_view stream, int descriptor,
                                     std::string_view socket) {
    const auto address = address_of(socket);
    if (!is_stream(stream, descriptor) || !address) return std::nullopt;
    const Descriptor tried(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    Descriptor made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!made.is_open() ||
        ::connect(tried.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
        return std::nullopt;
    return Journal(std::move(made), socket);
}

std::string Journal::entry_of(const log::Line& line) {
    std::string entry;
    append_field(entry, "MESSAGE", log::to_text(line));
    append_field(entry, "PRIORITY", fmt::format("{}", priority_of(line.level)));
    append_field(entry, "SYSLOG_IDENTIFIER", "crab");
    append_field(entry, "CRAB_PART", line.part);
    append_field(entry, "CRAB_EVENT", line.event);
    for (const log::Field& field : line.fields)
        append_field(entry, name_of_field(field.key), field.value);
    return entry;
}

bool Journal::send(const log::Line& line) const {
    const std::string entry = entry_of(line);
    // Without a wait: a journal that is behind may not hold up an event loop. The line then goes to
    // standard error, which is the journal's too.
    const auto address = address_of(path_);
    return ::sendto(socket_.get(), entry.data(), entry.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                    reinterpret_cast<const sockaddr*>(&*address),
                    sizeof *address) == static_cast<ssize_t>(entry.size());
}

std::shared_ptr<const log::Sink> journal_of_standard_error() {
    const char* const stream = std::getenv("JOURNAL_STREAM");
    auto journal = Journal::open(stream != nullptr ? stream : "", STDERR_FILENO);
    if (!journal) return nullptr;
    return std::make_shared<const log::Sink>(
        [kept = std::make_shared<const Journal>(std::move(*journal))](const log::Line& line) {
            return kept->send(line);
        });
}

}  // namespace crab::net
