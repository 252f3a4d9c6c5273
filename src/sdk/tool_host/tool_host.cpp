#include "crab/tool_host.hpp"

#include "crypto/key_text.hpp"
#include "sdk/tool_host/handler_tools.hpp"
#include "sdk/tool_host/host_engine.hpp"
#include "sdk/tool_host/serve.hpp"
#include "sdk/wire_error.hpp"
#include "trust/pairing/peer_name.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace crab {
namespace {

constexpr std::size_t kMaxDescription = std::size_t{8} << 10;
constexpr std::chrono::milliseconds kMaxTimeout{120'000};

core::ToolSpec spec_of(HostTool&& tool) {
    core::ToolSpec spec;
    spec.name = std::move(tool.name);
    spec.title = std::move(tool.title);
    spec.description = std::move(tool.description);
    spec.input_schema = std::move(tool.input_schema);
    spec.output_schema = std::move(tool.output_schema);
    spec.default_timeout = tool.timeout;
    spec.max_timeout = tool.max_timeout;
    spec.idempotent = tool.idempotent;
    spec.side_effects = tool.side_effects;
    spec.effects_known = true;
    // Not `accepts_idempotency_key`: the host keeps the keys, a handler knows none and must not run
    // again under one.
    if (tool.max_concurrency != 0)
        spec.max_concurrency =
            static_cast<std::uint32_t>(std::min<std::size_t>(tool.max_concurrency, UINT32_MAX));
    return spec;
}

}  // namespace

class ToolHost::Impl {
public:
    explicit Impl(std::string name) : name_(std::move(name)) {}

    void add(core::ToolSpec spec, ToolHandler handler) {
        const std::string name = spec.name;
        const auto refuse = [&](std::string_view why) {
            throw std::invalid_argument(fmt::format("tool {}: {}", name, why));
        };
        if (!handler) refuse("it has no handler");
        if (spec.description.empty() || spec.description.size() > kMaxDescription)
            refuse("describe it in 1-8192 bytes");
        if (spec.max_timeout > kMaxTimeout) refuse("its maximum timeout is at most 120 s");
        if (std::ranges::any_of(tools_, [&](const auto& other) { return other.spec.name == name; }))
            refuse("there is one of that name");
        auto made = core::make_tool(spec);
        if (!made) refuse(made.error().message);
        tools_.push_back({(*made)->spec, std::move(handler)});
    }

    sdk::HostEngine::Options on_socket(const std::filesystem::path& socket,
                                       const std::filesystem::path& state_dir) const {
        return {.service = name_,
                .socket = std::filesystem::absolute(socket),
                .paired = {},
                .state_dir = state_dir,
                .make_tools = maker()};
    }
    Result<sdk::HostEngine::Options> paired(const PairedListener& listener) const {
        auto endpoint = net::parse_endpoint(listener.listen);
        if (!endpoint || endpoint->is_unix())
            return fail(ErrorCode::kInvalidArgs, "listen: write host:port, such as 0.0.0.0:7443");
        const auto key = crypto::from_base64_exact<32>(listener.gateway_key);
        if (!key)
            return fail(
                ErrorCode::kInvalidArgs,
                "gateway_key: give the base64 text that crab peers identity prints at the gateway");
        const std::string& id = listener.id.empty() ? name_ : listener.id;
        if (!trust::is_component_id(id))
            return fail(ErrorCode::kInvalidArgs,
                        "id: 1-64 characters of letters, digits, `.`, `_` and `-`, the first a "
                        "letter or digit");
        if (listener.state_dir.empty())
            return fail(ErrorCode::kInvalidArgs,
                        "state_dir: a paired host needs a folder for its keys");
        return sdk::HostEngine::Options{
            .service = name_,
            .socket = {},
            .paired = sdk::HostEngine::Paired{.endpoint = std::move(*endpoint),
                                              .component_id = id,
                                              .gateway_key = *key,
                                              .pair_path = listener.pair_path},
            .state_dir = listener.state_dir,
            .make_tools = maker()};
    }
    std::expected<void, ToolError> start(const Result<sdk::HostEngine::Options>& options) {
        if (!options) return std::unexpected(sdk::to_tool_error(options.error()));
        if (engine_) throw std::logic_error("the tool host is running already");
        auto started = sdk::HostEngine::start(*options);
        if (!started) return std::unexpected(sdk::to_tool_error(started.error()));
        engine_ = std::move(*started);
        return {};
    }
    static int serve(const Result<sdk::HostEngine::Options>& options) {
        if (options) return sdk::serve_until_signal(*options);
        fmt::print(stderr, "crab host: {}\n", options.error().message);
        return 1;
    }
    std::string address() const { return engine_ ? engine_->endpoint().text() : std::string(); }
    void stop() { engine_.reset(); }

private:
    std::function<Result<std::unique_ptr<sdk::HostedTools>>(net::EventLoop&, core::AuditLog&)>
    maker() const {
        return [tools = tools_](net::EventLoop& home,
                                core::AuditLog&) -> Result<std::unique_ptr<sdk::HostedTools>> {
            return std::make_unique<sdk::HandlerTools>(tools, home);
        };
    }
    const std::string name_;
    std::vector<sdk::HandledTool> tools_;
    std::unique_ptr<sdk::HostEngine> engine_;
};

ToolHost::ToolHost(std::string name) : impl_(std::make_unique<Impl>(std::move(name))) {}
ToolHost::~ToolHost() = default;

void ToolHost::add(HostTool tool, ToolHandler handler) {
    impl_->add(spec_of(std::move(tool)), std::move(handler));
}
int ToolHost::serve_unix(const std::filesystem::path& socket,
                         const std::filesystem::path& state_dir) {
    return Impl::serve(impl_->on_socket(socket, state_dir));
}
int ToolHost::serve(const PairedListener& listener) { return Impl::serve(impl_->paired(listener)); }
std::expected<void, ToolError> ToolHost::start_unix(const std::filesystem::path& socket,
                                                    const std::filesystem::path& state_dir) {
    return impl_->start(impl_->on_socket(socket, state_dir));
}
std::expected<void, ToolError> ToolHost::start(const PairedListener& listener) {
    return impl_->start(impl_->paired(listener));
}
std::string ToolHost::address() const { return impl_->address(); }
void ToolHost::stop() { impl_->stop(); }

}  // namespace crab
