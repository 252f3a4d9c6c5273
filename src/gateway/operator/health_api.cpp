#include "gateway/operator/health_api.hpp"

#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "setup/machine_checks.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include <unistd.h>

namespace crab::gateway {
namespace {

using setup::MachineCheck;

void append_check(json::Writer& writer, const MachineCheck& check) {
    writer.begin_object().key("id").string(check.name);
    writer.key("state").string(name_of(check.state)).key("text").string_lossy(check.text);
    if (!check.fix.empty()) writer.key("fix").string_lossy(check.fix);
    writer.end_object();
}

MachineCheck check_of(const admin::Unhealthy& component) {
    return {.name = std::string(component.component),
            .state = MachineCheck::State::kFail,
            .text = component.reason,
            .fix = "see the gateway's log and the disk"};
}

std::vector<setup::CertificateCheck> certificates_of(const config::GatewayConfig& config,
                                                     SystemTime now) {
    std::vector<setup::CertificateCheck> all;
    if (config.listen.tls)
        all.push_back(setup::check_certificate("listen.tls", *config.listen.tls, now));
    if (config.grpc.tls) all.push_back(setup::check_certificate("grpc.tls", *config.grpc.tls, now));
    return all;
}

void append_certificate(json::Writer& writer, const setup::CertificateCheck& certificate) {
    writer.begin_object().key("name").string(certificate.check.name);
    writer.key("state").string(name_of(certificate.check.state));
    writer.key("text").string_lossy(certificate.check.text);
    if (certificate.not_after) writer.key("not_after").string(to_rfc3339(*certificate.not_after));
    writer.end_object();
}

/// The databases of a folder, with what is not yet moved into them.
void append_stores(json::Writer& writer, const std::filesystem::path& folder) {
    std::map<std::string, std::uintmax_t> bytes;
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = file.path().filename();
        const std::size_t end = name.find(".db");
        if (end == name.npos || (end + 3 != name.size() && name.substr(end + 3) != "-wal"))
            continue;
        if (const auto size = file.file_size(error); !error) bytes[name.substr(0, end + 3)] += size;
    }
    writer.key("stores").begin_array();
    for (const auto& [name, size] : bytes) {
        const bool writable = ::access((folder / name).c_str(), W_OK) == 0;
        writer.begin_object().key("name").string_lossy(name);
        writer.key("state").string(writable ? "ok" : "fail");
        writer.key("bytes").unsigned_integer(size).end_object();
    }
    writer.end_array();
}

void append_hosts(json::Writer& writer, const std::vector<admin::SourceState>& sources) {
    writer.key("hosts").begin_array();
    for (const admin::SourceState& each : sources) {
        writer.begin_object().key("name").string_lossy(each.source);
        writer.key("state").string(each.answers ? "ok" : "fail");
        writer.key("tools").unsigned_integer(each.tools);
        if (!each.problem.empty()) writer.key("problem").string_lossy(each.problem);
        writer.end_object();
    }
    writer.end_array();
}

void append_models(json::Writer& writer, const std::vector<ModelState>& models) {
    writer.key("models").begin_array();
    for (const ModelState& each : models) {
        writer.begin_object().key("name").string_lossy(each.name);
        writer.key("state").string(each.rests_until ? "resting" : "ok");
        if (each.rests_until) writer.key("resting_until").string(to_rfc3339(*each.rests_until));
        writer.end_object();
    }
    writer.end_array();
}

}  // namespace

void HealthApi::add_routes(const ListenerRoutes& table) {
    if (table.kind != ListenerKind::kAdmin) return;
    using Request = net::Routes<core::PrincipalRef>::Request;
    table.routes.add({.path = "/v1/admin/health",
                      .summary = "How the gateway is, and what to do about it",
                      .answers = {{200, "gateway_health"}}},
                     [this](const Request& request) { return show(request.exchange); });
}

Task<void> HealthApi::show(net::HttpExchange& exchange) {
    const std::string answer = co_await uses_.workers.pool().run([this] { return shown(); });
    exchange.respond(200, net::kJsonType, answer);
}

std::string HealthApi::shown() const {
    const config::GatewayConfig& config = uses_.context.config;
    const std::filesystem::path& folder = uses_.context.paths.state_dir;
    const auto certificates = certificates_of(config, uses_.context.clock.system_now());
    const auto unhealthy = uses_.unhealthy();
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("checks").begin_array();
    for (const admin::Unhealthy& each : unhealthy) append_check(writer, check_of(each));
    if (unhealthy.empty())
        append_check(writer, {.name = "components", .text = "all work as they should"});
    append_check(writer, setup::check_folder("state directory", folder));
    append_check(writer, setup::check_disk(folder));
    append_check(writer, setup::check_open_files(config));
    append_check(writer, setup::check_clock());
    for (const setup::CertificateCheck& each : certificates) append_check(writer, each.check);
    writer.end_array().key("certificates").begin_array();
    for (const setup::CertificateCheck& each : certificates) append_certificate(writer, each);
    writer.end_array();
    append_stores(writer, folder);
    append_hosts(writer, uses_.sources());
    append_models(writer, uses_.turns.models());
    writer.end_object();
    return out;
}

}  // namespace crab::gateway
