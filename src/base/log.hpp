#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace crab::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };
enum class Format { kText, kJson };

/// One `key=value` of a log line. Values are text; a Secret does not convert to one.
struct Field {
    std::string_view key;
    std::string value;

    template <class T>
    Field(std::string_view k, const T& v) : key(k), value(fmt::format("{}", v)) {}
};

/// Sets the threshold and format of all lines, which go to standard error. Call it once, before
/// threads start.
void configure(Level level, Format format);
bool enabled(Level level);
/// One line per event: a short fixed sentence and its fields (`call_id`, `peer_id`, `session_id`,
/// `trace_id`, …). Thread-safe.
void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});

inline void debug(std::string_view event, std::initializer_list<Field> fields = {}) {
    write(Level::kDebug, event, fields);
}
inline void info(std::string_view event, std::initializer_list<Field> fields = {}) {
    write(Level::kInfo, event, fields);
}
inline void warn(std::string_view event, std::initializer_list<Field> fields = {}) {
    write(Level::kWarn, event, fields);
}
inline void error(std::string_view event, std::initializer_list<Field> fields = {}) {
    write(Level::kError, event, fields);
}

}  // namespace crab::log
