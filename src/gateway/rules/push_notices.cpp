#include "gateway/rules/push_notices.hpp"

#include "core/audit/metrics.hpp"
#include "json/writer.hpp"
#include "net/tls/tls_context.hpp"
#include "store/stores.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::string_view kFolder = "push";
constexpr std::size_t kMostNameBytes = 200;  ///< of what a message tells
constexpr Milliseconds kSweepEvery{60'000};

push::PushServices services_of(const config::GatewayConfig& config) {
    std::vector<net::HttpUrl> named;
    for (const std::string& text : config.push.services)
        if (auto url = net::HttpUrl::parse(text)) named.push_back(std::move(*url));
    return push::PushServices(std::move(named));
}

/// Push services want somebody to turn to.
std::string contact_of(const config::GatewayConfig& config) {
    if (!config.push.contact.empty()) return config.push.contact;
    const auto& names = config.listen.host_names;
    return "mailto:crab@" + (names.empty() ? std::string("localhost") : names.front());
}

/// Who, what, until when; no arguments, which are for the page.
std::string message_of(const core::ApprovalQuestion& question) {
    const auto cut = [](std::string_view text) { return text.substr(0, kMostNameBytes); };
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("kind").string("approval").key("id").string(question.id);
    writer.key("tool").string_lossy(cut(question.subject.tool));
    writer.key("who").string_lossy(cut(question.subject.principal));
    if (!question.agent.empty()) writer.key("agent").string_lossy(cut(question.agent));
    writer.key("until").string(to_rfc3339(question.until)).end_object();
    return text;
}

}  // namespace

std::span<const ConfigKey> PushNotices::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("push.services", [](auto& c) -> auto& { return c.push.services; }),
        restart_key("push.contact", [](auto& c) -> auto& { return c.push.contact; })};
    return kKeys;
}

Result<void> PushNotices::start() {
    services_ = services_of(uses_.context.config);
    if (auto opened = open_subscriptions(); !opened) return opened;
    if (auto opened = open_sender(); !opened) return opened;
    api_ = std::make_unique<admin::PushApi>(
        admin::PushApi::Uses{.subscriptions = *subscriptions_,
                             .sender = *sender_,
                             .vapid = *vapid_,
                             .services =
                                 [this] {
                                     const std::scoped_lock lock(services_mutex_);
                                     return services_;
                                 },
                             .pool = uses_.workers.pool()});
    uses_.loops.first().post([this] {
        sweep_ = std::make_unique<net::Periodic>(uses_.loops.first(), kSweepEvery, [this] {
            uses_.workers.pool().post([this] { subscriptions_->forget_ended(); });
        });
    });
    const auto recount = [this] { uses_.loops.first().post([this] { count_as_watching(); }); };
    subscriptions_->on_changed(recount);
    recount();
    uses_.credentials.tokens().on_revoked([this](const std::string& credential) {
        uses_.workers.pool().post([this, credential] {
            subscriptions_->remove_those(
                [&](const push::Subscription& each) { return each.credential == credential; });
        });
    });
    uses_.approvals.also_tell(
        [this](const core::ApprovalQuestion& question) { on_question(question); });
    uses_.rules.away().on_waiting([this](const core::Tool& tool) { wake(tool); });
    return {};
}

Result<void> PushNotices::open_subscriptions() {
    auto store = uses_.context.stores->open_push_subscriptions();
    if (!store) return fail(std::move(store.error()));
    subscriptions_ = std::make_unique<push::Subscriptions>(
        std::move(*store), uses_.context.clock, [this](const push::Subscription& each) {
            return each.credential.empty() ||
                   uses_.credentials.tokens().find_credential(each.credential).has_value();
        });
    return subscriptions_->load();
}

Result<void> PushNotices::open_sender() {
    const auto folder = crypto::KeyFolder::open(uses_.context.paths.state_dir / kFolder);
    if (!folder) return fail(folder.error());
    auto vapid = push::Vapid::open(*folder, contact_of(uses_.context.config));
    if (!vapid) return fail(std::move(vapid.error()));
    vapid_ = std::move(*vapid);
    auto tls = net::TlsContext::make({.role = net::TlsContext::Role::kClient,
                                      .peer_check = net::TlsContext::PeerCheck::kChainAndName,
                                      .alpn = "http/1.1"});
    if (!tls) return fail(std::move(tls.error()));
    sender_ = std::make_unique<push::PushSender>(
        push::PushSender::Uses{.loop = uses_.loops.first(),
                               .names = uses_.workers.names(),
                               .tls = std::move(*tls),
                               .vapid = *vapid_,
                               .gone =
                                   [this](std::string id) {
                                       uses_.workers.pool().post([this, id = std::move(id)] {
                                           subscriptions_->remove_those(
                                               [&](const push::Subscription& each) {
                                                   return each.id == id;
                                               });
                                       });
                                   }},
        services_);
    return {};
}

Result<Component::Change> PushNotices::prepare(const config::GatewayConfig& next) {
    return [this, services = services_of(next)] {
        sender_->set_services(services);
        const std::scoped_lock lock(services_mutex_);
        services_ = services;
    };
}

void PushNotices::count_as_watching() {
    const bool wanted = !subscriptions_->list().empty();
    if (wanted == (watch_ != nullptr)) return;
    watch_ =
        wanted ? std::make_unique<core::Approvals::Watch>(uses_.approvals.approvals()) : nullptr;
}

/// With the approvals locked; only posts.
void PushNotices::on_question(const core::ApprovalQuestion& question) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(
        question.until - uses_.context.clock.system_now());
    push::PushSender::Message message{.plain = message_of(question),
                                      .keep_for = std::max(std::chrono::seconds(1), left),
                                      .topic = question.id};
    uses_.loops.first().post([this, message = std::move(message)] {
        for (push::Subscription& each : subscriptions_->list())
            sender_->send(std::move(each), message);
    });
}

/// The message says nothing of the call: what there is to do the page hears when it is back.
void PushNotices::wake(const core::Tool& tool) {
    if (tool.source.kind != core::SourceKind::kDevice) return;
    uses_.loops.first().post([this, device = tool.source.owner] {
        for (push::Subscription& each : subscriptions_->of_device(device))
            sender_->send(std::move(each), {.plain = R"({"kind":"wake"})", .topic = "wake"});
    });
}

void PushNotices::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        core::append_metric(out, "crab_push_subscriptions", "gauge",
                            "Browsers that are told of calls that wait for a person.",
                            static_cast<double>(subscriptions_->list().size()));
        const push::PushSender::Counts counts = sender_->counts();
        out +=
            "# HELP crab_push_messages_total Messages to push services, by what came of it.\n"
            "# TYPE crab_push_messages_total counter\n";
        for (const auto& [result, count] : {std::pair{"sent", counts.sent},
                                            {"gone", counts.gone},
                                            {"failed", counts.failed},
                                            {"dropped", counts.dropped}})
            fmt::format_to(std::back_inserter(out),
                           "crab_push_messages_total{{result=\"{}\"}} {}\n", result, count);
    });
}

void PushNotices::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kAdmin) api_->add_routes(table.routes);
    if (table.kind == ListenerKind::kPublic) api_->add_device_routes(table.routes);
}

void PushNotices::stop(Deadline deadline) {
    uses_.loops.finish(uses_.loops.first(), deadline, [this](std::function<void()> done) {
        watch_.reset();
        sweep_.reset();
        sender_->stop(std::move(done));
    });
}

}  // namespace crab::gateway
