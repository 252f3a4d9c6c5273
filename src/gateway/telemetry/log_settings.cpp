#include "gateway/telemetry/log_settings.hpp"

#include "base/closest_name.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "net/loop/journal.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::string_view kEveryOther = "*";
constexpr std::string_view kConfigured = "configured";

std::string no_such_part(std::string_view part) {
    const std::vector<std::string> known(log::kParts.begin(), log::kParts.end());
    const std::string_view meant = closest_name(part, known);
    return meant.empty() ? "/part: no part has that name; GET lists them"
                         : fmt::format("/part: no part has that name; did you mean {}?", meant);
}

void append_level(json::Writer& writer, std::string_view part, log::Level level, bool set) {
    writer.begin_object().key("part").string(part).key("level").string(name_of(level));
    writer.key("from").string(set ? "operator" : "configuration").end_object();
}

}  // namespace

std::span<const ConfigKey> LogSettings::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("gateway.log", [](auto& c) -> auto& { return c.gateway.log; })};
    return kKeys;
}

Result<void> LogSettings::start() {
    log::set_sink(net::journal_of_standard_error());
    take(context_.config.gateway.log);
    return {};
}

Result<Component::Change> LogSettings::prepare(const config::GatewayConfig& next) {
    return [this, options = next.gateway.log] { take(options); };
}

void LogSettings::take(const config::LogOptions& options) {
    const std::scoped_lock lock(mutex_);
    configured_ = options;
    general_.reset();
    parts_.clear();
    apply();
}

void LogSettings::apply() const {
    log::PartLevels parts = configured_.levels;
    for (const auto& [part, level] : parts_) parts.insert_or_assign(part, level);
    log::set_levels(general_.value_or(configured_.level), std::move(parts));
    log::set_format(configured_.format);
}

void LogSettings::add_routes(const ListenerRoutes& table) {
    if (table.kind != ListenerKind::kAdmin) return;
    using Request = net::Routes<core::PrincipalRef>::Request;
    table.routes.add({.path = "/v1/admin/log",
                      .summary = "How much is logged, and of which parts",
                      .answers = {{200, "log_levels"}}},
                     [this](const Request& request) { show(request.exchange); });
    table.routes.add({.method = net::Method::kPatch,
                      .path = "/v1/admin/log",
                      .summary = "Log more or less, until a reload or the end of the gateway",
                      .request = "log_level",
                      .answers = {{200, "log_levels"}},
                      .refusals = {400}},
                     [this](const Request& request) { change(request.exchange); });
}

std::string LogSettings::told() const {
    const std::scoped_lock lock(mutex_);
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("format");
    writer.string(configured_.format == log::Format::kJson ? "json" : "text");
    writer.key("levels").begin_array();
    append_level(writer, kEveryOther, general_.value_or(configured_.level), general_.has_value());
    for (const auto& [part, level] : configured_.levels)
        if (!parts_.contains(part)) append_level(writer, part, level, false);
    for (const auto& [part, level] : parts_) append_level(writer, part, level, true);
    writer.end_array().key("parts").begin_array();
    for (const std::string_view part : log::kParts) writer.string(part);
    writer.end_array().end_object();
    return out;
}

void LogSettings::show(net::HttpExchange& exchange) const {
    exchange.respond(200, net::kJsonType, told());
}

void LogSettings::change(net::HttpExchange& exchange) {
    json::Parser parser;
    const auto body = parser.parse(exchange.request().body);
    if (!body) return exchange.respond_error(400, "INVALID_ARGS", body.error().message);
    const auto part = json::get_string(body->element(), "part").value_or(kEveryOther);
    const auto word = json::get_string(body->element(), "level").value_or("");
    const auto level = log::find_level(word);
    if (!level && word != kConfigured)
        return exchange.respond_error(400, "INVALID_ARGS",
                                      "/level: one of debug, info, warn, error, off, configured");
    if (part != kEveryOther && !log::is_part(part))
        return exchange.respond_error(400, "INVALID_ARGS", no_such_part(part));
    {
        const std::scoped_lock lock(mutex_);
        if (part == kEveryOther)
            general_ = level;
        else if (level)
            parts_.insert_or_assign(std::string(part), *level);
        else
            parts_.erase(std::string(part));
        apply();
    }
    exchange.respond(200, net::kJsonType, told());
}

}  // namespace crab::gateway
