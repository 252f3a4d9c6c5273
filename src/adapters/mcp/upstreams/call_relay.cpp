#include "adapters/mcp/upstreams/call_relay.hpp"

#include "base/task/run_on.hpp"
#include "core/call/long_call.hpp"

#include <optional>
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

/// What an upstream has to know of how a call may go on, and says to its front.
class RemoteLongCall final : public core::LongCall {
public:
    RemoteLongCall(const Executor& front, core::LongCall& call)
        : front_(front),
          call_(call),
          outlives_(call.outlives_gateway()),
          refuses_(call.refuses_deferred()),
          resumes_(call.resumes()) {}

    bool outlives_gateway() const override { return outlives_; }
    std::string_view resumes() const override { return resumes_; }
    bool stays_open() const override { return call_.stays_open(); }
    void on_asked(std::string_view) override {}  // the pipeline says that, on the front's loop
    void on_deferred(std::string_view resume) override {
        asio::post(front_,
                   [&call = call_, resume = std::string(resume)] { call.on_deferred(resume); });
    }
    bool refuses_deferred() const override { return refuses_; }

private:
    const Executor front_;
    core::LongCall& call_;
    const bool outlives_, refuses_;
    const std::string resumes_;
};

class RemoteInquirer final : public core::Inquirer {
public:
    RemoteInquirer(const Executor& front, core::Inquirer& inquirer, Answers answers)
        : front_(front), inquirer_(inquirer), answers_(answers) {
        if (core::LongCall* const call = inquirer.long_call()) long_call_.emplace(front, *call);
    }

    Answers answers() const override { return answers_; }
    Task<Result<std::string>> ask(core::Question question) override {
        return run_on(front_, inquirer_.ask(std::move(question)));
    }
    core::LongCall* long_call() override { return long_call_ ? &*long_call_ : nullptr; }

private:
    const Executor front_;
    core::Inquirer& inquirer_;
    const Answers answers_;
    std::optional<RemoteLongCall> long_call_;
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
