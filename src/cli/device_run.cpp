#include "cli/device_run.hpp"

#include "cli/output/exit_codes.hpp"
#include "cli/output/interrupt.hpp"
#include "cli/output/terminal.hpp"
#include "config/paths.hpp"
#include "json/value.hpp"
#include "sdk/machine/command_tool.hpp"
#include "sdk/machine/machine_tools.hpp"
#include "sdk/machine/presence_watch.hpp"
#include "sdk/private_file.hpp"

#include "crab/device.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace crab::cli {
namespace {

/// What `crab devices run` keeps between runs:
/// `{"gateway","ca_file","token","key_file","session_id"}`. A token is only ever shown to the
/// gateway that gave it; `key_file` has what a pairing gave, since pairings give keys.
struct DeviceState {
    std::string gateway;
    std::string ca_file;
    std::string token;
    std::string key_file;
    std::string session_id;
};

/// What is kept for `gateway`, or when it is empty for the gateway that was kept; an empty state
/// for one when the file is missing or belongs to another.
Result<DeviceState> load_state(const std::filesystem::path& file, const std::string& gateway) {
    DeviceState state{.gateway = gateway.empty() ? DeviceOptions::kUsualGateway : gateway,
                      .ca_file = {},
                      .token = {},
                      .key_file = {},
                      .session_id = {}};
    const auto content = sdk::read_private_file(file);
    if (!content && content.error().code == ErrorCode::kNotFound) return state;
    if (!content) return fail(content.error());
    const auto kept = json::Value::parse(*content);
    if (!kept)
        return fail(
            ErrorCode::kInvalidArgs,
            fmt::format("{} is not a state of a device; remove it and pair again", file.string()));
    const std::string of = kept->text("gateway");
    if (of.empty() || (!gateway.empty() && of != gateway)) return state;
    state.gateway = of;
    state.ca_file = kept->text("ca_file");
    state.token = kept->text("token");
    state.key_file = kept->text("key_file");
    state.session_id = kept->text("session_id");
    return state;
}

void save_state(const std::filesystem::path& file, const DeviceState& state) {
    const auto value = json::Value::object({{"gateway", state.gateway},
                                            {"ca_file", state.ca_file},
                                            {"token", state.token},
                                            {"key_file", state.key_file},
                                            {"session_id", state.session_id}});
    if (const auto saved = sdk::write_private_file(file, value.dump() + "\n"); !saved)
        complain(saved.error().message);
}

std::filesystem::path state_file_of(const DeviceOptions& options) {
    if (!options.state_file.empty()) return options.state_file;
    return config::Paths::find(false, ::geteuid()).state_dir / "device.json";
}

std::string name_of(const DeviceOptions& options) {
    if (!options.name.empty()) return options.name;
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "device";
}

/// Tells the person at the terminal how the link fares, and keeps the chat session's id.
class StatusPrinter {
public:
    StatusPrinter(std::string name, std::filesystem::path state_file, DeviceState state)
        : name_(std::move(name)), state_file_(std::move(state_file)), state_(std::move(state)) {}

    void on_event(const DeviceEvent& event) {
        switch (event.kind) {
            case DeviceEvent::Kind::kConnected:
                say(fmt::format("device {} connected{}{}, {} {} registered", name_,
                                connected_before_ ? " again" : "",
                                event.device.empty() ? "" : " as " + event.device, event.tools,
                                event.tools == 1 ? "tool" : "tools"));
                connected_before_ = true;
                keep_session(event.session_id);
                break;
            case DeviceEvent::Kind::kRejected: say("not registered: " + event.message); break;
            case DeviceEvent::Kind::kLost:
                say(fmt::format("device {} is not connected to {}: {}; next try in {:.1f} s", name_,
                                state_.gateway, event.message,
                                std::chrono::duration<double>(event.retry_in).count()));
                break;
            case DeviceEvent::Kind::kNotice: say(event.message); break;
        }
    }

private:
    static void say(std::string_view text) { fmt::print(stderr, "{}\n", printable(text)); }
    void keep_session(const std::string& session_id) {
        if (session_id == state_.session_id) return;
        state_.session_id = session_id;
        save_state(state_file_, state_);
    }

    const std::string name_;
    const std::filesystem::path state_file_;
    DeviceState state_;
    bool connected_before_ = false;
};

int refuse(const Error& error) {
    complain(error.message);
    return exit_code_of(error.code);
}

}  // namespace

int exit_code_for(DeviceEnd::Reason reason) {
    switch (reason) {
        case DeviceEnd::Reason::kStopped: return kExitOk;
        case DeviceEnd::Reason::kClosedByGateway:
        case DeviceEnd::Reason::kRefused: return kExitRefused;
        case DeviceEnd::Reason::kLost: return kExitUnreachable;
        case DeviceEnd::Reason::kInvalid: return kExitUsage;
    }
    return kExitFailed;
}

int run_device(const DeviceOptions& options) {
    const std::filesystem::path file = state_file_of(options);
    auto state = load_state(file, options.gateway);
    if (!state) return refuse(state.error());
    if (!options.ca_file.empty())
        state->ca_file = std::filesystem::absolute(options.ca_file).string();
    if (options.gateway.empty() && state->gateway != DeviceOptions::kUsualGateway)
        fmt::print(stderr, "using {}, from {}\n", printable(state->gateway),
                   printable(file.string()));
    if (!options.pair_code.empty()) {
        state->token.clear();
        state->key_file = file.string() + ".key";
        save_state(file, *state);
    }
    // a new pairing goes before an old token
    const bool given = options.pair_code.empty() && !options.token.reveal().empty();
    if (!options.session_id.empty()) state->session_id = options.session_id;
    const std::string name = name_of(options);
    StatusPrinter printer(name, file, *state);

    crab::Device device(
        {.gateway = state->gateway,
         .token = given ? options.token.reveal() : state->token,
         .name = name,
         .session_id = state->session_id,
         .ca_file = state->ca_file,
         .pair_code = options.pair_code,
         .before_pairing = options.before_pairing,
         .token_file = state->key_file,
         .on_event = [&printer](const DeviceEvent& event) { printer.on_event(event); },
         .reconnect = !options.once,
         .allow_plain = options.allow_plain});
    sdk::add_machine_tools(device);
    for (const sdk::CommandTool& exec : options.exec_tools) {
        if (const auto added = sdk::add_command_tool(device, exec); !added)
            return refuse(added.error());
    }
    const Interrupt interrupt([&device] { device.stop(); });
    const sdk::PresenceWatch presence(device);
    const DeviceEnd end = device.run();
    if (!end.good()) complain(fmt::format("{}: {}", state->gateway, end.message));
    return exit_code_for(end.reason);
}

}  // namespace crab::cli
