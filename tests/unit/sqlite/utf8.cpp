// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gander::sqlite {
namespace {

using namespace std::string_literals;

TEST(Utf8, ValidTextIsValidToItsEnd) {
    for (char const* text :
         {"", "abc", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
          "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
          "a\xe2\x82\xac"
          "b"})
        EXPECT_TRUE(valid_utf8(text)) << text;
    EXPECT_TRUE(valid_utf8("a\0b"s));
}

TEST(Utf8, InvalidFormsEndThePrefix) {
    struct {
        std::string text;
        std::size_t prefix;
    } const cases[] = {
        {"\x80", 0},              // a continuation alone
        {"a\xff", 1},             // never a byte of UTF-8
        {"ab\xc3", 2},            // cut short
        {"\xc0\x80", 0},          // overlong
        {"\xc1\xbf", 0},          // overlong
        {"\xe0\x80\x80", 0},      // overlong
        {"\xe0\x9f\xbf", 0},      // overlong
        {"\xf0\x8f\xbf\xbf", 0},  // overlong
        {"\xed\xa0\x80", 0},      // surrogate
        {"\xed\xbf\xbf", 0},      // surrogate
        {"\xf4\x90\x80\x80", 0},  // beyond U+10FFFF
        {"\xf5\x80\x80\x80", 0},
        {"x\xe2\x82", 1},
        {"x\xf0\x9f\x98", 1},
        {"\xc3\xa9\xc3"
         "a",
         2},
        {"\xe2\x28\xa1", 0},
    };
    for (auto const& c : cases) EXPECT_EQ(valid_utf8_prefix(c.text), c.prefix) << c.text;
}

TEST(Utf8, NamesAreNotEmptyHaveNoNulAndAreUtf8) {
    EXPECT_TRUE(valid_name("orders"));
    EXPECT_TRUE(valid_name("it's \"quoted\" \\ \xe2\x80\xa8 \xf0\x9f\x98\x80"));
    EXPECT_TRUE(valid_name(std::string(10'000, 'n')));
    EXPECT_FALSE(valid_name(""));
    EXPECT_FALSE(valid_name("a\0b"s));
    EXPECT_FALSE(valid_name("\0"s));
    EXPECT_FALSE(valid_name("a\xff"));
}

TEST(Utf8, MendedTextIsValidAndKeepsWhatItCan) {
    EXPECT_EQ(mended_utf8("plain", 100), "plain");
    EXPECT_EQ(mended_utf8("a\0b"s, 100), "a?b");
    EXPECT_EQ(mended_utf8("a\xff"
                          "b",
                          100),
              "a?b");
    EXPECT_EQ(mended_utf8("", 100), "");
    for (std::string const& bad :
         {"\xc3"s, "\xf0\x9f\x98"s, "\xed\xa0\x80"s, "\x80\x80\x80"s, std::string(1000, '\xfe')}) {
        std::string const mended = mended_utf8(bad, 100);
        EXPECT_TRUE(valid_utf8(mended));
        EXPECT_LE(mended.size(), 100U);
        EXPECT_EQ(mended.find('\0'), std::string::npos);
    }
}

TEST(Utf8, CuttingKeepsCharactersWhole) {
    std::string euros;
    for (int i = 0; i < 10; ++i) euros += "\xe2\x82\xac";
    for (std::size_t max = 0; max <= euros.size() + 1; ++max) {
        std::string const cut = mended_utf8(euros, max);
        EXPECT_TRUE(valid_utf8(cut)) << max;
        EXPECT_LE(cut.size(), max);
        EXPECT_GE(cut.size() + 2, std::min(max, euros.size())) << "more was cut than needed";
    }
}

}  // namespace
}  // namespace gander::sqlite
