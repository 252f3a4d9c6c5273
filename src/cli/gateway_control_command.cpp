#include "base/descriptor.hpp"
#include "base/process/file.hpp"
#include "base/version.hpp"
#include "cli/admin_client.hpp"
#include "cli/command_line.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

/// `{"version"}`; over a URL `{"api"}`: what its document tells of itself.
Result<json::Value> version_of_gateway(const Target& target) {
    Result<AdminClient> client = AdminClient::make(target);
    if (!client) return fail(client.error());
    const bool remote = client->is_remote();
    const auto answer = accepted(client->get(remote ? "/openapi.json" : "/v1/admin/status"));
    if (!answer) return fail(answer.error());
    const json::Value* const version = answer->resolve(remote ? "/info/version" : "/version");
    if (version == nullptr || version->as_string() == nullptr)
        return fail(ErrorCode::kInternal, "the gateway's answer has no version");
    return json::Value::object({{remote ? "api" : "version", *version}});
}

Result<json::Value> status_of_gateway(const Target& target) {
    Result<AdminClient> client = AdminClient::make(target);
    if (!client) return fail(client.error());
    return accepted(client->get(client->is_remote() ? "/health" : "/v1/admin/status"));
}

void print_status(const json::Value& status) {
    const auto tell = [](std::string_view what, const std::string& text) {
        if (!text.empty()) print_line(printable(fmt::format("{:<14}{}", what, text)));
    };
    const std::string storage = text_of(status, "storage");
    const bool works = storage.empty() ? flag_of(status, "ok") : storage == "ok";
    tell("status", works ? "runs" : "runs, but not all of it works");
    tell("version", text_of(status, "version"));
    if (status.find("uptime_seconds") != nullptr)
        tell("up for", to_words(std::chrono::seconds(number_of(status, "uptime_seconds"))));
    tell("process", text_of(status, "pid"));
    tell("listens at", text_of(status, "public"));
    tell("admin socket", text_of(status, "admin"));
    tell("state", text_of(status, "state_dir"));
    tell("devices", text_of(status, "devices"));
    tell("running calls", text_of(status, "running_calls"));
    for (const json::Value& part : items_of(status, "unhealthy"))
        tell("failing", text_of(part, "component") + ": " + text_of(part, "reason"));
}

/// The process, if it is on this machine, in our namespace, and a crab. Errors: kNotFound.
Result<Descriptor> open_process(pid_t pid) {
    Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const auto name = read_file(fmt::format("/proc/{}/comm", pid));
    if (pid > 1 && process.is_open() && name && *name == "crab\n") return process;
    return fail(ErrorCode::kNotFound,
                fmt::format("the gateway's process {} is not seen from here, as in another "
                            "container: stop it there",
                            pid));
}

bool ends_before(const Descriptor& process, Milliseconds timeout) {
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        const auto left =
            std::chrono::ceil<Milliseconds>(deadline - std::chrono::steady_clock::now());
        const int found =
            ::poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
        if (found > 0 || (found < 0 && errno != EINTR)) return found > 0;
        if (found == 0) return false;
    }
}

}  // namespace

int run(const GatewayStatus& options) {
    const auto status = status_of_gateway(options.target);
    if (!status) return report(status.error());
    const bool failing = text_of(*status, "storage") == "failing" ||
                         (status->find("ok") != nullptr && !flag_of(*status, "ok"));
    if (!options.output.is_text()) {
        if (const int code = show_value(*status, options.output); code != kExitOk) return code;
    } else if (!options.output.quiet) {
        print_status(*status);
    }
    return failing ? kExitFailed : kExitOk;
}

int run(const GatewayStop& options) {
    const auto status = status_of_gateway(options.target);
    if (!status) return report(status.error());
    const auto process = open_process(static_cast<pid_t>(number_of(*status, "pid")));
    if (!process) return report(process.error());
    if (::syscall(SYS_pidfd_send_signal, process->get(), SIGTERM, nullptr, 0) != 0)
        return report(Error{.code = ErrorCode::kForbidden,
                            .message = fmt::format("may not stop process {}: {}",
                                                   text_of(*status, "pid"), std::strerror(errno))});
    const json::Value told = json::Value::object({{"pid", number_of(*status, "pid")}});
    if (options.timeout.count() == 0)
        return show_done(told, options.output, text_of(*status, "pid"), "the gateway is stopping");
    if (!ends_before(*process, options.timeout))
        return report(Error{.code = ErrorCode::kTimeout,
                            .message = fmt::format("process {} still runs; calls may keep it",
                                                   text_of(*status, "pid"))});
    return show_done(told, options.output, text_of(*status, "pid"), "the gateway has stopped");
}

int run(const GatewayReload& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto reply = accepted(client->post("/v1/admin/reload", json::Value::object()));
    if (!reply) return report(reply.error());
    return show_done(*reply, options.output, "reloaded",
                     "the configuration was read again; the gateway's log says what has changed");
}

int run(const GatewayLogLevels& options) {
    static const Listing kLevels{
        .members = {"levels"},
        .name = by_member("part"),
        .columns = {column("PART", "part"), column("LEVEL", "level"), column("FROM", "from")},
        .empty = {}};
    return show_list([&] { return fetch(options.target, "/v1/admin/log"); }, kLevels,
                     options.output);
}

int run(const GatewayLogLevel& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    json::Value wanted = json::Value::object({{"level", options.level}});
    if (!options.part.empty()) wanted.set("part", options.part);
    const auto reply = accepted(client->patch("/v1/admin/log", wanted));
    if (!reply) return report(reply.error());
    const std::string what = options.part.empty() ? "all without a level of its own" : options.part;
    return show_done(
        *reply, options.output, options.level,
        options.level == "configured"
            ? fmt::format("{} is logged as the configuration says", what)
            : fmt::format("{} is logged at level {}, until the next reload", what, options.level));
}

int run(const Version& options) {
    json::Value answer =
        json::Value::object({{"client", json::Value::object({{"version", version()}})}});
    Result<json::Value> gateway = json::Value();
    if (!options.client) gateway = version_of_gateway(options.target);
    if (gateway && !gateway->is_null()) answer.set("gateway", *gateway);
    int code = kExitOk;
    if (!options.output.is_text()) {
        code = show_value(answer, options.output);
    } else {
        print_line(fmt::format("client   {}", version()));
        if (gateway && gateway->find("version") != nullptr)
            print_line(printable("gateway  " + text_of(*gateway, "version")));
        if (gateway && gateway->find("api") != nullptr)
            print_line(printable(fmt::format("gateway  API {}; its admin socket tells the rest",
                                             text_of(*gateway, "api"))));
    }
    return gateway ? code : report(gateway.error());
}

}  // namespace crab::cli
