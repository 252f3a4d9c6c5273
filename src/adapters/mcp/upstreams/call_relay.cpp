#include "adapters/mcp/upstreams/call_relay.hpp"

#include "base/task/run_on.hpp"

#include <string>
#include <utility>

namespace crab::mcp {
namespace {

/// The sink of a call as the upstream's loop sees it. What it posts arrives before the reply does,
/// so the front's sink is still there.
class RemoteSink final : public core::FrameSink {
public:
    RemoteSink(const Executor& front, core::FrameSink& sink)
        : front_(front),
          sink_(sink),
          wants_progress_(sink.wants_progress()),
          level_(sink.wanted_log_level()) {}

    void on_progress(const core::Progress& progress) override {
        asio::post(front_, [&sink = sink_, progress] { sink.on_progress(progress); });
    }
    bool wants_progress() const override { return wants_progress_; }
    void on_log(const Log& log) override {
        asio::post(front_, [&sink = sink_, level = std::string(log.level),
                            logger = std::string(log.logger), data = std::string(log.data)] {
            sink.on_log({.level = level, .logger = logger, .data = data});
        });
    }
    std::string_view wanted_log_level() const override { return level_; }
    void on_deferred() override {
        asio::post(front_, [&sink = sink_] { sink.on_deferred(); });
    }

private:
    const Executor front_;
    core::FrameSink& sink_;
    const bool wants_progress_;
    const std::string level_;
};

class RemoteInquirer final : public core::Inquirer {
public:
    RemoteInquirer(const Executor& front, core::Inquirer& inquirer, Answers answers)
        : front_(front), inquirer_(inquirer), answers_(answers) {}

    Answers answers() const override { return answers_; }
    Task<Result<std::string>> ask(core::Question question) override {
        return run_on(front_, inquirer_.ask(std::move(question)));
    }

private:
    const Executor front_;
    core::Inquirer& inquirer_;
    const Answers answers_;
};

}  // namespace

Task<Result<CallReply>> relay_call(UpstreamCalls& calls, UpstreamCall call, core::FrameSink& sink,
                                   core::Inquirer* inquirer) {
    const Executor front = (co_await this_chain()).executor();
    if (front == calls.home()) {
        call.request.sink = &sink;
        call.request.inquirer = inquirer;
        co_return co_await calls.send(std::move(call));
    }
    RemoteSink remote_sink(front, sink);
    std::optional<RemoteInquirer> remote_inquirer;
    if (inquirer != nullptr) remote_inquirer.emplace(front, *inquirer, call.answers);
    call.request.sink = &remote_sink;
    call.request.inquirer = remote_inquirer ? &*remote_inquirer : nullptr;
    co_return co_await run_on(calls.home(), calls.send(std::move(call)));
}

}  // namespace crab::mcp
