#include "base/log.hpp"

#include "base/clock.hpp"
#include "base/published.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>

namespace crab::log {
namespace {

struct Levels {
    Level general = Level::kInfo;
    PartLevels parts;

    Level of(std::string_view part) const {
        for (; !part.empty() && !parts.empty();
             part = part.substr(0, part.find_last_of('/') == part.npos ? 0 : part.rfind('/'))) {
            if (const auto own = parts.find(part); own != parts.end()) return own->second;
        }
        return general;
    }
};

/// Never destroyed, as the logger.
struct State {
    std::atomic<Level> lowest{Level::kInfo};  ///< of all levels: below it nothing is looked at
    Published<Levels> levels{std::make_shared<const Levels>()};
    Published<Sink> sink{nullptr};
    std::atomic<Format> form{Format::kText};
};
State& state() {
    static State& made = *new State;
    return made;
}

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

/// ` key=value` for each.
void append_fields(std::string& out, std::span<const Field> fields) {
    for (const Field& field : fields) {
        out.append(" ").append(field.key) += '=';
        if (is_plain(field.value)) {
            out += field.value;
        } else {
            append_quoted(out, field.value);
        }
    }
}

std::string json_line(const Line& line) {
    std::string out = fmt::format(R"({{"time":"{}","level":"{}","part":"{}","event":)", timestamp(),
                                  name_of(line.level), line.part);
    append_quoted(out, line.event);
    for (const Field& field : line.fields) {
        out += ',';
        append_quoted(out, field.key);
        out += ':';
        append_quoted(out, field.value);
    }
    return out += '}';
}

}  // namespace

std::string_view name_of(Level level) {
    switch (level) {
        case Level::kDebug: return "debug";
        case Level::kInfo: return "info";
        case Level::kWarn: return "warn";
        case Level::kError: return "error";
        case Level::kOff: return "off";
    }
    return "";
}

std::optional<Level> find_level(std::string_view name) {
    for (const Level level :
         {Level::kDebug, Level::kInfo, Level::kWarn, Level::kError, Level::kOff})
        if (name_of(level) == name) return level;
    return std::nullopt;
}

void set_levels(Level general, PartLevels parts) {
    Level lowest = general;
    for (const auto& [part, level] : parts) lowest = std::min(lowest, level);
    state().levels.set(std::make_shared<const Levels>(Levels{general, std::move(parts)}));
    state().lowest = lowest;
}

void set_format(Format format) { state().form = format; }

void configure(Level level, Format format) {
    set_levels(level);
    set_format(format);
}

void set_sink(std::shared_ptr<const Sink> sink) { state().sink.set(std::move(sink)); }

std::string to_text(const Line& line) {
    std::string text(line.event);
    append_fields(text, line.fields);
    return text;
}

bool enabled(Level level, Where where) {
    if (level < state().lowest.load(std::memory_order_relaxed)) return false;
    const auto levels = state().levels.get();
    return level >= levels->of(part_of(where.file_name()));
}

void write(Level level, std::string_view event, std::initializer_list<Field> fields, Where where) {
    if (!enabled(level, where)) return;
    const Line line{level, part_of(where.file_name()), event,
                    std::span(fields.begin(), fields.size())};
    const bool as_json = state().form == Format::kJson;
    const auto sink = as_json ? nullptr : state().sink.get();
    if (sink && (*sink)(line)) return;
    const std::string text =
        as_json ? json_line(line)
                : fmt::format("{} {:5} {}", timestamp(), name_of(level), to_text(line));
    logger().log(to_spdlog(level), "{}", text);
    if (level >= Level::kWarn) logger().flush();
}

}  // namespace crab::log
