#include "adapters/rtp/pairing/gateway_tls.hpp"

namespace crab::rtp {

using net::TlsContext;

Result<std::shared_ptr<TlsContext>> GatewayTls::context(TlsContext::Role role,
                                                        std::shared_ptr<TlsContext>& made) {
    const std::scoped_lock lock(mutex_);
    if (auto fresh = refresh(); !fresh) return fail(std::move(fresh.error()));
    if (made) return made;
    TlsContext::Options options;
    options.role = role;
    options.versions = TlsContext::Versions::k13Only;
    options.peer_check = TlsContext::PeerCheck::kAcceptAny;
    options.certificate.text = own_->certificate.to_pem();
    options.key.text = own_->key.to_pem().reveal();
    auto context = TlsContext::make(std::move(options));
    if (!context) return fail(std::move(context.error()));
    made = std::move(*context);
    return made;
}

Result<void> GatewayTls::refresh() {
    const SystemTime now = clock_.system_now();
    if (own_ && !own_->is_due(now)) return {};
    auto issued = keys_.issue_own({}, now);
    if (!issued) return fail(std::move(issued.error()));
    own_ = std::move(*issued);
    for (const auto& context : {client_, server_}) {
        if (!context) continue;
        if (auto shown = context->show({.text = own_->certificate.to_pem(), .file = {}},
                                       {.text = own_->key.to_pem().reveal(), .file = {}});
            !shown)
            return shown;
    }
    return {};
}

}  // namespace crab::rtp
