// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gander/error.hpp>
#include <gander/payload.hpp>

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <string>

namespace gander {
namespace {

using namespace std::string_literals;

bool accepted(std::string json) {
    error_code ec;
    payload const p = payload::raw(json, ec);
    if (!ec) {
        EXPECT_EQ(p.str(), json) << "raw text must be kept byte for byte";
    } else {
        EXPECT_EQ(ec, errc::invalid_payload);
    }
    return !ec;
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(PayloadRaw, KeepsValidJsonByteForByte) {
    for (char const* json :
         {"null", "true", "42", "-0.5e10", R"("text")", R"("")", "[]", "{}", R"({"a":[1, 2 ]})",
          " 1 ", "\t[ ]\r\n", R"({"a":1,"a":2})", "123456789012345678901234567890", R"("\u0000")",
          R"("null")", R"("\/")", "\"\xe2\x80\xa8\""})
        EXPECT_TRUE(accepted(json)) << json;
}

TEST(PayloadRaw, RefusesWhatIsNotJson) {
    for (char const* json :
         {"",           " ",    "nul",       "tru",      "'a'",     "{a:1}",    "[1,]",
          "{\"a\":1,}", "[",    "]",         "{",        "\"abc",   "01",       "+1",
          "1.",         ".5",   "NaN",       "Infinity", "// c\n1", "/* c */1", "1 2",
          "{} x",       "[1]]", "undefined", "\"\t\"",   "\"\\x\"", "\"\\u12\""})
        EXPECT_FALSE(accepted(json)) << json;
}

TEST(PayloadRaw, RefusesNulAndWhatFollowsTheValue) {
    EXPECT_FALSE(accepted("1\0"s));
    EXPECT_FALSE(accepted("\0"s));
    EXPECT_FALSE(accepted("\"a\0b\""s));
    EXPECT_FALSE(accepted("{}\0{}"s));
    EXPECT_FALSE(accepted("{}\xef\xbb\xbf"));
    EXPECT_FALSE(accepted("\xef\xbb\xbf{}"));
}

TEST(PayloadRaw, RefusesInvalidUtf8) {
    EXPECT_FALSE(accepted("\"\xff\""));
    EXPECT_FALSE(accepted("\"\xc0\x80\""));          // overlong NUL
    EXPECT_FALSE(accepted("\"\xed\xa0\x80\""));      // a surrogate
    EXPECT_FALSE(accepted("\"\xf4\x90\x80\x80\""));  // beyond U+10FFFF
    EXPECT_FALSE(accepted("\"\xe2\x82\""));          // cut short
}

TEST(PayloadRaw, LoneSurrogateEscapeIsKeptOrRefusedButNeverChanged) {
    // `accepted` compares the bytes; which of the two is a matter of the parser.
    accepted(R"("\ud800")");
    accepted(R"("\udc00\ud800")");
    EXPECT_TRUE(accepted(R"("\ud83d\ude00")"));
}

TEST(PayloadRaw, NestsTo1000LevelsAndNoDeeper) {
    EXPECT_TRUE(accepted(nested(1000)));
    EXPECT_FALSE(accepted(nested(1001)));
    EXPECT_FALSE(accepted(std::string(100'000, '[')));
    std::string objects;
    for (int i = 0; i < 1001; ++i) objects += "{\"a\":";
    EXPECT_FALSE(accepted(objects + "1" + std::string(1001, '}')));
}

TEST(PayloadRaw, LongTextsAreKept) {
    // Appended, not added up: g++ 12 with -O1 sees an overflow in the temporaries' moves.
    std::string text = "\"";
    text.append(1 << 20, 'x').append("\"");
    EXPECT_TRUE(accepted(text));
    EXPECT_TRUE(accepted("{" + text + ":1}"));
}

TEST(PayloadRaw, TheErrorTellsThePosition) {
    try {
        payload::raw(R"({"a":1} trailing)");
        FAIL() << "trailing text was accepted";
    } catch (system_error const& e) {
        EXPECT_EQ(e.code(), errc::invalid_payload);
        EXPECT_NE(std::string(e.what()).find('8'), std::string::npos) << e.what();
    }
}

TEST(PayloadText, QuotesAnythingThatIsUtf8) {
    EXPECT_EQ(payload::text("42").str(), R"("42")");
    EXPECT_EQ(payload::text("").str(), R"("")");
    std::string const odd = "quote \" back \\ slash / nul \0 tab \t line \n esc \x1b \xe2\x80\xa8"s;
    auto const back = boost::json::parse(payload::text(odd).str());
    EXPECT_EQ(std::string(back.as_string()), odd);
    EXPECT_TRUE(accepted(payload::text(odd).str()));
}

TEST(PayloadText, RefusesInvalidUtf8) { EXPECT_THROW(payload::text("\xff"), system_error); }

TEST(Payload, DefaultIsNull) { EXPECT_EQ(payload().str(), "null"); }

TEST(Payload, ObjectAndArrayBuildJson) {
    EXPECT_EQ(object("id", 42, "to", "a@example.com").str(), R"({"id":42,"to":"a@example.com"})");
    EXPECT_EQ(object().str(), "{}");
    EXPECT_EQ(array(1, "two", true, nullptr).str(), R"([1,"two",true,null])");
    EXPECT_EQ(array().str(), "[]");
    EXPECT_EQ(object("n", std::int64_t{9007199254740993}).str(), R"({"n":9007199254740993})");
}

TEST(Payload, FromJsonValues) {
    payload const p = boost::json::parse(R"({"a":[1,2.5,null]})");
    EXPECT_EQ(boost::json::parse(p.str()), boost::json::parse(R"({"a":[1,2.5,null]})"));
}

}  // namespace
}  // namespace gander
