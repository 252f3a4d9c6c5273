#include "core/registry/tool_listing.hpp"

#include "base/log.hpp"
#include "core/registry/ambiguous_names.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::chrono::seconds kAtMostEvery{1};  // lists asked for because of wake()

}  // namespace

ToolListing::ToolListing(const Home& home, std::string_view kind, ToolSource source,
                         ConnectionId owner)
    : RemoteWaiter(home.executor, home.timers),
      home_(home),
      kind_(kind),
      source_(std::move(source)),
      owner_(owner) {
    home_.registry.expect(source_);
}

Task<void> ToolListing::watch(std::shared_ptr<ToolListing> listing, PollSchedule::Times times) {
    ToolListing& self = *listing;
    const Clock& clock = self.home_.clock;
    PollSchedule rhythm(times, clock.steady_now());
    const auto ended = [&self](TaskChain& chain) { return chain.cancelled() || self.gone_; };
    for (;;) {
        const SteadyTime asked = clock.steady_now();
        const Result<void> refreshed = co_await self.refresh(asked + times.answer_within);
        if (ended(co_await this_chain())) co_return;
        const SteadyTime now = clock.steady_now();
        const PollSchedule::Next next =
            refreshed ? rhythm.on_answer(now) : rhythm.on_silence(now, self.status().tools > 0);
        if (refreshed && next.changed)
            log::info(fmt::format("{} answers again", self.kind_), {{"name", self.name()}});
        if (!refreshed) {
            const std::string& reason = refreshed.error().message;
            if (next.changed)
                log::warn(fmt::format("{} does not answer", self.kind_),
                          {{"name", self.name()}, {"reason", reason}});
            if (next.withdraw) {
                log::warn(fmt::format("{} is silent: its tools are withdrawn", self.kind_),
                          {{"name", self.name()}});
                self.forget();
                self.home_.registry.remove_owner(self.owner_);
            }
            self.set_status(false, next.withdraw ? std::optional<std::size_t>(0) : std::nullopt,
                            reason);
        }
        if (co_await self.wait(next.ask) == WaitEnd::kWoken && !self.gone_) {
            // A tool was unknown there; many calls may say so at once.
            Waiter moment(self.home_.timers);
            co_await moment.wait(asked + kAtMostEvery);
        }
        if (ended(co_await this_chain())) co_return;
    }
}

void ToolListing::withdraw() {
    gone_ = true;
    home_.registry.remove_owner(owner_);
    home_.registry.settle(source_);
    wake();
}

ToolListing::Status ToolListing::status() const {
    const std::scoped_lock lock(mutex_);
    Status copy = status_;
    copy.name = name();
    copy.answers = copy.answers && is_reachable();
    return copy;
}

void ToolListing::offer(const ToolList& list, const std::shared_ptr<ToolHost>& host,
                        bool keep_names) {
    if (gone_) return;
    std::vector<ToolRef> tools;
    for (const auto& tool : list.tools) {
        // the source's own prefix is reserved for itself
        const std::string& plain = tool->spec.name;
        tool->unique_name_only = !keep_names && !plain.starts_with(source_.name + "__") &&
                                 home_.registry.is_reserved(plain);
        tool->set_source(source_);
        tool->host = host;
        tools.push_back(tool);
    }
    for (const ToolList::Dropped& one : list.dropped) {
        log::warn(fmt::format("a tool of a {} is left out", kind_),
                  {{"name", name()}, {"tool", one.name}, {"reason", one.reason}});
    }
    home_.registry.replace(owner_, tools);
    home_.registry.settle(source_);
    log_ambiguous_names(*home_.registry.snapshot(), tools, name(), told_ambiguous_);
    set_status(true, tools.size(), {});
    log::info(fmt::format("tools of a {}", kind_), {{"name", name()}, {"tools", tools.size()}});
}

void ToolListing::set_status(bool answers, std::optional<std::size_t> tools, std::string problem) {
    const std::scoped_lock lock(mutex_);
    status_.answers = answers;
    if (tools) status_.tools = *tools;
    status_.problem = std::move(problem);
}

}  // namespace crab::core
