#include "bridge/bridge.hpp"

#include "base/exception_text.hpp"
#include "base/log.hpp"
#include "bridge/record_folders.hpp"
#include "net/loop/loop_thread.hpp"
#include "sdk/private_file.hpp"

#include <algorithm>

namespace crab::bridge {

namespace {

/// The error for a call that threw; details are logged.
cetp::Envelope broke(const cetp::Route& route, const std::exception_ptr& failure) {
    log::error("a call broke",
               {{"tool", route.name}, {"provider", route.provider_id}, {"why", text_of(failure)}});
    return cetp::Envelope::error(cetp::code::kInternalError, "the bridge failed; its log says why");
}

}  // namespace

Bridge::Bridge(BridgePaths paths, crab::DeviceOptions device)
    : paths_(std::move(paths)),
      loop_(clock_),
      transports_(make_transports(loop_, bus_events())),
      caller_(loop_, std::move(transports_.all)),
      device_(with_events(std::move(device))),
      tasks_(std::make_unique<TaskGroup>(loop_.executor())),
      notifications_(loop_, transports_.bus->session(), *tasks_) {
    const ProviderDirectory::Services services{
        .loop = loop_, .blocking = blocking_, .lists = lists_, .caller = caller_, .paths = paths_};
    directory_ = std::make_unique<ProviderDirectory>(
        services, [this](const std::shared_ptr<const cetp::ToolSet>& set) { on_set(set); },
        [this] { write_status(); }, [this] { return bus_names(); });
}

Bridge::~Bridge() = default;

crab::DeviceOptions Bridge::with_events(crab::DeviceOptions options) {
    options.parallel_handlers = kCallsAtOnce;
    options.on_event = [this](const DeviceEvent& event) {
        loop_.post([this, event] { on_event(event); });
    };
    return options;
}

DeviceEnd Bridge::run() {
    net::LoopThread thread(loop_);
    loop_.post([this] { start(); });
    first_set_.get_future().wait();  // so that the first list is a whole one
    DeviceEnd end{DeviceEnd::Reason::kStopped, "stopped"};
    if (!stopping_) {
        device_.start();
        if (stopping_) device_.stop();
        end = device_.wait();
    }
    loop_.post([this] {
        directory_->stop([this] {
            tasks_->stop([this] {
                folders_.reset();
                winding_up_ = true;
                stop_when_idle();
            });
        });
    });
    thread.join();
    std::error_code ignored;
    std::filesystem::remove(paths_.status, ignored);
    return end;
}

/// The device has cancelled what was in progress as it ended.
void Bridge::stop_when_idle() {
    if (winding_up_ && calls_ == 0) transports_.bus->stop([this] { loop_.stop(); });
}

void Bridge::start() {
    std::vector<FolderWatch::Folder> folders;
    for (const RecordFolder& folder : record_folders(paths_)) {
        folders.push_back(
            {folder.path, std::string(folder.ending()), [this] { directory_->on_change(); }});
    }
    folders.push_back({paths_.choices.parent_path(), paths_.choices.filename(),
                       [this] { directory_->on_choices_change(); }});
    folders_ = std::make_unique<FolderWatch>(loop_, std::move(folders));
    tasks_->spawn("folders of records", folders_->run());
    transports_.bus->start();
    directory_->start();
    started_ = true;
}

// --- The bus
// ------------------------------------------------------------------------------------------------

BusLink::Events Bridge::bus_events() {
    const auto rescan = [this] {
        if (started_) directory_->on_change();
    };
    return {
        .on_connection = rescan,
        .on_services =
            [this] {
                if (started_) tasks_->spawn("names of the bus", compare_bus_names());
            },
        .on_tools_changed =
            [this](const std::string& owner) {
                directory_->on_provider_change(transports_.bus->provider_of(owner));
            },
        .on_owner = [this](const std::string& name,
                           const std::string& owner) { on_owner(name, !owner.empty()); },
        .on_click = [this](std::uint32_t notification) { notifications_.on_click(notification); }};
}

void Bridge::on_owner(const std::string& name, bool owned) {
    for (const auto& [id, provider] : directory_->providers()) {
        const cetp::ProviderRecord& record = *provider.record;
        if (record.transport != cetp::Transport::kDbus || record.bus != cetp::Bus::kSession ||
            record.bus_name != name)
            continue;
        // One that a call has just started says nothing new, and one that the bus can start again
        // has not gone.
        if (owned ? !caller_.is_calling(id) : !activatable_.contains(name))
            directory_->on_provider_change(id);
        return;
    }
}

Task<std::set<std::string>> Bridge::activatable_names() {
    const std::vector<std::string> names = co_await transports_.bus->session().activatable_names(
        clock_.steady_now() + ProviderDirectory::kListTimeout);
    co_return std::set<std::string>(names.begin(), names.end());
}

Task<void> Bridge::compare_bus_names() {
    const std::set<std::string> names = co_await activatable_names();
    // A call to who is not there has the bus read its services again, which it tells even when
    // nothing is new.
    if (names != activatable_) directory_->on_change();
}

Task<std::vector<cetp::Candidate>> Bridge::bus_names() {
    std::vector<cetp::Candidate> candidates;
    activatable_ = co_await activatable_names();
    for (const std::string& name : activatable_) {
        auto reading = cetp::read_activatable_name(name);
        if (reading && *reading) candidates.push_back({(**reading)->id, name, *std::move(reading)});
    }
    co_return candidates;
}

// --- The device
// ------------------------------------------------------------------------------------------------

void Bridge::stop() {
    stopping_ = true;
    device_.stop();
    loop_.post([this] {
        if (!std::exchange(has_set_, true)) first_set_.set_value();
    });
}

void Bridge::on_set(const std::shared_ptr<const cetp::ToolSet>& set) {
    std::vector<ToolDefinition> tools;
    for (const auto& [name, route] : set->routes()) {
        auto later = [this, route](const ToolRequest& request, AnswerLater answer) {
            on_request(route, request, std::move(answer));
        };
        tools.push_back({.name = route.name,
                         .description = route.description,
                         .schema = route.parameters,
                         .traits = {.read_only = true, .idempotent = true},
                         .later = std::move(later)});
    }
    device_.set_tools(std::move(tools));
    log::info("tools registered",
              {{"tools", set->routes().size()},
               {"since_scan_ms",
                std::chrono::duration_cast<Milliseconds>(directory_->since_scan()).count()}});
    if (!std::exchange(has_set_, true)) first_set_.set_value();
}

void Bridge::on_event(const DeviceEvent& event) {
    switch (event.kind) {
        case DeviceEvent::Kind::kConnected:
            status_.link = {.connected = true, .device = event.device, .tools = event.tools};
            log::info("connected to the gateway",
                      {{"device", event.device}, {"tools", event.tools}});
            break;
        case DeviceEvent::Kind::kLost:
            status_.link = {.connected = false, .message = event.message};
            log::warn("not connected to the gateway",
                      {{"why", event.message}, {"retry_in_ms", event.retry_in.count()}});
            break;
        case DeviceEvent::Kind::kRejected:
            log::warn("the gateway refused a tool", {{"why", event.message}});
            break;
        case DeviceEvent::Kind::kNotice: log::warn("notice", {{"message", event.message}}); break;
    }
    write_status();
}

// --- Calls
// ------------------------------------------------------------------------------------------------

Task<cetp::Envelope> Bridge::call(cetp::Route route, cetp::MethodCall call, Deadline deadline) {
    const auto found = directory_->providers().find(route.provider_id);
    if (found == directory_->providers().end())
        co_return cetp::Envelope::error(cetp::code::kToolNotFound, "Unknown tool: " + route.name);
    auto provider = found->second.record;
    co_return co_await caller_.call(std::move(provider), std::move(call),
                                    cetp::RetrySequence::Purpose::kExecution, deadline);
}

/// On the device's thread.
void Bridge::on_request(const cetp::Route& route, const ToolRequest& request, AnswerLater answer) {
    const SteadyTime began = clock_.steady_now();
    const Milliseconds left = std::chrono::duration_cast<Milliseconds>(request.deadline() - began);
    const Deadline deadline = request.deadline() - std::min(kMargin, left / 2);
    const auto cancelled = std::make_shared<CancelSignal>();
    loop_.post([this, cancelled, route, request, began, deadline, answer = std::move(answer)] {
        ++calls_;
        auto task = call(
            route, cetp::MethodCall::execute_tool(route.tool, request.args(), request.call_id()),
            deadline);
        const auto on_call_end = [this, cancelled, route, request, began, answer](
                                     const std::exception_ptr& failure,
                                     std::optional<cetp::Envelope> envelope) {
            if (failure) envelope = broke(route, failure);
            answer(envelope->success ? ToolAnswer::text(envelope->data)
                                     : ToolAnswer::failure(envelope->agent_text()));
            on_end(route, request.call_id(), began, *envelope);
        };
        spawn(loop_.executor(), std::move(task), on_call_end, cancelled.get());
    });
    request.on_cancel([this, cancelled] { loop_.post([cancelled] { cancelled->emit(); }); });
}

void Bridge::on_end(const cetp::Route& route, const std::string& call_id, SteadyTime began,
                    const cetp::Envelope& envelope) {
    log::info(
        "call",
        {{"call_id", call_id},
         {"tool", route.name},
         {"provider", route.provider_id},
         {"outcome", envelope.success ? std::string("success") : envelope.code},
         {"ms", std::chrono::duration_cast<Milliseconds>(clock_.steady_now() - began).count()}});
    on_answer(route, envelope);
    --calls_;
    stop_when_idle();
}

void Bridge::on_answer(const cetp::Route& route, const cetp::Envelope& envelope) {
    if (envelope.success) {
        if (status_.user_actions.erase(route.provider_id) > 0) write_status();
    } else if (envelope.needs_person()) {
        status_.user_actions[route.provider_id] = {route.name, envelope.message, envelope.hint,
                                                   envelope.intent, clock_.system_now()};
        log::warn("a provider wants the person to act",
                  {{"provider", route.provider_id}, {"tool", route.name}, {"hint", envelope.hint}});
        if (const auto found = directory_->providers().find(route.provider_id);
            found != directory_->providers().end())
            notifications_.tell(*found->second.record, envelope);
        write_status();
    } else if (envelope.code == cetp::code::kToolNotFound) {
        directory_->on_provider_change(route.provider_id);
    } else if (envelope.not_spoken) {
        directory_->on_not_spoken(route.provider_id, envelope);
    }
}

// --- Status
// ------------------------------------------------------------------------------------------------

void Bridge::write_status() {
    status_changed_ = true;
    if (!std::exchange(status_writing_, true)) tasks_->spawn("status file", write_status_file());
}

Task<void> Bridge::write_status_file() {
    TaskChain& chain = co_await this_chain();
    co_await yield_to_loop();  // what else changes in this turn
    while (std::exchange(status_changed_, false) && !chain.cancelled()) {
        auto write = [file = paths_.status, text = status_.to_json(*directory_).dump() + "\n"] {
            return sdk::write_private_file(file, text);
        };
        const auto written = co_await blocking_.run(std::move(write));
        if (!written)
            log::warn("the status file is not written", {{"why", written.error().message}});
    }
    status_writing_ = false;
}

}  // namespace crab::bridge
