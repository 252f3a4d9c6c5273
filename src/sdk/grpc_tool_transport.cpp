#include "sdk/grpc_tool_transport.hpp"

#include "adapters/sw4rm/tool_service_client.hpp"
#include "base/id_source.hpp"
#include "core/call/effective_policy.hpp"
#include "json/value.hpp"
#include "net/codec/url.hpp"
#include "net/http/name_lookups.hpp"
#include "net/loop/finish_on.hpp"
#include "net/loop/loop_group.hpp"
#include "sdk/frame_queue.hpp"
#include "sdk/wire_error.hpp"

#include <algorithm>
#include <future>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace crab::sdk {
namespace {

using Ended = sw4rm::ToolServiceClient::Ended;

constexpr std::string_view kPlain = "grpc://", kSecure = "grpcs://", kUnix = "grpc+unix:";
constexpr std::uint16_t kPort = 50063;
constexpr Milliseconds kUsualTimeout{30'000};
constexpr Milliseconds kMargin{5'000};  // the server's answer about a timeout is to win
constexpr Milliseconds kShortAnswer{10'000};

/// One call with all that its attempts need; its texts outlive them.
struct Work {
    const std::string& tool;
    const CallOptions& options;
    std::string call_id, correlation_id;
    sw4rm::ToolCall wire;
};

sw4rm::Duration to_wire(Milliseconds time) {
    return {.seconds = time.count() / 1000,
            .nanos = static_cast<std::int32_t>(time.count() % 1000) * 1'000'000};
}

/// Nothing when the call states nothing of it.
std::optional<sw4rm::ExecutionPolicy> to_wire(const ExecutionPolicy& policy, Milliseconds timeout) {
    sw4rm::ExecutionPolicy wire{
        .max_retries = policy.max_retries,
        .backoff = policy.backoff,
        .worktree_required = policy.worktree_required,
        .network_policy = policy.network_policy,
        .privilege_level = policy.privilege_level,
        .budget_cpu_ms = static_cast<std::uint64_t>(policy.budget_cpu.count()),
        .budget_wall_ms = static_cast<std::uint64_t>(policy.budget_wall.count())};
    if (timeout.count() > 0) wire.timeout = to_wire(timeout);
    if (wire == sw4rm::ExecutionPolicy{}) return std::nullopt;
    return wire;
}

/// A repeat may help, and no frame of this attempt has been seen.
bool is_worth_repeating(const sw4rm::CallFailure& failure) {
    return failure.status == net::GrpcStatus::kUnavailable && failure.retry_able != false &&
           failure.frames == 0 && failure.error.code != ErrorCode::kCancelled;
}

CallResult::Status status_of(const sw4rm::CallFailure& failure) {
    if (!failure.answered) return CallResult::Status::kNoAnswer;
    if (failure.status == net::GrpcStatus::kDeadlineExceeded) return CallResult::Status::kTimeout;
    return failure.error.retryable.value_or(false) ? CallResult::Status::kRetryableError
                                                   : CallResult::Status::kError;
}

CallResult result_of(std::string call_id, Ended ended) {
    CallResult result{.call_id = std::move(call_id)};
    if (!ended) {
        result.status = status_of(ended.error());
        result.error = to_tool_error(ended.error().error);
        return result;
    }
    result.status = CallResult::Status::kOk;
    result.result = std::move(ended->data);
    result.content_type = std::move(ended->content_type);
    result.summary = std::move(ended->summary);
    const auto summary = json::Value::parse(result.summary);
    const json::Value* duration = summary ? summary->find("duration_ms") : nullptr;
    const json::Value* replayed = summary ? summary->find("replayed") : nullptr;
    if (duration != nullptr) result.duration = Milliseconds(duration->as_int64().value_or(0));
    if (replayed != nullptr && replayed->as_bool() != nullptr)
        result.replayed = *replayed->as_bool();
    return result;
}

/// What a task gives.
template <class T>
struct TaskValue;
template <class T>
struct TaskValue<Task<T>> {
    using Type = T;
};

class GrpcToolTransport final : public ToolTransport {
public:
    GrpcToolTransport(const GrpcAddress& address, std::shared_ptr<net::TlsContext> tls,
                      std::string token, ToolClientOptions options)
        : options_(std::move(options)), ids_(clock_) {
        net::GrpcChannel::Options channel;
        channel.authority = address.endpoint.is_unix() ? "localhost" : address.endpoint.text();
        channel.user_agent = options_.user_agent;
        channel.secure = address.tls;
        channel.connect = options_.connect_timeout;
        channel.find_server = [this, endpoint = address.endpoint,
                               tls = std::move(tls)](Deadline deadline) {
            return names_.find_target(endpoint, tls, deadline);
        };
        client_ = std::make_unique<sw4rm::ToolServiceClient>(
            loop(), sw4rm::ToolServiceClient::Options{
                        .service = {.channel = std::move(channel), .token = std::move(token)},
                        .most_kept = options_.max_reply_bytes});
        loops_.start();
    }
    ~GrpcToolTransport() override {
        net::finish_on(loop(), [&](std::function<void()> done) { client_->stop(std::move(done)); });
        loops_.stop_and_join();
    }

    std::expected<std::vector<ToolInfo>, ToolError> list() override {
        const auto described = run([&] { return describe(); });
        if (!described) return std::unexpected(to_tool_error(described.error().error));
        const auto tools = sw4rm::parse_descriptors(*described);
        if (!tools)
            return std::unexpected(
                ToolError{.code = "INTERNAL", .message = "the list of tools cannot be read"});
        std::vector<ToolInfo> all;
        for (const sw4rm::ToolDescriptor& tool : *tools) {
            all.push_back({.name = std::string(tool.tool_name),
                           .input_schema = std::string(tool.input_schema),
                           .output_schema = std::string(tool.output_schema),
                           .timeout = std::chrono::seconds(tool.default_timeout_s),
                           .idempotent = tool.idempotent,
                           .side_effects = !tool.side_effects.empty()});
        }
        return all;
    }

    CallResult call(const std::string& tool, const std::string& args, const CallOptions& options,
                    const StreamCallbacks* callbacks) override {
        Work work{.tool = tool,
                  .options = options,
                  .call_id = options.call_id.empty() ? fresh_id() : options.call_id,
                  .correlation_id =
                      options.context.trace_id.empty() ? fresh_id() : options.context.trace_id,
                  .wire = {}};
        if (options.content_type.empty()) {
            const auto object = json::Value::parse(args);
            if (!object || object->as_object() == nullptr) {
                return {.call_id = work.call_id,
                        .error = {
                            .code = "INVALID_ARGS",
                            .message = "the arguments must be one JSON object; nothing was sent"}};
            }
        }
        work.wire = {.call_id = work.call_id,
                     .tool_name = tool,
                     .provider_id = options.provider_id,
                     .content_type = options.content_type.empty()
                                         ? std::string_view("application/json")
                                         : std::string_view(options.content_type),
                     .args = args,
                     .policy = to_wire(options.policy, options.timeout)};
        if (callbacks == nullptr)
            return result_of(work.call_id, run([&] { return attempts(work, nullptr); }));
        return stream(work, *callbacks);
    }

    std::expected<CancelStatus, ToolError> cancel(const std::string& call_id,
                                                  const std::string&) override {
        const auto said = run(
            [&] { return client_->cancel(call_id, loop().clock().steady_now() + kShortAnswer); });
        if (!said) return std::unexpected(to_tool_error(said.error().error));
        if (*said == "CANCELLED") return CancelStatus::kCancelling;
        if (*said == "ALREADY_COMPLETED") return CancelStatus::kFinished;
        if (*said == "NOT_FOUND") return CancelStatus::kNotFound;
        return std::unexpected(ToolError{
            .code = *said, .message = "the server could not say whether it cancelled the call"});
    }

private:
    net::EventLoop& loop() { return loops_.at(0); }

    /// Runs what `make` gives on the loop and waits for its end.
    template <class F>
    TaskValue<std::invoke_result_t<F>>::Type run(F make) {
        using T = TaskValue<std::invoke_result_t<F>>::Type;
        std::promise<T> ended;
        loop().post([&] {
            spawn(loop().executor(), make(),
                  [&ended](const std::exception_ptr& failure, std::optional<T> value) {
                      if (failure)
                          ended.set_exception(failure);
                      else
                          ended.set_value(std::move(*value));
                  });
        });
        return ended.get_future().get();
    }

    CallResult stream(const Work& work, const StreamCallbacks& callbacks) {
        FrameQueue frames(loop());
        std::promise<Ended> promise;
        // a cancel may be on its way when the call has ended
        const auto signal = std::make_shared<CancelSignal>();
        loop().post([&] {
            auto ended = [&](const std::exception_ptr& failure, std::optional<Ended> value) {
                if (failure)
                    promise.set_exception(failure);
                else
                    promise.set_value(std::move(*value));
                frames.end();
            };
            spawn(loop().executor(), attempts(work, &frames), std::move(ended), signal.get());
        });
        bool enough = false;
        while (const auto frame = frames.pop()) {
            if (enough || !callbacks.on_frame || callbacks.on_frame(*frame)) continue;
            enough = true;
            frames.close();
            loop().post([signal] { signal->emit(); });
        }
        Ended ended = promise.get_future().get();
        if (enough && !ended)
            return {.call_id = work.call_id,
                    .error = {.code = "CANCELLED", .message = "the caller had enough and hung up"}};
        return result_of(work.call_id, std::move(ended));
    }

    // On the loop. `sink` null: one frame.
    Task<Ended> attempts(const Work& work, core::FrameSink* sink) {
        const SteadyTime started = loop().clock().steady_now();
        const Deadline deadline =
            started + (work.options.timeout.count() > 0 ? work.options.timeout : kUsualTimeout) +
            kMargin;
        for (int number = 1;; ++number) {
            CallAttempt attempt{.call_id = work.call_id,
                                .tool = work.tool,
                                .number = number,
                                .metadata = metadata_of(work)};
            for (const auto& interceptor : options_.interceptors) interceptor(attempt);
            std::vector<net::HttpHeader> fields;
            for (const auto& [name, value] : attempt.metadata) fields.push_back({name, value});
            const sw4rm::ToolServiceClient::Order order{
                .call = work.wire, .metadata = fields, .deadline = deadline, .patience = deadline};
            Ended ended = std::unexpected(sw4rm::CallFailure{});
            if (sink != nullptr)
                ended = co_await client_->call_stream(order, *sink);
            else
                ended = co_await client_->call(order);
            if (ended || number > options_.max_retries || !is_worth_repeating(ended.error()))
                co_return ended;
            const bool harmless = co_await is_idempotent(work);
            if (!harmless) co_return ended;
            const Milliseconds most = core::longest_wait(core::Backoff::kExponential, number);
            const Milliseconds jitter(
                static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most.count() + 1)));
            const SteadyTime at =
                loop().clock().steady_now() +
                std::max(jitter, ended.error().error.retry_after.value_or(Milliseconds(0)));
            if (at >= deadline) co_return ended;
            Waiter pause(loop().timers());
            if (co_await pause.wait(at) == WaitEnd::kCancelled) co_return ended;
        }
    }

    std::vector<std::pair<std::string, std::string>> metadata_of(const Work& work) const {
        std::vector<std::pair<std::string, std::string>> metadata{
            {"x-correlation-id", work.correlation_id}};
        if (!work.options.idempotency_key.empty())
            metadata.emplace_back("idempotency-key", work.options.idempotency_key);
        const std::string& agent = work.options.context.agent_id;
        if (!agent.empty() && agent != CallContext().agent_id)
            metadata.emplace_back("x-agent-id", agent);
        return metadata;
    }

    // By the caller's word, or the server's, which is asked once.
    Task<bool> is_idempotent(const Work& work) {
        if (work.options.idempotent) co_return true;
        if (!known_) {
            const auto described = co_await describe();
            const auto tools = described ? sw4rm::parse_descriptors(*described) : std::nullopt;
            if (!tools) co_return false;
            known_.emplace();
            for (const sw4rm::ToolDescriptor& tool : *tools) {
                if (tool.idempotent) known_->emplace(tool.tool_name);
            }
        }
        co_return known_->contains(work.tool);
    }

    Task<std::expected<std::string, sw4rm::CallFailure>> describe() {
        auto described = co_await client_->describe({}, loop().clock().steady_now() + kShortAnswer);
        if (!described) co_return std::unexpected(std::move(described.error()));
        co_return std::move(*described).value_or(std::string());
    }

    std::string fresh_id() {
        const std::scoped_lock lock(mutex_);
        return std::string(ids_.uuid_v7().view());
    }
    std::uint64_t random() {
        const std::scoped_lock lock(mutex_);
        return ids_.random();
    }

    const ToolClientOptions options_;
    RealClock clock_;
    std::mutex mutex_;
    IdSource ids_;  // under mutex_
    net::NameLookups names_{1};
    net::LoopGroup loops_{1, clock_};
    std::unique_ptr<sw4rm::ToolServiceClient> client_;  // used on the loop
    std::optional<std::set<std::string, std::less<>>> known_;  // idempotent tools; on the loop
};

}  // namespace

bool is_grpc_address(std::string_view text) { return text.starts_with("grpc"); }

Result<GrpcAddress> parse_grpc_address(std::string_view text, PlainReach plain) {
    const auto wrong = [&] {
        return fail(
            ErrorCode::kInvalidArgs,
            fmt::format(
                "gateway `{}`: write grpc://host:port, grpcs://host:port or grpc+unix:/path",
                text));
    };
    GrpcAddress address;
    if (text.starts_with(kUnix)) {
        const auto endpoint = net::parse_endpoint(text.substr(kUnix.size()));
        if (!endpoint || !endpoint->is_unix()) return wrong();
        address.endpoint = *endpoint;
        return address;
    }
    address.tls = text.starts_with(kSecure);
    if (!address.tls && !text.starts_with(kPlain)) return wrong();
    std::string_view authority = text.substr(address.tls ? kSecure.size() : kPlain.size());
    if (authority.ends_with('/')) authority.remove_suffix(1);
    const auto host = net::parse_host(authority);
    if (!host || host->host.empty() || authority.find_first_of("/?# ") != std::string_view::npos)
        return wrong();
    if (!address.tls) {
        if (auto checked = check_plain(text, host->host, plain); !checked)
            return fail(std::move(checked.error()));
    }
    address.endpoint = net::Endpoint::tcp(std::string(host->host), host->port.value_or(kPort));
    return address;
}

Result<std::unique_ptr<ToolTransport>> make_grpc_transport(GrpcAddress address, std::string token,
                                                           ToolClientOptions options) {
    std::shared_ptr<net::TlsContext> tls;
    if (address.tls) {
        net::TlsContext::Options tls_options{
            .role = net::TlsContext::Role::kClient,
            .peer_check = net::TlsContext::PeerCheck::kChainAndName,
            .alpn = "h2"};
        tls_options.ca.file = options.ca_file;
        tls_options.certificate.file = options.cert_file;
        tls_options.key.file = options.key_file;
        auto made = net::TlsContext::make(std::move(tls_options));
        if (!made) return fail(std::move(made.error()));
        tls = std::move(*made);
    }
    return std::make_unique<GrpcToolTransport>(address, std::move(tls), std::move(token),
                                               std::move(options));
}

}  // namespace crab::sdk
