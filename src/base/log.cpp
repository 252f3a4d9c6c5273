#include "base/log.hpp"

#include "base/clock.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

namespace crab::log {
namespace {

std::atomic<Level> threshold{Level::kInfo};
std::atomic<Format> form{Format::kText};

/// Never destroyed: destructors that run after main() may still log.
spdlog::logger& logger() {
    static spdlog::logger& instance = *[] {
        auto* const made =
            new spdlog::logger("crab", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made->set_level(spdlog::level::trace);
        made->set_pattern("%v");
        return made;
    }();
    return instance;
}

std::string_view word(Level level) {
    switch (level) {
        case Level::kDebug: return "debug";
        case Level::kInfo: return "info";
        case Level::kWarn: return "warn";
        case Level::kError: return "error";
        case Level::kOff: return "off";
    }
    return "";
}

spdlog::level::level_enum to_spdlog(Level level) {
    switch (level) {
        case Level::kDebug: return spdlog::level::debug;
        case Level::kInfo: return spdlog::level::info;
        case Level::kWarn: return spdlog::level::warn;
        case Level::kError: return spdlog::level::err;
        case Level::kOff: return spdlog::level::off;
    }
    return spdlog::level::off;
}

/// Escapes control characters and quotes, so that one event stays one line.
void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    out += '"';
}

bool is_plain(std::string_view text) {
    if (text.empty()) return false;
    for (const char c : text) {
        if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f) return false;
    }
    return true;
}

std::string timestamp() { return to_rfc3339(std::chrono::system_clock::now()); }

}  // namespace

void configure(Level level, Format format) {
    threshold = level;
    form = format;
}

bool enabled(Level level) { return level >= threshold.load(std::memory_order_relaxed); }

void write(Level level, std::string_view event, std::initializer_list<Field> fields) {
    if (!enabled(level)) return;
    std::string line;
    if (form == Format::kJson) {
        line = fmt::format(R"({{"time":"{}","level":"{}","event":)", timestamp(), word(level));
        append_quoted(line, event);
        for (const Field& field : fields) {
            line += ',';
            append_quoted(line, field.key);
            line += ':';
            append_quoted(line, field.value);
        }
        line += '}';
    } else {
        line = fmt::format("{} {:5} {}", timestamp(), word(level), event);
        for (const Field& field : fields) {
            line += ' ';
            line += field.key;
            line += '=';
            if (is_plain(field.value)) {
                line += field.value;
            } else {
                append_quoted(line, field.value);
            }
        }
    }
    logger().log(to_spdlog(level), "{}", line);
    if (level >= Level::kWarn) logger().flush();
}

}  // namespace crab::log
