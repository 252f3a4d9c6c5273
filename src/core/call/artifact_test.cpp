#include "core/call/artifact.hpp"

#include "core/call/test_tools.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

TEST(Artifact, IsItsCallersAndOperators) {
    Artifact artifact;
    artifact.tenant = "default";
    artifact.caller = "caller/ann";
    EXPECT_TRUE(may_read(*principal_of("caller/ann"), artifact));
    EXPECT_FALSE(may_read(*principal_of("caller/eve"), artifact));

    Principal other = *principal_of("caller/eve");
    other.roles = Roles{Role::kOperator};
    EXPECT_TRUE(may_read(other, artifact));

    const Principal elsewhere = *principal_of("caller/ann", {Role::kCaller}, "default");
    artifact.tenant = "secret";
    EXPECT_FALSE(may_read(elsewhere, artifact));
}

TEST(Artifact, OfBeforeCallersWereKeptIsItsTenants) {
    Artifact artifact;
    artifact.tenant = "default";
    EXPECT_TRUE(may_read(*principal_of("caller/eve"), artifact));
}

}  // namespace
}  // namespace crab::core
