#include "crab/cetp_provider.hpp"

#include "json/value.hpp"
#include "sdk/provider/provider_tools.hpp"
#include "sdk/provider/serve_bus.hpp"
#include "sdk/provider/serve_command.hpp"
#include "sdk/provider/serve_socket.hpp"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace crab {

struct CetpCall::Parsed {
    json::Value args;
};

CetpCall::CetpCall(std::string tool, std::string args, std::string request_id, CetpCaller caller)
    : tool_(std::move(tool)),
      args_(std::move(args)),
      request_id_(std::move(request_id)),
      caller_(caller),
      parsed_(std::make_unique<Parsed>()) {
    if (auto parsed = json::Value::parse(args_)) parsed_->args = std::move(*parsed);
}
CetpCall::~CetpCall() = default;

std::optional<std::string> CetpCall::text(std::string_view name) const {
    const std::string* text = parsed_->args.find_string(name);
    return text != nullptr ? std::optional(*text) : std::nullopt;
}
std::optional<double> CetpCall::number(std::string_view name) const {
    const json::Value* value = parsed_->args.find(name);
    return value != nullptr ? value->as_double() : std::nullopt;
}
std::optional<std::int64_t> CetpCall::integer(std::string_view name) const {
    const json::Value* value = parsed_->args.find(name);
    return value != nullptr ? value->as_int64() : std::nullopt;
}
std::optional<bool> CetpCall::flag(std::string_view name) const {
    const json::Value* value = parsed_->args.find(name);
    const bool* flag = value != nullptr ? value->as_bool() : nullptr;
    return flag != nullptr ? std::optional(*flag) : std::nullopt;
}

class CetpProvider::Impl {
public:
    Impl(std::string id, std::string name, std::string description)
        : tools(std::move(id), std::move(name), std::move(description)) {}
    sdk::ProviderTools tools;
};

CetpProvider::CetpProvider(std::string id, std::string name, std::string description)
    : impl_(std::make_unique<Impl>(std::move(id), std::move(name), std::move(description))) {}
CetpProvider::~CetpProvider() = default;

void CetpProvider::tool(std::string name, std::string description, std::string schema,
                        CetpHandler handler) {
    impl_->tools.add(std::move(name), std::move(description), std::move(schema),
                     std::move(handler));
}

bool CetpProvider::remove_tool(std::string_view name) { return impl_->tools.remove(name); }

int CetpProvider::run(int argc, char** argv) {
    constexpr std::chrono::seconds kIdle{60};
    const std::string_view last = argc > 1 ? argv[argc - 1] : "";
    for (const std::string_view method :
         {cetp::kListTools, cetp::kExecuteTool, cetp::kProviderInfo}) {
        if (last == method) return sdk::serve_command(impl_->tools, std::string(method));
    }
    if (argc == 3 && std::strcmp(argv[1], "--socket") == 0)
        return sdk::serve_socket(impl_->tools, argv[2]);
    int idle = static_cast<int>(kIdle.count());
    const bool given =
        argc == 3 && std::strcmp(argv[1], "--idle") == 0 &&
        std::from_chars(last.data(), last.data() + last.size(), idle).ec == std::errc() && idle > 0;
    if (argc == 1 || given) return sdk::serve_bus(impl_->tools, std::chrono::seconds(idle));
    fmt::print(stderr,
               "usage: {} [--idle SECONDS | --socket PATH | list_tools | execute_tool | "
               "get_provider_info]\n",
               argv[0]);
    return 2;
}

}  // namespace crab
