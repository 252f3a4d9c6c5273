#include "adapters/mcp/auth/oauth_credentials_file.hpp"

#include "base/log.hpp"
#include "base/ordered_mutex.hpp"
#include "json/value.hpp"

#include <utility>

namespace crab::mcp {
namespace {

using Access = crypto::KeyFolder::Access;
using json::Value;

constexpr std::string_view kFile = "oauth.json";

std::string member_text(const Value& object, std::string_view name) {
    const Value* const member = object.find(name);
    const std::string* const text = member != nullptr ? member->as_string() : nullptr;
    return text != nullptr ? *text : std::string();
}

std::optional<std::int64_t> number_of(const Value& object, std::string_view name) {
    const Value* const member = object.find(name);
    return member != nullptr ? member->as_int64() : std::nullopt;
}

Value to_json(std::string_view issuer, const OAuthClient& client) {
    return Value::object({{"issuer", issuer},
                          {"client_id", client.id},
                          {"client_secret", client.secret.reveal()},
                          {"auth_method", client.auth_method},
                          {"redirect_uri", client.redirect_uri}});
}

Value to_json(const TokenKey& key, const OAuthTokens& tokens) {
    Value object = Value::object({{"source", key.source},
                                  {"owner", key.owner},
                                  {"issuer", tokens.issuer},
                                  {"resource", tokens.resource},
                                  {"client_id", tokens.client_id},
                                  {"access_token", tokens.access.reveal()},
                                  {"refresh_token", tokens.refresh.reveal()},
                                  {"scope", tokens.scope},
                                  {"wanted_scope", tokens.wanted_scope},
                                  {"step_ups", tokens.step_ups}});
    if (tokens.expires_at) {
        const auto since = tokens.expires_at->time_since_epoch();
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
        object.set("expires_at", std::int64_t{seconds});
    }
    return object;
}

OAuthClient read_client(const Value& object) {
    return {.id = member_text(object, "client_id"),
            .secret = Secret<std::string>(member_text(object, "client_secret")),
            .auth_method = member_text(object, "auth_method"),
            .redirect_uri = member_text(object, "redirect_uri")};
}

OAuthTokens read_tokens(const Value& object) {
    OAuthTokens tokens{.issuer = member_text(object, "issuer"),
                       .resource = member_text(object, "resource"),
                       .client_id = member_text(object, "client_id"),
                       .access = Secret<std::string>(member_text(object, "access_token")),
                       .refresh = Secret<std::string>(member_text(object, "refresh_token")),
                       .scope = member_text(object, "scope"),
                       .wanted_scope = member_text(object, "wanted_scope")};
    if (const auto seconds = number_of(object, "expires_at"))
        tokens.expires_at = SystemTime(std::chrono::seconds(*seconds));
    tokens.step_ups = static_cast<int>(number_of(object, "step_ups").value_or(0));
    return tokens;
}

}  // namespace

/// The file, and what is to be written to it.
struct OAuthCredentialsFile::File {
    explicit File(crypto::KeyFolder folder) : folder(std::move(folder)) {}

    void put(std::string text) {
        const std::scoped_lock lock(mutex);
        newest = std::move(text);
    }
    /// Writes the newest text, unless another write has taken it. One at a time, so that an older
    /// text never replaces a newer one.
    void write() {
        const std::scoped_lock one(writing);
        std::optional<std::string> text;
        {
            const std::scoped_lock lock(mutex);
            text = std::exchange(newest, std::nullopt);
        }
        if (!text) return;
        if (const auto written = folder.write(kFile, *text, Access::kPrivate); !written)
            log::warn("mcp credentials not stored", {{"error", written.error().message}});
    }

    const crypto::KeyFolder folder;
    OrderedMutex<LockRank::kOAuthFile> writing;
    std::mutex mutex;
    std::optional<std::string> newest;
};

Result<std::unique_ptr<OAuthCredentialsFile>> OAuthCredentialsFile::open(crypto::KeyFolder folder,
                                                                         BlockingPool& pool) {
    const auto text = folder.read(kFile, Access::kPrivate);
    if (!text) return fail(text.error());
    std::unique_ptr<OAuthCredentialsFile> opened(
        new OAuthCredentialsFile(std::make_shared<File>(std::move(folder)), pool));
    if (*text && !opened->read(**text))
        return fail(ErrorCode::kInvalidArgs,
                    "oauth.json cannot be read; remove it and log in again");
    return opened;
}

bool OAuthCredentialsFile::read(std::string_view text) {
    const auto all = Value::parse(text);
    const Value* const clients = all ? all->find("clients") : nullptr;
    const Value* const tokens = all ? all->find("tokens") : nullptr;
    if (clients == nullptr || !clients->is_array() || tokens == nullptr || !tokens->is_array())
        return false;
    for (const Value& each : *clients->as_array())
        clients_.insert_or_assign(member_text(each, "issuer"), read_client(each));
    for (const Value& each : *tokens->as_array()) {
        tokens_.insert_or_assign(
            {.source = member_text(each, "source"), .owner = member_text(each, "owner")},
            read_tokens(each));
    }
    return true;
}

std::string OAuthCredentialsFile::dump() const {
    Value clients = Value::array(), tokens = Value::array();
    for (const auto& [issuer, client] : clients_) clients.push_back(to_json(issuer, client));
    for (const auto& [key, each] : tokens_) tokens.push_back(to_json(key, each));
    return Value::object({{"clients", std::move(clients)}, {"tokens", std::move(tokens)}}).dump();
}

void OAuthCredentialsFile::on_change() {
    file_->put(dump());
    pool_.post([file = file_] { file->write(); });
}

}  // namespace crab::mcp
