#include "bridge/provider_directory.hpp"

#include "base/log.hpp"
#include "base/task/on_cancel.hpp"
#include "bridge/built_in/built_in_provider.hpp"
#include "bridge/record_folders.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>

namespace crab::bridge {

using cetp::Envelope;

std::string_view name_of(KnownProvider::State state) {
    switch (state) {
        case KnownProvider::State::kOff: return "off";
        case KnownProvider::State::kListing: return "listing";
        case KnownProvider::State::kListed: return "listed";
        case KnownProvider::State::kRejected: return "left out";
    }
    return "";
}

ProviderDirectory::ProviderDirectory(const Services& services, OnSet on_set,
                                     std::function<void()> on_status, MoreCandidates more)
    : services_(services),
      on_set_(std::move(on_set)),
      on_status_(std::move(on_status)),
      more_(std::move(more)),
      changed_(services.loop.timers()),
      tasks_(services.loop.executor()) {}

void ProviderDirectory::start() { tasks_.spawn("provider scans", watch_changes()); }

// --- Scanning
// ------------------------------------------------------------------------------------------------

void ProviderDirectory::on_change() {
    refresh_.on_change(services_.loop.clock().steady_now());
    changed_.wake();
}

void ProviderDirectory::on_choices_change() { tasks_.spawn("choices", compare_choices()); }

Task<void> ProviderDirectory::compare_choices() {
    auto load = [&paths = services_.paths] { return UserChoices::load(paths.choices); };
    const auto choices = co_await services_.blocking.run(std::move(load));
    if (!choices || choices->enabled != choices_.enabled) on_change();
}

void ProviderDirectory::on_provider_change(std::string_view id) {
    const auto found = providers_.find(id);
    if (found == providers_.end()) return;
    found->second.refresh.on_change(services_.loop.clock().steady_now());
    changed_.wake();
}

void ProviderDirectory::on_not_spoken(std::string_view id, const Envelope& answer) {
    const auto found = providers_.find(id);
    if (found == providers_.end() || found->second.state != KnownProvider::State::kListed) return;
    found->second.broken = answer.not_spoken;
    take_list(found->second, fail(ErrorCode::kUnavailable, answer.agent_text()));
    publish_soon();
}

Deadline ProviderDirectory::next_due() const {
    Deadline due = refresh_.due();
    for (const auto& [id, provider] : providers_) due = std::min(due, provider.refresh.due());
    return due;
}

Task<void> ProviderDirectory::watch_changes() {
    TaskChain& chain = co_await this_chain();
    co_await scan();
    while (!chain.cancelled()) {
        co_await changed_.wait(next_due());
        if (chain.cancelled()) break;
        const SteadyTime now = services_.loop.clock().steady_now();
        for (auto& [id, provider] : providers_) {
            if (provider.refresh.take(now)) ask(id);
        }
        if (refresh_.take(now))
            co_await scan();
        else
            ask_next();
    }
}

Task<void> ProviderDirectory::scan() {
    scan_began_ = services_.loop.clock().steady_now();
    auto read = [&paths = services_.paths] {
        return Found{read_records(paths), UserChoices::load(paths.choices)};
    };
    Found found = co_await services_.blocking.run(std::move(read));
    if (more_) {
        std::vector<cetp::Candidate> more = co_await more_();
        std::ranges::move(more, std::back_inserter(found.candidates));
    }
    cetp::Discovery discovery = cetp::choose(std::move(found.candidates));
    diagnostics_ = std::move(discovery.diagnostics);
    if (found.choices) {
        choices_ = std::move(*found.choices);
    } else {
        diagnostics_.push_back(found.choices.error().message);  // what was decided before stands
    }
    for (const std::string& diagnostic : diagnostics_)
        log::warn("a record of a provider is skipped", {{"why", diagnostic}});
    if (!std::exchange(scanned_, true))
        labels_ = cetp::LabelTable(choices_.labels, built_in_labels());
    take_records(std::move(discovery.records));
    ask_next();
    publish_soon();
}

void ProviderDirectory::take_records(std::vector<cetp::ProviderRecord> records) {
    Providers next;
    for (cetp::ProviderRecord& record : records) {
        const auto before = providers_.find(record.id);
        KnownProvider provider =
            before != providers_.end() ? std::move(before->second) : KnownProvider();
        if (provider.record == nullptr || *provider.record != record) {
            provider.record = std::make_shared<cetp::ProviderRecord>(std::move(record));
            provider.broken = false;
        }
        if (!choices_.allows(*provider.record)) {
            provider.state = KnownProvider::State::kOff;
            provider.tools.clear();
        } else if (provider.state == KnownProvider::State::kOff) {
            provider.state = KnownProvider::State::kListing;
            provider.broken = false;  // the person may know better
        }
        next.emplace(provider.record->id, std::move(provider));
    }
    providers_ = std::move(next);
    for (const auto& [id, provider] : providers_) ask(id);
}

// --- Lists of tools
// ------------------------------------------------------------------------------------------------

void ProviderDirectory::ask(std::string_view id) {
    const auto found = providers_.find(id);
    if (found == providers_.end() || found->second.state == KnownProvider::State::kOff ||
        found->second.broken || std::exchange(found->second.queued, true))
        return;
    to_ask_.emplace_back(id);
}

void ProviderDirectory::ask_next() {
    for (std::size_t left = to_ask_.size(); left > 0 && !to_ask_.empty() && asking_ < kAtOnce;
         --left) {
        std::string id = std::move(to_ask_.front());
        to_ask_.pop_front();
        const auto found = providers_.find(id);
        if (found == providers_.end()) continue;
        if (found->second.asked) {  // once more, when its answer is here
            to_ask_.push_back(std::move(id));
            continue;
        }
        found->second.queued = false;
        if (found->second.state == KnownProvider::State::kOff) continue;
        found->second.asked = true;
        ++asking_;
        tasks_.spawn("list of " + id, list(id));
    }
}

Task<void> ProviderDirectory::list(std::string id) {
    const auto record = providers_.at(id).record;
    const Deadline deadline = services_.loop.clock().steady_now() + kListTimeout;
    Envelope answer = co_await services_.caller.call(
        record, cetp::MethodCall::list_tools(), cetp::RetrySequence::Purpose::kDiscovery, deadline);
    const bool not_spoken = answer.not_spoken;
    auto tools = co_await read(id, std::move(answer));
    if ((co_await this_chain()).cancelled()) co_return;
    --asking_;
    if (const auto found = providers_.find(id); found != providers_.end()) {
        found->second.asked = false;
        if (found->second.record == record && found->second.state != KnownProvider::State::kOff) {
            found->second.broken = not_spoken;
            take_list(found->second, std::move(tools));
        }
    }
    ask_next();
    publish_soon();
}

/// Beside the loop, whose calls of other providers do not wait for it.
Task<Result<cetp::ToolList>> ProviderDirectory::read(std::string id, Envelope answer) {
    if (!answer.success) co_return fail(ErrorCode::kUnavailable, answer.agent_text());
    TaskChain& chain = co_await this_chain();
    if (chain.cancelled()) co_return fail(ErrorCode::kCancelled, "the bridge ends");
    const auto stopped = std::make_shared<std::atomic<bool>>(false);
    const OnCancel stop(chain, [stopped] { *stopped = true; });
    const auto reader = std::make_shared<cetp::ToolListReader>(std::move(answer.data));
    const auto begin = [&](std::coroutine_handle<> asking, TaskChain& home) {
        services_.lists.post(id, [reader, stopped, asking, executor = home.executor()] {
            if (!*stopped && reader->step()) return true;
            asio::post(executor, [asking] { asking.resume(); });
            return false;
        });
    };
    co_await suspend(begin);
    co_return reader->take();
}

void ProviderDirectory::take_list(KnownProvider& provider, Result<cetp::ToolList> list) {
    provider.problem.clear();
    provider.diagnostics.clear();
    if (list) {
        provider.tools = std::move(list->tools);
        provider.diagnostics = std::move(list->diagnostics);
        provider.state = KnownProvider::State::kListed;
        log::info("provider listed",
                  {{"provider", provider.record->id}, {"tools", provider.tools.size()}});
    } else {
        provider.problem = std::move(list.error().message);
        provider.state = KnownProvider::State::kRejected;
        provider.tools.clear();
        log::warn("provider left out",
                  {{"provider", provider.record->id}, {"why", provider.problem}});
    }
}

// --- Sets
// ------------------------------------------------------------------------------------------------

void ProviderDirectory::publish_soon() {
    if (asking_ == 0 && to_ask_.empty()) return publish();
    last_news_ = services_.loop.clock().steady_now();
    if (!std::exchange(publish_waits_, true)) tasks_.spawn("tools so far", publish_later());
}

Task<void> ProviderDirectory::publish_later() {
    TaskChain& chain = co_await this_chain();
    Waiter pause(services_.loop.timers());
    const Deadline latest = services_.loop.clock().steady_now() + kGather;
    for (Deadline due = last_news_ + kQuiet;
         due > services_.loop.clock().steady_now() && !chain.cancelled();
         due = std::min(last_news_ + kQuiet, latest)) {
        co_await pause.wait(due);
    }
    publish_waits_ = false;
    if (!chain.cancelled()) publish();
}

void ProviderDirectory::publish() {
    std::vector<cetp::ListedProvider> listed;
    for (const auto& [id, provider] : providers_) {
        if (!provider.tools.empty())
            listed.push_back({id, provider.record->name, provider.record->label, provider.tools});
    }
    auto set = cetp::ToolSet::build(std::move(listed), labels_);
    if (labels_.entries() != choices_.labels) {
        choices_.labels = labels_.entries();
        services_.blocking.post([file = services_.paths.choices, labels = choices_.labels] {
            auto kept = UserChoices::load(file);  // the user may have decided something meanwhile
            if (!kept) return;
            kept->labels = labels;
            if (const auto saved = kept->save(file); !saved)
                log::warn("labels are not kept", {{"why", saved.error().message}});
        });
    }
    if (set_ == nullptr || !set->same_tools(*set_)) {
        set_ = std::move(set);
        for (const std::string& diagnostic : set_->diagnostics())
            log::warn("tools are left out", {{"why", diagnostic}});
        on_set_(set_);
    }
    on_status_();
}

}  // namespace crab::bridge
