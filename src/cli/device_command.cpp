#include "base/encoding.hpp"
#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/files.hpp"
#include "cli/output/terminal.hpp"
#include "crypto/digest.hpp"
#include "json/schema/schema.hpp"
#include "json/value.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::cli {
namespace {

Result<std::pair<std::string, std::string>> pair_of(std::string_view flag, std::string_view value,
                                                    const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == text.npos || equals + 1 == text.size())
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{} {}: write NAME={}", flag, text, value));
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

sdk::CommandTool* find_tool(DeviceOptions& device, const std::string& name) {
    const auto found = std::ranges::find(device.exec_tools, name, &sdk::CommandTool::name);
    return found == device.exec_tools.end() ? nullptr : &*found;
}

Error no_such_exec(std::string_view flag, const std::string& name) {
    return {.code = ErrorCode::kInvalidArgs,
            .message = fmt::format("{} {}: no --exec has that name", flag, name)};
}

constexpr Milliseconds kVouchTimeout{2'000};

/// Says on this machine's admin socket, if it opens to this user, that the device with this key is
/// theirs: its own tools are believed when they say that they only read. What the code is exchanged
/// for may be another gateway's, so where nobody knows the code nothing is said.
void vouch(const Target& target, const std::string& code, const std::string& public_key) {
    Result<AdminClient> client = AdminClient::make(target);
    if (!client) return;
    const auto request =
        json::Value::object({{"code", code}, {"public_key", to_base64(bytes_of(public_key))}});
    if (!accepted(client->post("/v1/admin/devices/vouch", request,
                               RealClock().steady_now() + kVouchTimeout)))
        return;
    complain("this gateway is yours: what the tools of this device say of themselves is believed");
}

}  // namespace

int run(const Device& options) {
    DeviceOptions device = options.options;
    device.before_pairing = [&options](const std::string& public_key) {
        vouch(options.target, options.options.pair_code, public_key);
    };
    if (!options.token_file.empty()) {
        Result<std::string> token = read_input(options.token_file.string());
        if (!token) return report(token.error());
        while (token->ends_with('\n') || token->ends_with('\r')) token->pop_back();
        device.token = Secret<std::string>(std::move(*token));
    }
    for (const std::string& exec : options.exec) {
        auto pair = pair_of("--exec", "COMMAND", exec);
        if (!pair) return report(pair.error());
        device.exec_tools.push_back(
            {.name = std::move(pair->first), .command = std::move(pair->second)});
    }
    for (const std::string& schema : options.schemas) {
        auto pair = pair_of("--schema", "JSON or NAME=@FILE", schema);
        if (!pair) return report(pair.error());
        sdk::CommandTool* const tool = find_tool(device, pair->first);
        if (tool == nullptr) return report(no_such_exec("--schema", pair->first));
        if (pair->second.starts_with('@')) {
            auto file = read_input(pair->second.substr(1));
            if (!file) return report(file.error());
            pair->second = std::move(*file);
        }
        const auto parsed = json::Value::parse(pair->second);
        if (!parsed || !parsed->is_object())
            return report(fail(ErrorCode::kInvalidArgs,
                               fmt::format("--schema {}: not a JSON object, such as "
                                           "{{\"type\":\"object\",\"required\":[\"path\"]}}",
                                           pair->first))
                              .error());
        if (const auto compiled = json::Schema::compile(pair->second); !compiled)
            return report(fail(ErrorCode::kInvalidArgs, fmt::format("--schema {}: {}", pair->first,
                                                                    compiled.error().message))
                              .error());
        tool->schema = std::move(pair->second);
    }
    for (const std::string& description : options.descriptions) {
        auto pair = pair_of("--describe", "TEXT", description);
        if (!pair) return report(pair.error());
        sdk::CommandTool* const tool = find_tool(device, pair->first);
        if (tool == nullptr) return report(no_such_exec("--describe", pair->first));
        tool->description = std::move(pair->second);
    }
    return run_device(device);
}

}  // namespace crab::cli
