#include "bridge/notifications.hpp"

#include "adapters/cetp/manifest.hpp"
#include "base/log.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kService = "org.freedesktop.Notifications";
constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kMostShown = 64;
constexpr std::string_view kSuffix = ".desktop";

/// Names of actions are plain; anything else is only ever text.
bool is_action(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    });
}

}  // namespace

void Notifications::tell(const cetp::ProviderRecord& provider, const cetp::Envelope& request) {
    const SteadyTime now = loop_.clock().steady_now();
    if (const auto before = told_.find(provider.id);
        before != told_.end() && now - before->second < kEvery)
        return;
    told_[provider.id] = now;
    std::string text = request.hint.empty() ? request.message : request.hint;
    Action action;
    if (provider.desktop_id.ends_with(kSuffix) && is_action(request.intent)) {
        action = {provider.desktop_id.substr(0, provider.desktop_id.size() - kSuffix.size()),
                  request.intent};
    } else if (!request.intent.empty()) {
        text += fmt::format(" ({})", request.intent);
    }
    tasks_.spawn("notification", show(fmt::format("{} wants you to act", provider.name),
                                      std::move(text), std::move(action)));
}

Task<void> Notifications::show(std::string title, std::string text, Action action) {
    Value actions = Value::array(), hints = Value::object();
    if (!action.name.empty()) {
        actions = Value::array({Value("default"), Value("Open")});
        hints.set("desktop-entry", action.desktop_id);
    }
    BusCall notify{kService,
                   "/org/freedesktop/Notifications",
                   kService,
                   "Notify",
                   "susssasa{sv}i",
                   {Value("crab"), Value(0), Value(""), Value(std::move(title)),
                    Value(std::move(text)), std::move(actions), std::move(hints), Value(-1)}};
    const auto values =
        co_await session_.call(std::move(notify), loop_.clock().steady_now() + kPatience);
    const Value* id = values ? values->resolve("/0") : nullptr;
    // a desktop that shows none has `crab bridge status`
    if (id == nullptr || !id->as_int64() || action.name.empty()) co_return;
    if (shown_.size() >= kMostShown) shown_.erase(shown_.begin());
    shown_.insert_or_assign(static_cast<std::uint32_t>(*id->as_int64()), std::move(action));
}

void Notifications::on_click(std::uint32_t notification) {
    const auto found = shown_.find(notification);
    if (found == shown_.end()) return;
    tasks_.spawn("action of an app", start(std::move(found->second)));
    shown_.erase(found);
}

Task<void> Notifications::start(Action action) {
    BusCall activate{action.desktop_id,
                     cetp::default_object_path(action.desktop_id),
                     "org.freedesktop.Application",
                     "ActivateAction",
                     "sava{sv}",
                     {Value(action.name), Value::array(), Value::object()}};
    const auto done =
        co_await session_.call(std::move(activate), loop_.clock().steady_now() + kPatience);
    if (!done)
        log::warn("an app does not do what it asked for",
                  {{"app", action.desktop_id}, {"why", done.error().message}});
}

}  // namespace crab::bridge
