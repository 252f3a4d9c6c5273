#include "gateway/stored/credentials.hpp"

#include "base/log.hpp"
#include "store/stores.hpp"

namespace crab::gateway {

Result<void> Credentials::start() {
    auto opened = context_.stores->open_tokens();
    if (!opened) return fail(std::move(opened.error()));
    store_ = std::move(*opened);
    auto loaded = trust::Tokens::load(*store_, context_.clock);
    if (!loaded) return fail(std::move(loaded.error()));
    tokens_ = std::move(*loaded);
    if (membership_.exists()) return share();
    codes_ = std::make_unique<trust::PairingCodes>(*tokens_, context_.clock);
    keys_ = std::make_unique<trust::DeviceKeys>(*tokens_, context_.clock);
    return {};
}

/// As a node of a fleet.
Result<void> Credentials::share() {
    trust::SharedTrust& shared = membership_.trust();
    const trust::SharedKeys keys(membership_.keys().derived_for("trust"));
    if (auto read = tokens_->share_sessions(shared); !read) return read;
    codes_ = std::make_unique<trust::PairingCodes>(*tokens_, context_.clock, shared, keys);
    keys_ = std::make_unique<trust::DeviceKeys>(*tokens_, context_.clock, shared, keys);
    return codes_->refresh();
}

void Credentials::flush() {
    if (const auto flushed = tokens_->flush(); !flushed)
        log::warn("token uses were not stored", {{"reason", flushed.error().message}});
}

void Credentials::stop(Deadline) { flush(); }

}  // namespace crab::gateway
