#pragma once

#include "base/descriptor.hpp"
#include "base/log.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::net {

/// systemd's journal, by its own protocol: a line keeps its fields, so that `journalctl
/// CRAB_CALL_ID=…` finds those of one call. Thread-safe. Source:
/// https://systemd.io/JOURNAL_NATIVE_PROTOCOL/
class Journal {
public:
    static constexpr std::string_view kSocket = "/run/systemd/journal/socket";

    /// Nothing when `descriptor` is not the stream that `stream` names (the variable
    /// JOURNAL_STREAM, `<device>:<inode>`), or the journal's socket does not answer.
    static std::optional<Journal> open(std::string_view stream, int descriptor,
                                       std::string_view socket = kSocket);

    /// False when the journal does not take the line, such as one that is too long.
    bool send(const log::Line& line) const;
    /// The line as an entry: MESSAGE, PRIORITY, SYSLOG_IDENTIFIER, CRAB_PART, and each field as
    /// CRAB_ and its key in capitals.
    static std::string entry_of(const log::Line& line);

private:
    Journal(Descriptor socket, std::string_view path) : socket_(std::move(socket)), path_(path) {}

    Descriptor socket_;
    std::string path_;  ///< given with each line: a journal that has started again is another one
};

/// Where the lines of a program go: to the journal if standard error does, as under systemd. Null
/// otherwise.
std::shared_ptr<const log::Sink> journal_of_standard_error();

}  // namespace crab::net
