#include "config/paths.hpp"
#include "config/gateway_config.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include <unistd.h>

namespace crab::config {
namespace {

namespace fs = std::filesystem;

Environment environment_of(std::map<std::string, std::string, std::less<>> variables) {
    return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

TEST(Paths, APersonsFilesLieWhereXdgSays) {
    const Paths paths = Paths::find(
        false, 1000,
        environment_of(
            {{"XDG_CONFIG_HOME", "/c"}, {"XDG_STATE_HOME", "/s"}, {"XDG_RUNTIME_DIR", "/r"}}));
    EXPECT_EQ(paths.config_candidates(),
              (std::vector<fs::path>{"/c/crab/gateway.yaml", "/etc/crab/gateway.yaml"}));
    EXPECT_EQ(paths.state_dir, "/s/crab");
    EXPECT_EQ(paths.runtime_dir, "/r/crab");
}

TEST(Paths, WithoutXdgVariablesTheHomeAndATemporaryDirectoryServe) {
    const Paths paths = Paths::find(
        false, 1000, environment_of({{"HOME", "/home/p"}, {"XDG_CONFIG_HOME", "relative"}}));
    EXPECT_EQ(paths.user_config, "/home/p/.config/crab/gateway.yaml");
    EXPECT_EQ(paths.state_dir, "/home/p/.local/state/crab");
    EXPECT_EQ(paths.runtime_dir, "/tmp/crab-1000");
    EXPECT_EQ(Paths::find(false, 0, environment_of({{"HOME", "/root"}})).runtime_dir, "/run/crab");
}

TEST(Paths, TheServiceHasSystemPaths) {
    for (const Paths& paths :
         {Paths::find(true, 0, environment_of({{"HOME", "/root"}, {"XDG_RUNTIME_DIR", "/r"}})),
          Paths::find(false, 0,
                      environment_of({{"HOME", "/root"}, {"STATE_DIRECTORY", "/var/lib/crab"}}))}) {
        EXPECT_EQ(paths.config_candidates(), (std::vector<fs::path>{"/etc/crab/gateway.yaml"}));
        EXPECT_EQ(paths.state_dir, "/var/lib/crab");
        EXPECT_EQ(paths.runtime_dir, "/run/crab");
    }
}

TEST(Paths, TheConfigurationGoesFirst) {
    Paths paths;
    paths.runtime_dir = "/r";
    GatewayConfig config;
    EXPECT_EQ(paths.admin_socket_of(config), "/r/admin.sock");
    config.gateway.runtime_dir = "/own";
    EXPECT_EQ(paths.admin_socket_of(config), "/own/admin.sock");
    config.listen.admin_socket = "/own.sock";
    EXPECT_EQ(paths.admin_socket_of(config), "/own.sock");
}

TEST(Paths, AClientAsksItsFlagThenTheEnvironmentThenTheConfiguration) {
    Paths paths;
    paths.runtime_dir = "/r";
    const GatewayConfig config;
    EXPECT_EQ(client_socket("/flag", config, paths, environment_of({{"CRAB_SOCKET", "/env"}})),
              "/flag");
    EXPECT_EQ(client_socket("", config, paths, environment_of({{"CRAB_SOCKET", "/env"}})), "/env");
    EXPECT_EQ(client_socket("", config, paths, environment_of({})), "/r/admin.sock");
}

class PrivateDirectory : public testing::Test {
protected:
    PrivateDirectory() {
        std::string pattern = fs::temp_directory_path() / "crab-paths-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~PrivateDirectory() override { fs::remove_all(folder_); }
    fs::path folder_;
};

TEST_F(PrivateDirectory, IsMadeWithModeSevenHundredAndAcceptedAgain) {
    const fs::path wanted = folder_ / "a/b";
    ASSERT_TRUE(ensure_private_directory(wanted, ::getuid()));
    EXPECT_EQ(fs::status(wanted).permissions(), fs::perms::owner_all);
    EXPECT_TRUE(ensure_private_directory(wanted, ::getuid()));
}

TEST_F(PrivateDirectory, IsRefusedWhenItIsOpenALinkOrSomebodyElses) {
    const fs::path wanted = folder_ / "d";
    fs::create_directory(wanted);
    fs::permissions(wanted, fs::perms::owner_all | fs::perms::group_read);
    EXPECT_EQ(ensure_private_directory(wanted, ::getuid()).error().code, ErrorCode::kForbidden);
    fs::permissions(wanted, fs::perms::owner_all);
    EXPECT_EQ(ensure_private_directory(wanted, ::getuid() + 1).error().code, ErrorCode::kForbidden);
    fs::create_directory_symlink(wanted, folder_ / "link");
    EXPECT_EQ(ensure_private_directory(folder_ / "link", ::getuid()).error().code,
              ErrorCode::kForbidden);
}

}  // namespace
}  // namespace crab::config
