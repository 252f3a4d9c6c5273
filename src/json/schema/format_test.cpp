#include "json/schema/format.hpp"

#include "json/schema/idn_label.hpp"
#include "json/schema/uri.hpp"

#include <gtest/gtest.h>

namespace crab::json {
namespace {

using namespace formats;
using namespace std::string_literals;

TEST(Formats, TimesKeepTheCalendarAndLeapSecondsTheirPlace) {
    EXPECT_TRUE(is_date("2024-02-29"));
    EXPECT_FALSE(is_date("2023-02-29"));
    EXPECT_FALSE(is_date("2023-04-31"));
    EXPECT_TRUE(is_date_time("1998-12-31T23:59:60Z"));
    EXPECT_TRUE(is_date_time("1998-12-31t15:59:60.123-08:00"));
    EXPECT_FALSE(is_date_time("1998-12-31T22:59:60Z"));
    EXPECT_FALSE(is_date_time("1998-12-31T23:59:59"));
    EXPECT_FALSE(is_time("24:00:00Z"));
    EXPECT_TRUE(is_duration("P1Y2M3DT4H5M6S"));
    EXPECT_TRUE(is_duration("P4W"));
    EXPECT_FALSE(is_duration("P1Y4W"));
    EXPECT_FALSE(is_duration("PT"));
    EXPECT_FALSE(is_duration("P1YT"));
}

TEST(Formats, HostsAndMailboxesFollowTheirLengthsAndAlphabets) {
    EXPECT_TRUE(is_hostname("a-b.example"));
    EXPECT_FALSE(is_hostname("-a.example"));
    EXPECT_FALSE(is_hostname(std::string(64, 'a')));
    EXPECT_FALSE(is_hostname("a..b"));
    EXPECT_TRUE(is_idn_hostname("実例.com"));
    EXPECT_FALSE(is_idn_hostname("〮한국"));
    EXPECT_TRUE(is_email("joe.bloggs@example.com"));
    EXPECT_TRUE(is_email("\"a b\"@[127.0.0.1]"));
    EXPECT_FALSE(is_email("a..b@example.com"));
    EXPECT_TRUE(is_idn_email("실례@실례.테스트"));
    EXPECT_TRUE(is_ipv4("192.168.0.255"));
    EXPECT_FALSE(is_ipv4("192.168.0.256"));
    EXPECT_FALSE(is_ipv4("01.1.1.1"));
    EXPECT_TRUE(is_ipv6("::ffff:192.0.2.1"));
    EXPECT_FALSE(is_ipv6("1::2::3"));
    EXPECT_FALSE(is_ipv6("fe80::1%eth0"));
}

TEST(Formats, LabelsOfNamesGoThereAndBack) {
    EXPECT_EQ(to_a_label("münchen"), "xn--mnchen-3ya");
    EXPECT_EQ(to_u_label("XN--MNCHEN-3YA"), "münchen");
    EXPECT_EQ(to_a_label("他们为什么不说中文"), "xn--ihqwcrb4cv8a8dqg056pqjye");
    EXPECT_EQ(to_u_label("xn--ihqwcrb4cv8a8dqg056pqjye"), "他们为什么不说中文");
    EXPECT_EQ(to_u_label("xn--99999999999"), std::nullopt);
    EXPECT_EQ(to_a_label("münchen\0"s), std::nullopt);
    EXPECT_EQ(to_a_label("\xFF\xFE"), std::nullopt);
}

TEST(Formats, NamesKeepTheTablesOfIdna2008) {
    EXPECT_FALSE(is_idn_hostname("München.de"));  // a U-label is lower case
    EXPECT_FALSE(is_idn_hostname("ｃｒａｂ.com"));  // nor has it compatibility forms
    EXPECT_FALSE(is_idn_hostname("ﬁsh.com"));
    EXPECT_FALSE(is_idn_hostname("i♥ny.com"));
    EXPECT_TRUE(is_idn_hostname("क्‍ष.ภาษาไทย"));
    // Bidi: a digit may not begin a label beside one from right to left, nor two kinds be mixed
    EXPECT_TRUE(is_idn_hostname("0a.b"));
    EXPECT_FALSE(is_idn_hostname("0a.א"));
    EXPECT_FALSE(is_idn_hostname("0a.xn--4db"));
    EXPECT_FALSE(is_idn_hostname("א0٠"));
    EXPECT_TRUE(is_idn_hostname("a0.א0"));
}

TEST(Formats, UrisTemplatesAndPointersFollowTheirGrammars) {
    EXPECT_TRUE(is_uri("https://user@[2001:db8::1]:80/a%20b?q#f"));
    EXPECT_FALSE(is_uri("//host/path"));
    EXPECT_FALSE(is_uri("http://a b"));
    EXPECT_TRUE(is_uri_reference("../a?b"));
    EXPECT_FALSE(is_uri_reference("\\\\share"));
    EXPECT_TRUE(is_iri("http://ƒøø.ßår/?∂éœ=πîx#πîüx"));
    EXPECT_TRUE(is_uri_template("/a/{+b:3}{?c*,d}"));
    EXPECT_FALSE(is_uri_template("/a/{b"));
    EXPECT_TRUE(is_uuid("2EB8AA08-AA98-11EA-B4AA-73B441D16380"));
    EXPECT_FALSE(is_uuid("2eb8aa08aa98-11ea-b4aa-73b441d16380-"));
    EXPECT_TRUE(is_relative_json_pointer("1/a~0"));
    EXPECT_FALSE(is_relative_json_pointer("01"));
}

TEST(Uri, ReferencesResolveAsInTheRfc) {
    constexpr std::string_view kBase = "http://a/b/c/d;p?q";
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"g#s", "http://a/b/c/g#s"},
        {";x", "http://a/b/c/;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g?y/../x", "http://a/b/c/g?y/../x"}};
    for (const auto& [reference, target] : cases)
        EXPECT_EQ(resolve_uri(kBase, reference), target) << reference;
    EXPECT_EQ(resolve_uri("urn:uuid:1", "#a"), "urn:uuid:1#a");
}

}  // namespace
}  // namespace crab::json
