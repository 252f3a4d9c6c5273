#include "sdk/tool_host/remote_trust.hpp"

#include "base/encoding.hpp"
#include "base/log.hpp"
#include "base/process/file.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::sdk {
namespace {

// a gateway has one certificate, which it renews occasionally
constexpr std::size_t kMostGoodCallers = 64;

net::TlsContext::Options tls_options(net::TlsContext::Role role,
                                     const trust::KeyedCertificate& bootstrap) {
    return {.role = role,
            .versions = net::TlsContext::Versions::k13Only,
            .peer_check = net::TlsContext::PeerCheck::kAcceptAny,
            .certificate = {.text = bootstrap.certificate.to_pem(), .file = {}},
            .key = {.text = bootstrap.key.to_pem().reveal(), .file = {}},
            .ca = {},
            .session_tickets = false};
}

core::PrincipalRef gateway_principal(const trust::InstalledCertificate& pairing,
                                     const crypto::Certificate& shown) {
    auto principal = std::make_shared<core::Principal>();
    principal->id = "gateway/" + pairing.gateway_id;
    principal->roles = {core::Role::kCaller};
    principal->proof = core::Proof::kCertificate;
    principal->credential_id = shown.serial_number();
    return principal;
}

/// The name or address in the certificate by which others reach this host; nothing for one that
/// means "all of this machine's".
crypto::AltNames names_of(const net::Endpoint& endpoint) {
    crypto::AltNames names;
    const auto address = net::to_socket_address(endpoint);
    if (!address || endpoint.host == "localhost") {
        names.dns_names = {endpoint.host};
    } else if (endpoint.host != "0.0.0.0" && endpoint.host != "::") {
        names.ip_addresses = {endpoint.host};
    }
    return names;
}

Result<std::string> text_of(const std::filesystem::path& file) {
    auto text = read_file(file);
    if (!text) return fail(ErrorCode::kInvalidArgs, text.error().message);
    return text;
}

struct OperatorCertificates {
    trust::KeyedCertificate own;
    crypto::Certificate ca;
};

Result<OperatorCertificates> read(const OperatorFiles& files, SystemTime now) {
    auto ca_text = text_of(files.ca), cert_text = text_of(files.cert),
         key_text = text_of(files.key);
    for (const auto* text : {&ca_text, &cert_text, &key_text}) {
        if (!*text) return fail(text->error());
    }
    const auto unusable = [](const std::filesystem::path& file, const Error& why) {
        return fail(ErrorCode::kInvalidArgs, fmt::format("{}: {}", file.string(), why.message));
    };
    auto ca = crypto::Certificate::from_pem(*ca_text);
    if (!ca) return unusable(files.ca, ca.error());
    auto certificate = crypto::Certificate::from_pem(*cert_text);
    if (!certificate) return unusable(files.cert, certificate.error());
    auto key = crypto::PrivateKey::from_pem(Secret<std::string>(std::move(*key_text)));
    if (!key) return unusable(files.key, key.error());
    if (const auto chained = crypto::check_chain(*certificate, *ca, now); !chained)
        return unusable(files.cert, chained.error());
    return OperatorCertificates{
        .own = {.key = std::move(*key), .certificate = std::move(*certificate)},
        .ca = std::move(*ca)};
}

}  // namespace

/// A RemoteStore that notifies of every change of the certificates. Used on the blocking pool.
class RemoteTrust::WatchedStore final : public trust::RemoteStore {
public:
    explicit WatchedStore(RemoteTrust& owner) : owner_(owner) {}
    Result<trust::RemoteCertificates> load() override { return owner_.file_->load(); }
    Result<bool> add_nonce(std::string_view nonce, SystemTime now) override {
        return owner_.file_->add_nonce(nonce, now);
    }
    Result<void> install(const trust::InstalledCertificate& certificate) override {
        return then_show(owner_.file_->install(certificate));
    }
    Result<void> complete(std::string_view pairing_id) override {
        return then_show(owner_.file_->complete(pairing_id));
    }
    Result<void> go_back(std::string_view pairing_id) override {
        return then_show(owner_.file_->go_back(pairing_id));
    }

private:
    Result<void> then_show(Result<void> changed) {
        if (!changed) return changed;
        const auto now_there = load();
        if (!now_there) return fail(now_there.error());
        return owner_.show(*now_there);
    }
    RemoteTrust& owner_;
};

RemoteTrust::RemoteTrust(const Options& options, const Clock& clock, trust::RemoteKeys keys,
                         std::unique_ptr<trust::RemoteStoreFile> store,
                         trust::RemoteCertificates certificates,
                         std::optional<crypto::Certificate> operator_ca)
    : options_(options),
      clock_(clock),
      keys_(std::move(keys)),
      operator_ca_(std::move(operator_ca)),
      file_(std::move(store)),
      store_(std::make_unique<WatchedStore>(*this)),
      certificates_(std::make_shared<const trust::RemoteCertificates>(std::move(certificates))) {}

RemoteTrust::~RemoteTrust() = default;

Result<std::unique_ptr<RemoteTrust>> RemoteTrust::open(const Options& options, const Clock& clock) {
    auto folder = crypto::KeyFolder::open(options.folder);
    if (!folder) return fail(std::move(folder.error()));
    crypto::SystemRandom random;
    auto keys =
        trust::RemoteKeys::load_or_make(*folder, options.component_id, clock.system_now(), random);
    if (!keys) return fail(std::move(keys.error()));
    std::optional<crypto::Certificate> operator_ca;
    if (options.operator_made) {
        auto made = read(*options.operator_made, clock.system_now());
        if (!made) return fail(std::move(made.error()));
        keys->bootstrap = std::move(made->own);
        operator_ca = std::move(made->ca);
    }
    auto store = trust::RemoteStoreFile::open(std::move(*folder));
    if (!store) return fail(std::move(store.error()));
    auto certificates = (*store)->load();
    if (!certificates) return fail(std::move(certificates.error()));
    std::unique_ptr<RemoteTrust> made(new RemoteTrust(options, clock, std::move(*keys),
                                                      std::move(*store), *certificates,
                                                      std::move(operator_ca)));
    for (const auto& [context, role] :
         {std::pair(&made->tls_, net::TlsContext::Role::kServer),
          std::pair(&made->client_tls_, net::TlsContext::Role::kClient)}) {
        auto tls = net::TlsContext::make(tls_options(role, made->keys_.bootstrap));
        if (!tls) return fail(std::move(tls.error()));
        *context = std::move(*tls);
    }
    if (auto shown = made->show(*certificates); !shown) return fail(std::move(shown.error()));
    return made;
}

std::string RemoteTrust::key_text() const { return to_base64(keys_.identity.key.public_key()); }

trust::RemotePairing::Remote RemoteTrust::identity() {
    const auto known = certificates_.get();
    const trust::InstalledCertificate* const shown = known->shown();
    const auto certificate = shown != nullptr
                                 ? crypto::Certificate::from_pem(shown->certificate_pem)
                                 : Result<crypto::Certificate>(keys_.bootstrap.certificate);
    return {.name = {trust::ComponentType::kToolHost, options_.component_id},
            .key = keys_.identity.key,
            .agreement_key = keys_.identity.agreement_key,
            .gateway_key = options_.gateway_key,
            .shown_fingerprint = certificate ? certificate->fingerprint() : std::string(),
            .endpoint_names = names_of(options_.endpoint),
            .store = *store_,
            .clock = clock_};
}

/// Presents these certificates in TLS and authenticates callers by them from now on.
Result<void> RemoteTrust::show(const trust::RemoteCertificates& certificates) {
    const trust::InstalledCertificate* const shown = certificates.shown();
    const net::TlsContext::Pem certificate{
        .text = shown != nullptr ? shown->certificate_pem : keys_.bootstrap.certificate.to_pem(),
        .file = {}};
    const net::TlsContext::Pem key{
        .text = shown != nullptr ? shown->key_pem.reveal() : keys_.bootstrap.key.to_pem().reveal(),
        .file = {}};
    for (const auto& context : {tls_, client_tls_}) {
        if (auto replaced = context->show(certificate, key); !replaced) return replaced;
    }
    certificates_.set(std::make_shared<const trust::RemoteCertificates>(certificates));
    return {};
}

Result<core::PrincipalRef> RemoteTrust::caller_of(const std::string& certificate_der) {
    const SystemTime now = clock_.system_now();
    if (const std::uint64_t version = certificates_.version(); version != good_for_) {
        good_callers_.clear();
        good_for_ = version;
    }
    if (const auto good = good_callers_.find(certificate_der); good != good_callers_.end()) {
        if (now >= good->second.from && now < good->second.until) return good->second.principal;
        good_callers_.erase(good);
    }
    const auto known = certificates_.get();
    auto judged = judge(*known, certificate_der, now);
    if (!judged) return fail(std::move(judged.error()));
    if (good_callers_.size() >= kMostGoodCallers) good_callers_.clear();
    return good_callers_.emplace(certificate_der, std::move(*judged)).first->second.principal;
}

Result<RemoteTrust::TrustedCaller> RemoteTrust::judge(const trust::RemoteCertificates& known,
                                                      std::string_view certificate_der,
                                                      SystemTime now) const {
    const auto not_paired = [] {
        return fail(ErrorCode::kPairingRequired,
                    "this host is not paired with a gateway; run crab peers pair tool there");
    };
    if (!known.paired && !known.installed) return not_paired();
    Result<crypto::Certificate> certificate =
        fail(ErrorCode::kUnauthenticated, "show the gateway's certificate");
    if (!certificate_der.empty()) certificate = crypto::Certificate::from_der(certificate_der);
    const auto good = [&](const trust::InstalledCertificate& pairing, bool of_installed) {
        // readable: it was checked with
        const auto ca = crypto::Certificate::from_pem(pairing.ca_pem);
        return TrustedCaller{.principal = gateway_principal(pairing, *certificate),
                             .from = std::max(certificate->not_before(), ca->not_before()),
                             .until = std::min(certificate->not_after(), ca->not_after()),
                             .of_installed = of_installed};
    };
    if (known.installed && certificate &&
        trust::check_gateway_certificate(*known.installed, *certificate, now))
        return good(*known.installed, true);
    if (!known.paired) return not_paired();
    if (!certificate) return fail(ErrorCode::kUnauthenticated, certificate.error().message);
    if (auto fits = trust::check_gateway_certificate(*known.paired, *certificate, now); !fits)
        return fail(std::move(fits.error()));
    return good(*known.paired, false);
}

Result<void> RemoteTrust::may_pair(const std::string& certificate_der) {
    if (!operator_ca_ || caller_of(certificate_der)) return {};
    const auto no = [] {
        return fail(ErrorCode::kUnauthenticated,
                    "to pair with this host, show a certificate of its operator's authority");
    };
    if (certificate_der.empty()) return no();
    const auto certificate = crypto::Certificate::from_der(certificate_der);
    if (!certificate || !crypto::check_chain(*certificate, *operator_ca_, clock_.system_now()))
        return no();
    return {};
}

bool RemoteTrust::proves_lost_end(const std::string& certificate_der) const {
    const auto good = good_callers_.find(certificate_der);
    return good != good_callers_.end() && good->second.of_installed;
}

void RemoteTrust::complete_lost_end(const std::string& certificate_der) {
    const auto certificate = crypto::Certificate::from_der(certificate_der);
    if (!certificate) return;
    const auto completed = trust::complete_by_gateway(*store_, *certificate, clock_.system_now());
    if (!completed) {
        log::warn("the end of a pairing cannot be stored; the gateway's next request tries again",
                  {{"reason", completed.error().message}});
    } else if (*completed) {
        log::info("a pairing whose last message was lost is complete: its gateway called");
    }
}

}  // namespace crab::sdk
