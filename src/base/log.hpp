#pragma once

#include "base/log_part.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace crab::log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };
enum class Format : std::uint8_t { kText, kJson };
std::string_view name_of(Level level);
std::optional<Level> find_level(std::string_view name);

/// One `key=value` of a log line. Values are text; a Secret does not convert to one.
struct Field {
    std::string_view key;
    std::string value;

    template <class T>
    Field(std::string_view k, const T& v) : key(k), value(fmt::format("{}", v)) {}
};

/// One event that is written.
struct Line {
    Level level;
    std::string_view part;  ///< see part_of()
    std::string_view event;
    std::span<const Field> fields;
};

/// Levels of parts; a part without one has that of the longest part above it, `adapters/mcp` of
/// `adapters/mcp/server`, else the general one.
using PartLevels = std::map<std::string, Level, std::less<>>;

/// Which lines are written: of each part those of its level and above. Thread-safe.
void set_levels(Level general, PartLevels parts = {});
/// The form of all lines on standard error.
void set_format(Format format);
/// One level for all parts, and the form.
void configure(Level level, Format format);

/// Takes lines, from any thread; false: not this one, which then goes to standard error.
using Sink = std::function<bool(const Line&)>;
/// Where lines in text form go; null: to standard error.
void set_sink(std::shared_ptr<const Sink> sink);
/// The line in text form, without its time and level.
std::string to_text(const Line& line);

using Where = std::source_location;

/// Whether the part from which this is called writes lines of that level.
bool enabled(Level level, Where where = Where::current());
/// One line per event: a short fixed sentence and its fields (`call_id`, `peer_id`, `session_id`,
/// `trace_id`, …). Thread-safe.
void write(Level level, std::string_view event, std::initializer_list<Field> fields = {},
           Where where = Where::current());

inline void debug(std::string_view event, std::initializer_list<Field> fields = {},
                  Where where = Where::current()) {
    write(Level::kDebug, event, fields, where);
}
inline void info(std::string_view event, std::initializer_list<Field> fields = {},
                 Where where = Where::current()) {
    write(Level::kInfo, event, fields, where);
}
inline void warn(std::string_view event, std::initializer_list<Field> fields = {},
                 Where where = Where::current()) {
    write(Level::kWarn, event, fields, where);
}
inline void error(std::string_view event, std::initializer_list<Field> fields = {},
                  Where where = Where::current()) {
    write(Level::kError, event, fields, where);
}

}  // namespace crab::log
