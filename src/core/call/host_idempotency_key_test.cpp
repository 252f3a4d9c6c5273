#include "core/call/host_idempotency_key.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace crab::core {
namespace {

struct Named {
    std::string_view principal, tenant, id, key;
};

void fill(Call& call, Principal& principal, const Named& named) {
    principal.id = named.principal;
    call.tenant = named.tenant;
    call.id = named.id;
    call.idempotency_key = named.key;
}

std::string call_id(const Named& named) {
    Call call;
    Principal principal;
    fill(call, principal, named);
    call.idempotency_key = {};
    return host_idempotency_key(call, principal);
}

std::string key(const Named& named) {
    Call call;
    Principal principal;
    fill(call, principal, named);
    return host_idempotency_key(call, principal);
}

TEST(IdAtHostTest, EqualTextsOfDifferentCallersTenantsAndKindsAreDifferent) {
    const std::vector<std::string> made{
        call_id({"caller/ann", "default", "x", ""}), call_id({"caller/eve", "default", "x", ""}),
        call_id({"caller/ann", "inn", "x", ""}),     key({"caller/ann", "default", "y", "x"}),
        key({"caller/eve", "default", "y", "x"}),    key({"caller/ann", "inn", "y", "x"}),
        call_id({"caller/ann", "default", "y", ""})};
    EXPECT_EQ(std::set<std::string>(made.begin(), made.end()).size(), made.size());
    for (const std::string& each : made) {
        EXPECT_EQ(each.size(), 32u);
        EXPECT_EQ(each.find_first_not_of("0123456789abcdef"), std::string::npos) << each;
    }
}

TEST(IdAtHostTest, ARepeatHasTheSameIdAndKey) {
    EXPECT_EQ(call_id({"caller/ann", "default", "x", "k"}), call_id({"caller/ann", "", "x", ""}));
    EXPECT_EQ(key({"caller/ann", "default", "x", "k"}), key({"caller/ann", "default", "z", "k"}));
    EXPECT_EQ(key({"caller/ann", "default", "x", ""}), call_id({"caller/ann", "default", "x", ""}))
        << "without a key the id is one";
    // printf 'default\ncaller/ann\nkey\norder-1' | sha256sum
    EXPECT_EQ(key({"caller/ann", "default", "x", "order-1"}), "7bb5aeb78dcd2d7b4886a85a8b8f7c71");
}

}  // namespace
}  // namespace crab::core
