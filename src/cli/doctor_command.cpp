#include "cli/admin_client.hpp"
#include "cli/certificate_expiry.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "config/load.hpp"
#include "hosting/hosted_commands.hpp"
#include "hosts/command/sandbox.hpp"
#include "net/codec/url.hpp"
#include "net/http/blocking_client.hpp"
#include "setup/machine_checks.hpp"

#include <algorithm>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

enum class Finding : std::uint8_t { kOk, kWarn, kFail };

std::string_view word(Finding finding) {
    switch (finding) {
        case Finding::kOk: return "ok";
        case Finding::kWarn: return "warn";
        case Finding::kFail: return "fail";
    }
    return "";
}

Finding finding_of(setup::MachineCheck::State state) {
    using State = setup::MachineCheck::State;
    return state == State::kOk     ? Finding::kOk
           : state == State::kWarn ? Finding::kWarn
                                   : Finding::kFail;
}

/// Runs the checks one after the other; each ends in one line that says what to do, if anything.
class DoctorChecks {
public:
    explicit DoctorChecks(const Doctor& options)
        : options_(options), paths_(config::Paths::find(options.system, ::getuid())) {}

    void run() {
        configuration();
        say(setup::check_folder("state directory", paths_.state_dir_of(config_)));
        say(setup::check_folder("runtime directory", paths_.runtime_dir_of(config_)));
        gateway();
        say(setup::check_open_files(config_));
        say(setup::check_clock());
        certificate();
        sandbox();
    }

    int show() const {
        bool failed = false;
        json::Value checks = json::Value::array();
        for (const auto& [name, finding, text] : lines_) {
            failed = failed || finding == Finding::kFail;
            checks.push_back(json::Value::object(
                {{"check", name}, {"result", word(finding)}, {"message", text}}));
            if (!options_.output.is_text()) continue;
            const Colour colour = finding == Finding::kOk     ? Colour::kGreen
                                  : finding == Finding::kWarn ? Colour::kYellow
                                                              : Colour::kRed;
            print_line(fmt::format(
                "{}  {:<18} {}", Terminal::out().paint(colour, fmt::format("{:<4}", word(finding))),
                name, printable(text)));
        }
        int code = kExitOk;
        if (!options_.output.is_text())
            code = show_value(json::Value::object({{"ok", !failed}, {"checks", checks}}),
                              options_.output);
        if (code != kExitOk) return code;
        return failed ? kExitFailed : kExitOk;
    }

private:
    struct Line {
        std::string name;
        Finding finding;
        std::string text;
    };
    void say(std::string name, Finding finding, std::string text) {
        lines_.push_back({std::move(name), finding, std::move(text)});
    }

    void configuration() {
        const auto loaded = config::load_first(options_.target.config, paths_);
        if (!loaded) {
            const std::string first =
                loaded.error().message.substr(0, loaded.error().message.find('\n'));
            return say("configuration", Finding::kFail,
                       first + "; crab gateway check lists all problems");
        }
        config_ = *loaded;
        say("configuration", Finding::kOk,
            config_.source.empty() ? "no file, the defaults count" : config_.source.string());
    }

    void say(const setup::MachineCheck& check) {
        say(check.name, finding_of(check.state),
            check.text + (check.fix.empty() ? "" : "; " + check.fix));
    }

    void gateway() {
        Result<AdminClient> client = AdminClient::make(options_.target);
        if (!client) return say("admin socket", Finding::kFail, client.error().message);
        const auto status =
            accepted(client->get("/v1/admin/status", std::chrono::steady_clock::now() + 5s));
        if (!status)
            return say("admin socket", Finding::kFail,
                       status.error().message + "; start it with crab gateway run");
        struct stat file{};
        const bool open = ::stat(client->where().c_str(), &file) == 0 && (file.st_mode & 077) != 0;
        say("admin socket", open ? Finding::kWarn : Finding::kOk,
            open ? client->where() + " may be opened by others; chmod 600"
                 : fmt::format("{}, crab {}", client->where(), text_of(*status, "version")));
        if (const auto pid = status->find("pid"); pid && pid->as_int64())
            membership_ = fmt::format("/proc/{}/cgroup", *pid->as_int64());
        listener();
        components(*status);
    }

    /// What the gateway's components say of themselves.
    void components(const json::Value& status) {
        const json::Value* unhealthy = status.find("unhealthy");
        if (unhealthy && unhealthy->as_array())
            for (const json::Value& each : *unhealthy->as_array())
                say(text_of(each, "component"), Finding::kFail, text_of(each, "reason"));
        const json::Value* storage = status.find("storage");
        if (!storage)
            return say("storage", Finding::kWarn, "the gateway does not say; see its log");
        const bool sound = *storage == json::Value("ok");
        say("storage", sound ? Finding::kOk : Finding::kFail,
            sound ? "intact" : "something cannot be written; see the gateway's log and the disk");
    }

    void listener() {
        if (!config_.listen.public_address || config_.listen.public_address->port == 0) return;
        const config::HostPort& address = *config_.listen.public_address;
        if (config_.listen.tls)
            return say("public listener", Finding::kOk,
                       address.to_text() + " with TLS (not dialled)");
        net::BlockingClient client(net::Endpoint::tcp(address.host, address.port));
        const auto reply = client.send({.target = config_.listen.path_prefix + "/healthz"},
                                       std::chrono::steady_clock::now() + 5s);
        const bool well = reply && reply->status == 200;
        say("public listener", well ? Finding::kOk : Finding::kFail,
            well ? address.to_text()
                 : fmt::format(
                       "{} does not answer ({}); see the gateway's log", address.to_text(),
                       reply ? fmt::format("HTTP {}", reply->status) : reply.error().message));
    }

    /// Which labels of execution policies commands can be kept to here.
    void sandbox() {
        using core::Network, core::Privilege;
        auto abilities = command::SandboxAbilities::detect();
        abilities.cgroups = command::CgroupPaths::look("/sys/fs/cgroup", membership_);
        std::string kept, not_kept;
        const auto add = [&](std::string_view label, const std::optional<std::string>& missing) {
            if (!missing)
                kept += fmt::format("{}{}", kept.empty() ? "" : ", ", label);
            else
                not_kept += fmt::format("; {}: {}", label, *missing);
        };
        for (const auto network : {Network::kDenyAll, Network::kEgressRestricted,
                                   Network::kEgressUnrestricted, Network::kFullAccess})
            add(name_of(network), abilities.missing(network));
        for (const auto privilege : {Privilege::kMinimal, Privilege::kDefault, Privilege::kElevated,
                                     Privilege::kPrivileged})
            add(name_of(privilege), abilities.missing(privilege));
        const bool wanted =
            std::ranges::any_of(config_.providers, [](const config::ProviderOptions& each) {
                return each.kind == config::ProviderKind::kCommand;
            });
        if (kept.empty())
            return say("sandbox", wanted ? Finding::kFail : Finding::kWarn,
                       "commands cannot run here" + not_kept);
        const std::string landlock = abilities.landlock_abi > 0
                                         ? fmt::format("Landlock ABI {}", abilities.landlock_abi)
                                         : "no Landlock";
        const bool bare = abilities.confinement() == command::Confinement::kLandlock;
        say("sandbox", bare ? Finding::kWarn : Finding::kOk,
            fmt::format("{} ({}{}){}", kept, bare ? "no namespaces, " : "", landlock, not_kept));
        const auto& groups = abilities.cgroups;
        say("sandbox memory", groups.count_memory() || !wanted ? Finding::kOk : Finding::kWarn,
            groups.count_memory() ? fmt::format("limited by the kernel (cgroup {})",
                                                groups.unified.empty() ? "v1" : "v2")
                                  : fmt::format("limited for MINIMAL only, all else is refused; {}",
                                                command::kHowToDelegate));
        for (const std::string& line : hosting::commands_not_offered(config_, abilities))
            say("commands", Finding::kWarn, line);
        if (wanted && ::getuid() == 0) {
            say("sandbox user", Finding::kWarn,
                "the gateway runs as root, and so do its commands as far as files are concerned; "
                "run it as a user of its own");
        }
    }

    void certificate() {
        if (!config_.listen.tls) return;
        const auto left = certificate_time_left(config_.listen.tls->cert);
        if (!left) return say("certificate", Finding::kFail, left.error().message);
        if (::access(config_.listen.tls->key.c_str(), R_OK) != 0)
            return say("certificate", Finding::kFail,
                       "cannot read the key " + config_.listen.tls->key.string());
        const Finding finding = left->count() < 0    ? Finding::kFail
                                : left->count() < 14 ? Finding::kWarn
                                                     : Finding::kOk;
        say("certificate", finding,
            left->count() < 0 ? "has expired; renew it"
                              : fmt::format("valid for {} more days{}", left->count(),
                                            finding == Finding::kOk ? "" : "; renew it"));
    }

    const Doctor& options_;
    config::Paths paths_;
    config::GatewayConfig config_;
    /// The control groups of the gateway; if it does not run, of this process
    std::string membership_ = "/proc/self/cgroup";
    std::vector<Line> lines_;
};

/// What the gateway says stands between a tool and its caller.
int diagnose(const Doctor& options) {
    std::string query;
    for (const auto& [name, value] : {std::pair{"device", options.device},
                                      std::pair{"tool", options.tool}, std::pair{"as", options.as}})
        if (!value.empty())
            query +=
                fmt::format("{}{}={}", query.empty() ? "?" : "&", name, net::percent_encode(value));
    const auto found = fetch(options.target, "/v1/admin/diagnose" + query);
    if (!found) return report(found.error());
    bool failed = false;
    for (const json::Value& check : items_of(*found, "checks")) {
        const bool ok = flag_of(check, "ok");
        failed = failed || !ok;
        if (!options.output.is_text()) continue;
        print_line(fmt::format(
            "{}  {:<18} {}",
            Terminal::out().paint(ok ? Colour::kGreen : Colour::kRed, ok ? "ok  " : "fail"),
            text_of(check, "id"), printable(text_of(check, "text"))));
        const json::Value* const fix = check.find("fix");
        const json::Value* const params = fix != nullptr ? fix->find("params") : nullptr;
        const std::string command = params != nullptr ? text_of(*params, "command") : "";
        if (!command.empty()) print_line(fmt::format("{:>25}{}", "", printable(command)));
    }
    int code = kExitOk;
    if (!options.output.is_text())
        code = show_value(*found, options.output);
    else
        print_line(printable(text_of(*found, "answer")));
    if (code != kExitOk) return code;
    return failed ? kExitFailed : kExitOk;
}

}  // namespace

int run(const Doctor& options) {
    if (!options.tool.empty() || !options.device.empty()) return diagnose(options);
    if (!options.as.empty()) {
        complain("--as goes with --tool or --device");
        return kExitUsage;
    }
    std::error_code ignored;
    if (!options.target.config.empty() && !fs::exists(options.target.config, ignored))
        return report(config::load_first(options.target.config,
                                         config::Paths::find(options.system, ::getuid()))
                          .error());
    DoctorChecks checks(options);
    checks.run();
    return checks.show();
}

}  // namespace crab::cli
