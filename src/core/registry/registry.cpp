#include "core/registry/registry.hpp"

#include "base/ascii.hpp"
#include "base/closest_name.hpp"
#include "core/policy/policy.hpp"
#include "core/registry/absent_tool.hpp"

#include <algorithm>
#include <memory_resource>
#include <unordered_set>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::string_view kSeparator = "__";  // of source and name

/// Whether the caller acts for the tenant at all.
bool is_of_tenant(const View& view) {
    return view.tenant.empty() || view.principal->may_act_in(view.tenant);
}

std::string_view tenant_of(const View& view) {
    return view.tenant.empty() ? std::string_view(view.principal->tenant.text()) : view.tenant;
}

bool is_visible(const View& view, const Tool& tool) {
    if (!is_of_tenant(view)) return false;
    const std::string_view tenant = tenant_of(view);
    const auto is_it = [&](const TenantId& its) { return its.text() == tenant; };
    if (!tool.tenant.empty() && !tenant.empty() && !is_it(tool.tenant) &&
        std::ranges::none_of(tool.more_tenants, is_it))
        return false;
    if (view.scope != nullptr && !view.scope->holds(tool)) return false;
    return view.policy->may_call(*view.principal, tool, tenant);
}

bool is_same(const ToolSource& one, const ToolSource& other) {
    return one.kind == other.kind && one.name == other.name;
}

Error not_told_yet(const ToolSource& source) {
    return Error{.code = ErrorCode::kUnavailable,
                 .message = fmt::format(
                     "{} has not listed its tools since this gateway started, and this may "
                     "be one of them; nothing was run now, call again in a moment",
                     source.name),
                 .details = {},
                 .retryable = true,
                 .retry_after = Milliseconds(1'000)};
}

Error ambiguous(std::string_view name, std::span<const ToolRef> choices, bool more) {
    std::vector<std::string> names;
    for (const ToolRef& tool : choices) names.push_back(tool->unique_name);
    std::ranges::sort(names);
    std::string details = R"({"choices":[)";
    for (const std::string& choice : names)
        details += fmt::format(R"({}"{}")", &choice == &names.front() ? "" : ",", choice);
    details += "]}";
    return Error{.code = ErrorCode::kAmbiguousTool,
                 .message = fmt::format("several devices offer {}; use one of {}{}", name,
                                        fmt::join(names, ", "), more ? ", …" : ""),
                 .details = std::move(details),
                 .retryable = {},
                 .retry_after = {}};
}

}  // namespace

/// It says all that is_visible() looks at.
std::string listing_key(const View& view) {
    const std::string_view tenant = tenant_of(view);
    return fmt::format("{}{}:{}{}", is_of_tenant(view) ? '+' : '-', tenant.size(), tenant,
                       view.policy->caller_key(*view.principal, tenant));
}

/// Whether tools are there whose unique names begin so.
bool RegistrySnapshot::has_source(std::string_view prefix) const {
    bool found = false;
    names_.for_each_after(prefix, [&](std::string_view name, const Name&) {
        found = name.starts_with(prefix);
        return false;
    });
    return found;
}

/// The source that has not told its tools and may have this one, if the caller might call it there;
/// nothing is said to others.
const ToolSource* RegistrySnapshot::expected_source(const View& view, std::string_view name,
                                                    std::string_view provider) const {
    if (!expected_) return nullptr;
    const std::size_t mark = provider.empty() ? name.find("__") : std::string_view::npos;
    for (const ToolSource& source : *expected_) {
        if (!provider.empty() && provider != source.name) continue;
        std::string_view plain = name;
        if (provider.empty() && name.starts_with(source.name) &&
            name.substr(source.name.size()).starts_with("__"))
            plain.remove_prefix(source.name.size() + 2);
        else if (mark != std::string_view::npos && has_source(name.substr(0, mark + 2)))
            continue;  // a name of another source, which is there
        if (is_tool_name(plain) && is_visible(view, *absent_tool(source, plain, {})))
            return &source;
    }
    return nullptr;
}

/// Why a name that nobody has may have a tool all the same, for those who might call it.
std::optional<Error> RegistrySnapshot::not_here(const View& view, std::string_view name,
                                                std::string_view provider) const {
    if (const ToolSource* source = expected_source(view, name, provider))
        return not_told_yet(*source);
    if (absent_ == nullptr) return std::nullopt;
    for (const auto& tool : absent_->meant_by(name, provider)) {
        if (is_visible(view, *tool)) return not_told_yet(tool->source);
    }
    return std::nullopt;
}

ToolRef RegistrySnapshot::visible_own(const View& view, std::string_view unique_name,
                                      std::string_view plain_name) const {
    const Name* found = entries_.find(unique_name);
    return found != nullptr ? visible_own(view, *found->entry, plain_name) : nullptr;
}

/// The registration that wins among those with one unique name: the gateway's own, that of a
/// configured or paired source before a device's, that of the preferred connection, the latest.
ToolRef RegistrySnapshot::visible_own(const View& view, const Entry& entry,
                                      std::string_view plain_name) {
    const auto rank = [&](const Tool& tool) {
        if (!tool.is_qualified()) return 3;
        if (tool.source.kind != SourceKind::kDevice) return 2;
        return view.prefer != ConnectionId{} && tool.source.connection == view.prefer ? 1 : 0;
    };
    const ToolRef* best = nullptr;
    for (const ToolRef& tool : entry.own) {
        if (!plain_name.empty() && tool->spec.name != plain_name) continue;
        if (is_visible(view, *tool) && (best == nullptr || rank(*tool) >= rank(**best)))
            best = &tool;
    }
    return best != nullptr ? *best : nullptr;
}

template <class F>
void RegistrySnapshot::for_each_candidate(const View& view, std::string_view plain_name,
                                          const Entry& entry, F&& visit) const {
    bool any = false;
    const auto visit_those = [&](bool unlisted) {
        entry.plain_of.for_each_after({}, [&](std::string_view unique) {
            ToolRef tool = visible_own(view, unique, plain_name);
            if (!tool || tool->unlisted != unlisted) return true;
            any = true;
            return visit(std::move(tool));
        });
    };
    // What nobody sees does not take a name from what is listed.
    visit_those(false);
    if (!any) visit_those(true);
}

Result<ToolRef> RegistrySnapshot::resolve(const View& view, std::string_view name,
                                          std::string_view provider) const {
    constexpr std::size_t kMaxChoices = 32;
    const Name* found = entries_.find(name);
    if (found != nullptr && provider.empty()) {
        if (found->only && is_visible(view, *found->only)) return found->only;
        if (ToolRef own = visible_own(view, *found->entry)) return own;
    }
    if (!provider.empty() || !view.prefer_source.empty()) {
        const std::string_view source = provider.empty() ? view.prefer_source : provider;
        if (ToolRef own = visible_own(view, fmt::format("{}__{}", source, name), name)) return own;
    }
    if (found != nullptr && provider.empty()) {
        ToolRef only;
        std::vector<ToolRef> choices;  // filled only when there is a choice
        for_each_candidate(view, name, *found->entry, [&](ToolRef tool) {
            if (!only) {
                only = std::move(tool);
                return true;
            }
            if (choices.empty()) choices.push_back(only);
            choices.push_back(std::move(tool));
            return choices.size() <= kMaxChoices;
        });
        if (only && choices.empty()) return only;
        const bool more = choices.size() > kMaxChoices;
        if (more) choices.pop_back();
        if (!choices.empty()) return fail(ambiguous(name, choices, more));
    }
    if (auto unavailable = not_here(view, name, provider)) return fail(std::move(*unavailable));
    constexpr std::size_t kSuggestFrom = 500;  // beyond that a suggestion costs more than it helps
    std::vector<std::string> names;
    if (tools_ <= kSuggestFrom) {
        for (Listed& listed : list(view)) names.push_back(std::move(listed.name));
    }
    const std::string_view near = closest_name(name.substr(0, 128), names);
    return fail(
        ErrorCode::kToolNotFound,
        near.empty()
            ? std::string("no tool of that name is visible to you; list the tools to see which are "
                          "there now")
            : fmt::format("no tool of that name is visible to you; did you mean {}?", near));
}

/// Whether the plain name does not lead to the one tool that has it.
bool RegistrySnapshot::is_ambiguous(const View& view, std::string_view plain_name) const {
    const Name* found = entries_.find(plain_name);
    if (found == nullptr) return true;
    if (found->is_plain) return !is_visible(view, *found->only);
    // taken by a built-in's or somebody's unique name
    if (visible_own(view, *found->entry)) return true;
    int candidates = 0;
    for_each_candidate(view, plain_name, *found->entry,
                       [&](const ToolRef&) { return ++candidates < 2; });
    return candidates != 1;
}

/// The tool that is listed under this name; null when none is, and an unlisted one is none.
ToolRef RegistrySnapshot::listed_as(const View& view, std::string_view name,
                                    const Name& found) const {
    ToolRef tool;
    if (found.is_plain) {  // as most are
        if (is_visible(view, *found.only)) tool = found.only;
    } else if (ToolRef own = visible_own(view, *found.entry)) {
        // A qualified name is listed only where the plain one does not do.
        if (!own->has_plain_name() || is_ambiguous(view, own->spec.name)) tool = std::move(own);
    } else if (!is_ambiguous(view, name)) {
        for_each_candidate(view, name, *found.entry, [&](ToolRef each) {
            tool = std::move(each);
            return false;
        });
    }
    return tool && !tool->unlisted ? tool : nullptr;
}

std::vector<RegistrySnapshot::Listed> RegistrySnapshot::list(const View& view,
                                                             std::string_view after,
                                                             std::size_t limit) const {
    std::vector<Listed> page;
    if (limit == 0) return page;
    if (after.empty() && limit == SIZE_MAX) return list_all(view);
    names_.for_each_after(after, [&](std::string_view name, const Name& found) {
        if (ToolRef tool = listed_as(view, name, found))
            page.push_back({std::string(name), std::move(tool)});
        return page.size() < limit;
    });
    return page;
}

/// Looks at each tool once: what its plain name leads to alone need not be asked of its other name.
std::vector<RegistrySnapshot::Listed> RegistrySnapshot::list_all(const View& view) const {
    struct Line {
        std::string_view name;
        const Name* found = nullptr;
        ToolRef tool{};
    };
    std::vector<Line> lines;
    lines.reserve(2 * tools_);  // a plain and a qualified name
    std::pmr::monotonic_buffer_resource memory;
    std::pmr::unordered_set<const Tool*> settled(tools_, &memory);
    names_.for_each_after({}, [&](std::string_view name, const Name& found) {
        lines.push_back({name, &found});
        if (!found.is_plain) return true;
        settled.insert(found.only.get());
        lines.back().tool = listed_as(view, name, found);
        return true;
    });
    std::vector<Listed> all;
    all.reserve(settled.size());
    for (Line& line : lines) {
        const Name& found = *line.found;
        if (!found.is_plain && !(found.only && settled.contains(found.only.get())))
            line.tool = listed_as(view, line.name, found);
        if (line.tool) all.push_back({std::string(line.name), std::move(line.tool)});
    }
    return all;
}

ToolRef RegistrySnapshot::only_of(std::string_view key, const Entry& entry) const {
    if (entry.own.size() + (entry.plain_of.empty() ? 0 : 1) != 1) return nullptr;
    if (!entry.own.empty()) return entry.own.front();
    const auto unique = entry.plain_of.only();
    const Name* target = unique ? entries_.find(*unique) : nullptr;
    if (target == nullptr) return nullptr;
    ToolRef only;
    for (const ToolRef& tool : target->entry->own) {
        if (tool->spec.name != key) continue;
        if (only) return nullptr;
        only = tool;
    }
    return only;
}

/// Whoever changes the registrations of a unique name changes the entry of its plain name
/// afterwards.
void RegistrySnapshot::change(std::string_view key, const std::function<void(Entry&)>& edit) {
    note_changed(key);
    const Name* old = entries_.find(key);
    auto entry = old != nullptr ? std::make_shared<Entry>(*old->entry) : std::make_shared<Entry>();
    edit(*entry);
    if (entry->own.empty() && entry->plain_of.empty()) {
        entries_ = entries_.erase(key);
        names_ = names_.erase(key);
        return;
    }
    Name name{.only = only_of(key, *entry), .entry = std::move(entry)};
    name.is_plain = name.only && name.entry->own.empty();
    names_ = names_.set(key, name);
    entries_ = entries_.set(key, std::move(name));
}

void RegistrySnapshot::add(const ToolRef& tool) {
    ++tools_;
    const std::string& unique = tool->unique_name;
    change(unique, [&](Entry& entry) { entry.own.push_back(tool); });
    if (tool->has_plain_name())
        change(tool->spec.name,
               [&](Entry& entry) { entry.plain_of = entry.plain_of.insert(unique); });
}

void RegistrySnapshot::remove(const ToolRef& tool) {
    --tools_;
    const std::string& unique = tool->unique_name;
    bool last = false;
    change(unique, [&](Entry& entry) {
        std::erase(entry.own, tool);
        last = std::ranges::none_of(
            entry.own, [&](const ToolRef& other) { return other->spec.name == tool->spec.name; });
    });
    if (!tool->has_plain_name()) return;
    change(tool->spec.name, [&](Entry& entry) {
        if (last) entry.plain_of = entry.plain_of.erase(unique);
    });
}

Registry::Registry() : current_(std::make_shared<RegistrySnapshot>()) {}

/// A copy of what is there now, to be changed.
std::shared_ptr<RegistrySnapshot> Registry::next() const {
    return std::make_shared<RegistrySnapshot>(*current_.get());
}

void Registry::publish(std::shared_ptr<RegistrySnapshot> next) {
    next->changing_ = nullptr;
    current_.set(std::move(next));
    changes_.notify();
}

void Registry::change(ConnectionId owner, std::span<const ToolRef> add,
                      std::span<const std::string> drop) {
    const std::scoped_lock lock(mutex_);
    auto next = this->next();
    Owned& owned = owners_[owner];
    for (const std::string& name : drop) {
        if (const auto it = owned.find(name); it != owned.end()) {
            next->remove(it->second);
            owned.erase(it);
        }
    }
    for (const ToolRef& tool : add) {
        ToolRef& slot = owned[tool->spec.name];
        if (slot) next->remove(slot);
        slot = tool;
        next->add(tool);
    }
    if (owned.empty()) owners_.erase(owner);
    publish(std::move(next));
}

void Registry::replace(ConnectionId owner, std::span<const ToolRef> tools) {
    const std::scoped_lock lock(mutex_);
    const auto found = owners_.find(owner);
    if (found == owners_.end() && tools.empty()) return;
    auto next = this->next();
    Owned& owned = found != owners_.end() ? found->second : owners_[owner];
    std::unordered_set<const Tool*> wanted, there;
    for (const ToolRef& tool : tools) wanted.insert(tool.get());
    for (auto it = owned.begin(); it != owned.end();) {
        if (wanted.contains(it->second.get())) {
            there.insert(it->second.get());
            ++it;
        } else {
            next->remove(it->second);
            it = owned.erase(it);
        }
    }
    for (const ToolRef& tool : tools) {
        if (!there.insert(tool.get()).second) continue;
        ToolRef& slot = owned[tool->spec.name];
        if (slot) {
            there.erase(slot.get());
            next->remove(slot);
        }
        slot = tool;
        next->add(tool);
    }
    if (owned.empty()) owners_.erase(owner);
    publish(std::move(next));
}

void Registry::expect(const ToolSource& source) {
    reserve(source.name + std::string(kSeparator));
    const std::scoped_lock lock(mutex_);
    auto next = this->next();
    auto all = next->expected_ ? *next->expected_ : std::vector<ToolSource>();
    if (std::ranges::any_of(all, [&](const ToolSource& known) { return is_same(known, source); }))
        return;
    all.push_back(source);
    next->expected_ = std::make_shared<const std::vector<ToolSource>>(std::move(all));
    publish(std::move(next));
}

void Registry::settle(const ToolSource& source) {
    const std::scoped_lock lock(mutex_);
    const SnapshotRef now = current_.get();
    if (!now->expected_ || std::ranges::none_of(*now->expected_, [&](const ToolSource& known) {
            return is_same(known, source);
        }))
        return;
    auto next = this->next();
    auto rest = *now->expected_;
    std::erase_if(rest, [&](const ToolSource& known) { return is_same(known, source); });
    next->expected_ =
        rest.empty() ? nullptr : std::make_shared<const std::vector<ToolSource>>(std::move(rest));
    publish(std::move(next));
}

void Registry::set_absent(std::shared_ptr<const AbsentTools> absent) {
    const std::scoped_lock lock(mutex_);
    auto next = this->next();
    next->absent_ = std::move(absent);
    publish(std::move(next));
}

std::vector<ToolRef> Registry::owned_by(ConnectionId owner) const {
    const std::scoped_lock lock(mutex_);
    std::vector<ToolRef> tools;
    if (const auto it = owners_.find(owner); it != owners_.end()) {
        for (const auto& [name, tool] : it->second) tools.push_back(tool);
    }
    return tools;
}

void Registry::reserve(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    reserved_[lower_case(name)] = true;
}

bool Registry::is_reserved(std::string_view name) const {
    const std::string folded = lower_case(name);
    const std::scoped_lock lock(mutex_);
    if (reserved_.contains(folded)) return true;
    // a source's own name may have the separator in it
    for (std::size_t at = folded.find(kSeparator); at != std::string::npos;
         at = folded.find(kSeparator, at + 1))
        if (reserved_.contains(folded.substr(0, at + kSeparator.size()))) return true;
    return false;
}

}  // namespace crab::core
