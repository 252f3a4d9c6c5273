#include "adapters/mcp/server/sessions.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kLabelDigits = 16;

}  // namespace

bool Sessions::is_old(const Session& session) const {
    const auto since = session.idle_since();
    return since && clock_.steady_now() - *since >= limits_.idle;
}

template <class Which>
void Sessions::take_if(Taken& taken, Which which) {
    std::erase_if(sessions_, [&](const Found::value_type& each) {
        if (!which(*each.second)) return false;
        taken.push_back(each.second);
        return true;
    });
}

void Sessions::make_room(Taken& taken, std::string_view principal) {
    std::size_t its = 0;
    const Session* longest = nullptr;
    const auto rank = [](const Session& session) {
        return std::pair(session.idle_since().value_or(SteadyTime::max()), session.facts().number);
    };
    for (const auto& [id, session] : sessions_) {
        if (session->facts().principal != principal) continue;
        ++its;
        if (longest == nullptr || rank(*session) < rank(*longest)) longest = session.get();
    }
    if (its >= limits_.per_principal)
        take_if(taken, [&](const Session& session) { return &session == longest; });
}

std::shared_ptr<Session> Sessions::open(Session::Facts facts) {
    facts.id = to_hex(random_.bytes<32>());
    facts.label = crypto::sha256_hex(facts.id).substr(0, kLabelDigits);
    facts.number = ++last_number_;
    const std::string whose = fmt::format("{}\n{}", facts.principal, facts.tenant);
    ByteBudgets& budgets = facts.sse ? unread_ : replies_;
    auto replies = std::make_shared<ByteBudget>(limits_.bytes_per_session, budgets.of(whose));
    auto made = std::make_shared<Session>(std::move(facts), clock_, std::move(replies));
    Taken over;
    {
        const std::scoped_lock lock(mutex_);
        take_if(over, [&](const Session& session) { return is_old(session); });
        make_room(over, made->facts().principal);
        sessions_.emplace(made->facts().id, made);
    }
    for (const auto& each : over) each->end();
    return made;
}

std::shared_ptr<Session> Sessions::find(std::string_view id, const core::Principal& principal) {
    std::shared_ptr<Session> session;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = sessions_.find(id);
        if (found == sessions_.end() || !found->second->is_of(principal)) return nullptr;
        session = found->second;
        if (!is_old(*session)) return session;
        sessions_.erase(found);
    }
    session->end();
    return nullptr;
}

void Sessions::end(const std::shared_ptr<Session>& session) {
    {
        const std::scoped_lock lock(mutex_);
        sessions_.erase(session->facts().id);
    }
    session->end();
}

void Sessions::end_credential(std::string_view credential) {
    if (credential.empty()) return;
    Taken over;
    {
        const std::scoped_lock lock(mutex_);
        take_if(over, [&](const Session& each) { return each.facts().credential == credential; });
    }
    for (const auto& each : over) each->end();
}

bool Sessions::sweep() {
    Taken over, left;
    {
        const std::scoped_lock lock(mutex_);
        take_if(over, [&](const Session& session) { return is_old(session); });
        for (const auto& [id, session] : sessions_) left.push_back(session);
    }
    for (const auto& each : over) each->end();
    for (const auto& each : left) each->sweep();
    return !left.empty();
}

std::size_t Sessions::size() const {
    const std::scoped_lock lock(mutex_);
    return sessions_.size();
}

}  // namespace crab::mcp
