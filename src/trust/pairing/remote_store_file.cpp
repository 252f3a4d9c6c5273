#include "trust/pairing/remote_store_file.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"
#include "json/value.hpp"

namespace crab::trust {
namespace {

using Access = crypto::KeyFolder::Access;
constexpr std::string_view kFile = "remote_state.json";

std::unexpected<Error> malformed() {
    return fail(ErrorCode::kInvalidArgs,
                "remote_state.json cannot be read; remove it and pair again");
}

json::Value to_json(const InstalledCertificate& one) {
    return json::Value::object({{"pairing_id", one.pairing_id},
                                {"gateway_id", one.gateway_id},
                                {"key_pem", one.key_pem.reveal()},
                                {"certificate_pem", one.certificate_pem},
                                {"ca_pem", one.ca_pem}});
}

/// False when a member is missing; a member that is absent as a whole is not a certificate.
bool read(const json::Value* object, std::optional<InstalledCertificate>& out) {
    if (object == nullptr) return true;
    const auto text = [&](std::string_view name) {
        const json::Value* const value = object->find(name);
        return value == nullptr ? nullptr : value->as_string();
    };
    const auto *id = text("pairing_id"), *gateway = text("gateway_id"), *key = text("key_pem"),
               *certificate = text("certificate_pem"), *ca = text("ca_pem");
    if (!id || !gateway || !key || !certificate || !ca) return false;
    out = InstalledCertificate{*id, *gateway, Secret(*key), *certificate, *ca};
    return true;
}

}  // namespace

Result<std::unique_ptr<RemoteStoreFile>> RemoteStoreFile::open(crypto::KeyFolder folder) {
    const auto text = folder.read(kFile, Access::kPrivate);
    if (!text) return fail(text.error());
    State state;
    if (*text) {
        auto parsed = parse(**text);
        if (!parsed) return fail(parsed.error());
        state = std::move(*parsed);
    }
    return std::unique_ptr<RemoteStoreFile>(
        new RemoteStoreFile(std::move(folder), std::move(state)));
}

Result<RemoteCertificates> RemoteStoreFile::load() {
    const std::lock_guard lock(mutex_);
    return state_.certificates;
}

Result<bool> RemoteStoreFile::add_nonce(std::string_view nonce, SystemTime now) {
    const std::lock_guard lock(mutex_);
    State next = state_;
    std::erase_if(next.nonces, [&](const auto& entry) { return entry.second + kNonceLife < now; });
    if (!next.nonces.emplace(nonce, now).second) return false;
    if (auto written = replace(std::move(next)); !written) return fail(written.error());
    return true;
}

Result<void> RemoteStoreFile::install(const InstalledCertificate& certificate) {
    const std::lock_guard lock(mutex_);
    State next = state_;
    next.certificates.installed = certificate;
    return replace(std::move(next));
}

Result<void> RemoteStoreFile::complete(std::string_view pairing_id) {
    const std::lock_guard lock(mutex_);
    if (!state_.is_installed(pairing_id)) return {};
    State next = state_;
    next.certificates.paired = std::move(next.certificates.installed);
    next.certificates.installed.reset();
    return replace(std::move(next));
}

Result<void> RemoteStoreFile::go_back(std::string_view pairing_id) {
    const std::lock_guard lock(mutex_);
    if (!state_.is_installed(pairing_id)) return {};
    State next = state_;
    next.certificates.installed.reset();
    return replace(std::move(next));
}

Result<void> RemoteStoreFile::replace(State next) {
    if (auto written = folder_.write(kFile, to_text(next), Access::kPrivate); !written)
        return written;
    state_ = std::move(next);
    return {};
}

std::string RemoteStoreFile::to_text(const State& state) {
    json::Value file = json::Value::object();
    if (state.certificates.paired) file.set("paired", to_json(*state.certificates.paired));
    if (state.certificates.installed) file.set("installed", to_json(*state.certificates.installed));
    json::Value& nonces = file.set("nonces", json::Value::array());
    for (const auto& [nonce, at] : state.nonces) {
        nonces.push_back(json::Value::object(
            {{"nonce", to_base64(bytes_of(nonce))}, {"seen_at_ms", to_unix_ms(at)}}));
    }
    return file.dump() + '\n';
}

Result<RemoteStoreFile::State> RemoteStoreFile::parse(std::string_view text) {
    State state;
    const auto file = json::Value::parse(text);
    if (!file || !read(file->find("paired"), state.certificates.paired) ||
        !read(file->find("installed"), state.certificates.installed))
        return malformed();
    const json::Value* const nonces = file->find("nonces");
    if (nonces == nullptr || !nonces->is_array()) return malformed();
    for (const json::Value& entry : *nonces->as_array()) {
        const json::Value* const text_member = entry.find("nonce");
        const json::Value* const time_member = entry.find("seen_at_ms");
        const auto nonce = text_member != nullptr && text_member->as_string() != nullptr
                               ? from_base64(*text_member->as_string())
                               : std::nullopt;
        const auto at = time_member == nullptr ? std::nullopt : time_member->as_int64();
        if (!nonce || !at) return malformed();
        state.nonces.emplace(*nonce, SystemTime(Milliseconds(*at)));
    }
    return state;
}

}  // namespace crab::trust
