#include "data/csv_tokenizer.h"

#include <csv.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Fields = std::vector<std::string>;

struct Tokens {
  std::vector<Fields> records;
  std::vector<int64_t> lines;
};

absl::StatusOr<Tokens> Tokenize(absl::string_view text, char delimiter = ',') {
  CsvTokenizer tokenizer(text, delimiter);
  CsvRecord record;
  Tokens tokens;
  while (true) {
    const absl::StatusOr<bool> more = tokenizer.Next(&record);
    if (!more.ok()) return more.status();
    if (!*more) return tokens;
    Fields fields;
    for (size_t i = 0; i < record.size(); ++i) fields.emplace_back(record.field(i));
    tokens.records.push_back(std::move(fields));
    tokens.lines.push_back(record.line());
  }
}

std::vector<Fields> Records(absl::string_view text, char delimiter = ',') {
  const absl::StatusOr<Tokens> tokens = Tokenize(text, delimiter);
  EXPECT_OK(tokens);
  return tokens.ok() ? tokens->records : std::vector<Fields>();
}

// What libcsv makes of the same text.
struct Reference {
  std::vector<Fields> records;
  Fields fields;

  static void OnField(void* data, size_t size, void* self) {
    static_cast<Reference*>(self)->fields.emplace_back(static_cast<const char*>(data), size);
  }
  static void OnRecord(int /*end*/, void* self) {
    auto* reference = static_cast<Reference*>(self);
    reference->records.push_back(std::move(reference->fields));
    reference->fields.clear();
  }
};

std::vector<Fields> ReferenceRecords(const std::string& text) {
  Reference reference;
  csv_parser parser;
  EXPECT_EQ(csv_init(&parser, 0), 0);
  EXPECT_EQ(csv_parse(&parser, text.data(), text.size(), Reference::OnField, Reference::OnRecord, &reference),
            text.size());
  EXPECT_EQ(csv_fini(&parser, Reference::OnField, Reference::OnRecord, &reference), 0);
  csv_free(&parser);
  return reference.records;
}

TEST(CsvTokenizerTest, A38QuotedFieldsMayHoldDelimitersQuotesAndLineEnds) {
  ASSERT_OK_AND_ASSIGN(const Tokens tokens,
                       Tokenize("a,\"b, c\"\r\n\"say \"\"hi\"\"\",\"two\r\nlines\"\r\nd,e"));
  EXPECT_THAT(tokens.records,
              ElementsAre(Fields{"a", "b, c"}, Fields{"say \"hi\"", "two\r\nlines"}, Fields{"d", "e"}));
  EXPECT_THAT(tokens.lines, ElementsAre(1, 2, 4));
}

TEST(CsvTokenizerTest, A39TheByteOrderMarkIsNotPartOfTheFirstField) {
  EXPECT_THAT(Records("\xEF\xBB\xBFx1,x2\n"), ElementsAre(Fields{"x1", "x2"}));
}

TEST(CsvTokenizerTest, A39BlanksAroundFieldsAreDropped) {
  EXPECT_THAT(Records(" a\t, b c ,\t\"d \" \n"), ElementsAre(Fields{"a", "b c", "d "}));
}

TEST(CsvTokenizerTest, EveryKindOfLineEndCountsOnce) {
  ASSERT_OK_AND_ASSIGN(const Tokens tokens, Tokenize("a\nb\r\nc\rd\n\n\r\n  \ne"));
  EXPECT_THAT(tokens.records, ElementsAre(Fields{"a"}, Fields{"b"}, Fields{"c"}, Fields{"d"}, Fields{"e"}));
  EXPECT_THAT(tokens.lines, ElementsAre(1, 2, 3, 4, 8));
}

TEST(CsvTokenizerTest, EmptyFieldsAreFields) {
  EXPECT_THAT(Records(",\n\"\",x,\n"), ElementsAre(Fields{"", ""}, Fields{"", "x", ""}));
}

TEST(CsvTokenizerTest, TextWithoutRecordsHasNone) {
  for (const char* text : {"", "\n", "\xEF\xBB\xBF", " \r\n\t"})
    EXPECT_THAT(Records(text), IsEmpty()) << text;
}

TEST(CsvTokenizerTest, ATabMayBeTheDelimiter) {
  EXPECT_THAT(Records("a\t\tb \n\tc\t", '\t'), ElementsAre(Fields{"a", "", "b"}, Fields{"", "c", ""}));
}

TEST(CsvTokenizerTest, QuotesThatDoNotMatchAreErrorsWithTheirLine) {
  EXPECT_THAT(
      Tokenize("a,b\n1,\"open\n2,3\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2: a quoted field is never closed")));
  EXPECT_THAT(Tokenize("a\n\"x\ny\"z\n"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                   HasSubstr("line 3: text follows the closing quote")));
}

// Random text over the characters that matter. Where this tokenizer accepts a text, libcsv must see the same
// records; where it does not, libcsv goes on with guesses, which cannot be compared.
TEST(CsvTokenizerTest, AgreesWithLibcsvOnRandomText) {
  std::mt19937 random(1);
  constexpr char kAlphabet[] = "ab,,\"\" \t\r\n\n";
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (uint32_t size = random() % 16; size > 0; --size)
      text += kAlphabet[random() % (sizeof(kAlphabet) - 1)];
    const absl::StatusOr<Tokens> tokens = Tokenize(text);
    if (!tokens.ok()) continue;
    ++accepted;
    ASSERT_EQ(tokens->records, ReferenceRecords(text)) << testing::PrintToString(text);
  }
  EXPECT_GT(accepted, 10'000);
}

}  // namespace
}  // namespace lockstep
