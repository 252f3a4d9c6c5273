#include "adapters/mcp/upstreams/upstream.hpp"
#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/safe_text.hpp"
#include "base/cut_text.hpp"
#include "base/log.hpp"
#include "core/policy/policy.hpp"
#include "crypto/digest.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

/// The lists of an upstream: what Upstream reads, judges and offers. Whatever grows with a list is
/// done in the pool, for the loop has clients and other upstreams.
namespace crab::mcp {
namespace {

constexpr std::chrono::seconds kListsWithin{60};
constexpr int kMostWaits = 3;  // for a server that is busy and says for how long, per list
constexpr std::size_t kShownNames = 5;
constexpr std::size_t kShownName = 128;

void append(RawLists& raw, std::vector<std::string>& list, ListReading reading,
            std::optional<Milliseconds>& ttl) {
    list = std::move(reading.entries);
    raw.beyond += reading.beyond;
    if (reading.ttl) ttl = std::min(ttl.value_or(*reading.ttl), *reading.ttl);
}

/// Which program or URL has the name of a source: what was accepted of another one says nothing of
/// it.
trust::Pin origin_of(const UpstreamOptions& connection) {
    std::string text = connection.url;
    if (connection.child) {
        for (const std::string& word : connection.child->words) text += word + '\0';
    }
    return {.source = connection.source,
            .kind = std::string(kOriginPin),
            .key = {},
            .digest = crypto::sha256_hex(text),
            .text = {}};
}

/// The pins of the source, without those of another program that had its name. Blocks.
Result<std::vector<trust::Pin>> load_of(trust::PinStore& store, const trust::Pin& origin) {
    auto stored = store.load(origin.source);
    if (!stored) return stored;
    const auto known = std::ranges::find(*stored, origin.kind, &trust::Pin::kind);
    if (known != stored->end() && known->digest == origin.digest) {
        stored->erase(known);
        return stored;
    }
    if (known != stored->end()) {
        if (auto done = store.forget(origin.source); !done) return fail(std::move(done.error()));
        stored->clear();
    }
    if (auto done = store.put(std::span(&origin, 1)); !done) return fail(std::move(done.error()));
    return stored;
}

/// Lists with one digest are the same.
std::string digest_of(const RawLists& raw) {
    std::string all = fmt::format("{} {}", raw.beyond, crypto::sha256_hex(raw.instructions));
    for (const auto* list : {&raw.tools, &raw.resources, &raw.templates, &raw.prompts}) {
        all += '\n';
        for (const std::string& entry : *list) all += crypto::sha256_hex(entry);
    }
    return crypto::sha256_hex(all);
}

/// Names that an entry of `source` could be taken for: those of sources of other kinds, and of MCP
/// servers that were configured before it, so that of two that look alike one is held back and it
/// does not matter which has listed first.
LookAlikes names_elsewhere(const core::RegistrySnapshot& registry, const Catalogs::All& catalogs,
                           const core::ToolSource& source) {
    static const auto kEverything = core::Policy::make({}).value();
    core::Principal anyone;
    anyone.roles = {core::Role::kCaller};
    LookAlikes names;
    const core::View view{.principal = &anyone, .policy = kEverything.get()};
    std::map<std::string, bool, std::less<>> older;
    for (const auto& listed : registry.list(view)) {
        const core::ToolSource& other = listed.tool->source;
        if (other.kind == core::SourceKind::kMcpServer) {
            const bool counts = other.name != source.name && other.connection < source.connection;
            older[other.name] = counts;
            if (!counts) continue;
        }
        names.add(listed.tool->spec.name);
    }
    for (const auto& [name, catalog] : catalogs) {
        const auto found = older.find(name);
        if (found == older.end() || !found->second) continue;
        for (const Catalog::Entry& prompt : catalog->prompts) names.add(prompt.key);
    }
    return names;
}

/// Some of them, fit for the log.
template <class Entries, class NameOf>
std::string some_of(const Entries& entries, NameOf name_of) {
    std::vector<std::string> names;
    for (const auto& each : entries) {
        if (names.size() == kShownNames) {
            names.emplace_back("...");
            break;
        }
        names.emplace_back(cut_text(clean_text(name_of(each)).text, kShownName));
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Task<void> Upstream::load_pins() {
    if (pins_.mode() == PinMode::kOff) co_return;
    auto stored =
        co_await uses_.files.run([&store = uses_.pins, origin = origin_of(settings_.connection)] {
            return load_of(store, origin);
        });
    if (!stored)
        log::error("the pins of an MCP server cannot be read: all of it is held back",
                   {{"server", source()}, {"reason", stored.error().message}});
    pins_.know(std::move(stored));
}

Task<void> Upstream::take_changed_pins() {
    pins_changed_ = false;
    co_await load_pins();
    if (lists_ && !ending_) co_await publish();
}

Task<Result<RawLists>> Upstream::read_raw(std::shared_ptr<UpstreamSession> session) {
    const Deadline deadline = now() + kListsWithin;
    const std::string& has = session->server_capabilities();
    RawLists raw;
    ListBudget budget;
    std::optional<Milliseconds> ttl;
    const auto read = [&](const ListKind& kind,
                          std::vector<std::string>& list) -> Task<Result<void>> {
        const ListBudget before = budget;
        auto reading = co_await read_list(*session, kind, deadline, budget);
        for (int wait = 0; wait < kMostWaits && !reading && reading.error().retry_after; ++wait) {
            Waiter pause(uses_.timers);
            const Deadline then = now() + *reading.error().retry_after;
            if (then >= deadline || co_await pause.wait(then) != WaitEnd::kExpired) break;
            budget = before;
            reading = co_await read_list(*session, kind, deadline, budget);
        }
        if (!reading) co_return fail(std::move(reading.error()));
        append(raw, list, std::move(*reading), ttl);
        co_return Result<void>();
    };
    // some servers offer tools and do not say so
    auto done = co_await read(kToolList, raw.tools);
    if (done && has_capability(has, "resources"))
        done = co_await read(kResourceList, raw.resources);
    if (done && has_capability(has, "resources"))
        done = co_await read(kTemplateList, raw.templates);
    if (done && has_capability(has, "prompts")) done = co_await read(kPromptList, raw.prompts);
    if (!done) co_return fail(std::move(done.error()));
    raw.instructions = session->instructions();
    ttl_ = ttl;
    co_return raw;
}

/// Calls of an interactive child's user may change the lists of that child alone, which are what
/// its user has to see.
std::shared_ptr<UpstreamSession> Upstream::lister() const {
    const auto its_users = settings_.connection.interactive ? pool_.lister() : nullptr;
    return its_users ? its_users : session_;
}

/// Lists of a session that is gone, or no longer that of the only user, do not count any more.
void Upstream::note_lister() {
    if (!listed_ || changed_ || !session_ || lister() == listed_by_.lock()) return;
    changed_ = true;
    wake_live();
}

Task<Result<void>> Upstream::refresh() {
    const auto by = lister();
    listed_by_ = by;
    auto raw = co_await read_raw(by);
    if (!raw && session_ && by != session_) raw = co_await read_raw(session_);
    if (!raw) co_return fail(std::move(raw.error()));
    change_status([&](UpstreamStatus& status) { status.last_error.clear(); });
    const auto shared = std::make_shared<RawLists>(std::move(*raw));
    auto work = [shared, before = digest_, lists = lists_, rules = settings_.tools,
                 headers = headers()] {
        std::string digest = digest_of(*shared);
        auto read = lists && digest == before
                        ? lists
                        : std::make_shared<const ReadLists>(read_lists(*shared, rules, headers));
        return std::pair(std::move(digest), std::move(read));
    };
    auto [digest, read] = co_await uses_.schemas.run("mcp/" + source(), std::move(work));
    const bool same = listed_ && read == lists_;
    if (same && (pins_.mode() == PinMode::kOff || pins_.readable())) co_return Result<void>();
    digest_ = std::move(digest);
    lists_ = std::move(read);
    co_await publish();
    co_return Result<void>();
}

Task<std::vector<HeldBack>> Upstream::find_alike(std::shared_ptr<const ReadLists> lists) {
    compared_at_ = now();
    names_changed_ = false;
    if (pins_.mode() == PinMode::kOff) co_return std::vector<HeldBack>();
    auto work = [lists, registry = uses_.registry.snapshot(), catalogs = uses_.catalogs.get(),
                 own = tool_source()] {
        return find_look_alikes(*lists, names_elsewhere(*registry, *catalogs, own));
    };
    co_return co_await uses_.schemas.run("mcp/" + source(), std::move(work));
}

/// Other sources have come, gone or changed: who looks like them is judged anew.
Task<void> Upstream::compare_names() {
    const auto lists = lists_;
    if (!lists) {
        names_changed_ = false;
        co_return;
    }
    const std::vector<HeldBack> alike = co_await find_alike(lists);
    if (!ending_ && lists == lists_ && alike != alike_) co_await publish();
}

/// Of two at a time the later one counts.
Task<void> Upstream::publish() {
    const std::uint64_t mine = ++publications_;
    const auto lists = lists_;
    const auto is_late = [&] { return ending_ || lists != lists_ || publications_ != mine; };
    if (pins_.mode() != PinMode::kOff && !pins_.readable()) co_await load_pins();
    std::vector<HeldBack> alike = co_await find_alike(lists);
    if (is_late()) co_return;
    Pins::PinDecision decision = pins_.judge(lists->pinned);
    if (!decision.first_seen.empty()) co_await remember(decision);
    if (is_late()) co_return;
    const auto held = std::make_shared<std::vector<HeldBack>>(std::move(decision.held));
    for (const HeldBack& each : alike) {
        if (!pins_.accepts_name(each.key, each.was)) held->push_back(each);
    }
    OfferTerms terms{
        .source = tool_source(),
        .calls = shared_from_this(),
        .gate = gate_,
        // the source's own prefix is reserved for itself
        .is_reserved =
            [&registry = uses_.registry, own = source() + "__"](std::string_view name) {
                return !name.starts_with(own) && registry.is_reserved(name);
            },
        .holds_all = pins_.holds_all(),
        .before = offered_};
    Offer offer = co_await uses_.schemas.run(
        "mcp/" + source(), [lists, held, terms] { return make_offer(*lists, *held, terms); });
    if (is_late()) co_return;
    alike_ = std::move(alike);
    held_ = std::move(*held);
    show(std::move(offer));
}

/// Stores what is accepted because it is new.
Task<void> Upstream::remember(Pins::PinDecision& decision) {
    const auto stored = co_await uses_.files.run(
        [&store = uses_.pins, pins = decision.first_seen] { return store.put(pins); });
    if (stored) {
        pins_.accept(decision.first_seen);
        co_return;
    }
    // what cannot be remembered could change unseen
    for (const trust::Pin& pin : decision.first_seen)
        decision.held.push_back({.kind = pin.kind,
                                 .key = pin.key,
                                 .why = HeldBack::Why::kUnreadable,
                                 .was = {},
                                 .now = pin.text,
                                 .digest = pin.digest});
}

void Upstream::show(Offer offer) {
    if (session_) {
        const std::string& has = session_->server_capabilities();
        offer.catalog->completions = has_capability(has, "completions");
        offer.catalog->watchable = has_capability(has, "resources", "subscribe");
        const auto extensions = json::find_raw(has, "extensions").value_or("{}");
        offer.catalog->ui = json::find_raw(extensions, kUiExtension).has_value();
    } else if (const auto all = uses_.catalogs.get(); all->contains(source())) {
        offer.catalog->completions = all->find(source())->second->completions;
        offer.catalog->watchable = all->find(source())->second->watchable;
        offer.catalog->ui = all->find(source())->second->ui;
    }
    if (!settings_.pass_instructions) offer.catalog->instructions.clear();
    uses_.registry.replace(owner_, offer.tools);
    uses_.registry.settle(tool_source());
    offered_ = std::move(offer.own);
    uses_.catalogs.set(source(), offer.catalog);
    listed_ = true;
    note_lists(offer);
}

void Upstream::note_lists(const Offer& offer) {
    const std::vector<SkippedEntry> left_out = lists_->left_out();
    if (!left_out.empty())
        log::warn(
            "entries of an MCP server are left out; crab mcp status says why",
            {{"server", source()},
             {"count", left_out.size()},
             {"names", some_of(left_out, [](const SkippedEntry& each) { return each.name; })}});
    if (!held_.empty())
        log::warn("entries of an MCP server are held back; crab mcp diff shows them",
                  {{"server", source()},
                   {"count", held_.size()},
                   {"names", some_of(held_, [](const HeldBack& each) { return each.key; })}});
    log::info("lists of an MCP server", {{"server", source()}, {"tools", offer.usable}});
    change_status([&](UpstreamStatus& status) {
        status.is_listed = true;
        status.tools = offer.usable;
        status.resources = offer.catalog->resources.size();
        status.templates = offer.catalog->templates.size();
        status.prompts = offer.catalog->prompts.size();
        status.removed = lists_->tools.removed;
        status.left_out = left_out;
        status.held = held_;
    });
}

std::vector<HeldBack> Upstream::held() const {
    const std::scoped_lock lock(status_mutex_);
    return status_.held;
}

/// What accepts an entry as somebody has seen it, if it still is so.
Result<trust::Pin> Upstream::pin_of(const SeenEntry& seen) const {
    const HeldBack* other = nullptr;
    for (const HeldBack& each : held_) {
        if (each.kind != seen.kind || each.key != seen.key) continue;
        if (each.why == HeldBack::Why::kUnreadable)
            return fail(ErrorCode::kUnavailable, "the store of pins cannot be read");
        if (each.digest == seen.digest) {
            const bool name = each.why == HeldBack::Why::kLooksAlike;
            return pins_.pin_of({.kind = name ? std::string(kNamePin) : each.kind,
                                 .key = each.key,
                                 .text = name ? each.was : each.now});
        }
        other = &each;
    }
    if (other == nullptr)
        return fail(ErrorCode::kNotFound,
                    fmt::format("{} of {} is not held back", seen.key, source()));
    return fail(ErrorCode::kConflict,
                fmt::format("{} of {} is not what was shown, nothing is accepted: look again with "
                            "crab mcp diff {}",
                            seen.key, source(), source()));
}

Task<Result<std::vector<std::string>>> Upstream::accept(std::vector<SeenEntry> entries) {
    std::vector<trust::Pin> pins;
    std::vector<std::string> accepted;
    for (const SeenEntry& seen : entries) {
        auto pin = pin_of(seen);
        if (!pin) co_return fail(std::move(pin.error()));
        pins.push_back(std::move(*pin));
        accepted.push_back(seen.key);
    }
    if (pins.empty()) co_return accepted;
    auto stored =
        co_await uses_.files.run([&store = uses_.pins, &pins] { return store.put(pins); });
    if (!stored) co_return fail(std::move(stored.error()));
    pins_.accept(pins);
    if (!ending_ && lists_) co_await publish();
    co_return accepted;
}

}  // namespace crab::mcp
