// Tables with strings of every shape, in every layout that Arrow has for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "garuda/table.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::testing {

/// Empty ones, of 1 to 17 bytes and around further boundaries, equal but for their last or first byte, with zeros in
/// them, not UTF-8, long.
inline std::vector<std::string> string_shapes() {
  std::vector<std::string> shapes{"", std::string(1, '\0'), std::string(2, '\0'), std::string(4, '\0'), "a", "b"};
  for (std::size_t const length : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 63, 64, 65}) {
    std::string text(length, 'x');
    shapes.push_back(text);
    text.back() = 'y';
    shapes.push_back(text);
    text.front() = 'z';
    shapes.push_back(text);
    text[length / 2] = '\0';
    shapes.push_back(text);
    text.back() = '\xff';
    shapes.push_back(text);
  }
  shapes.push_back(std::string(5'000, 'l'));
  shapes.push_back(std::string(4'999, 'l') + "m");
  return shapes;
}

using Texts = std::vector<std::optional<std::string>>;

/// How a column of strings lies in memory.
enum class StringLayout : std::uint8_t { utf8, large_utf8, binary, large_binary, utf8_view, binary_view, dictionary };

/// `rows` texts drawn from `from`, one of `null_share` of them null (0: none).
inline Texts draw_texts(std::vector<std::string> const& from, std::size_t rows, std::uint64_t null_share,
                        std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Texts texts;
  for (std::size_t i = 0; i < rows; ++i) {
    bool const is_null = null_share != 0 && random() % null_share == 0;
    texts.push_back(is_null ? std::nullopt : std::optional(from[random() % from.size()]));
  }
  return texts;
}

inline reference::Column string_column(Texts const& texts, StringLayout layout) {
  switch (layout) {
    case StringLayout::utf8:
      return reference::make_strings(texts, TypeId::utf8);
    case StringLayout::large_utf8:
      return reference::make_strings(texts, TypeId::large_utf8);
    case StringLayout::binary:
      return reference::make_strings(texts, TypeId::binary);
    case StringLayout::large_binary:
      return reference::make_strings(texts, TypeId::large_binary);
    case StringLayout::utf8_view:
      return reference::make_strings(texts, TypeId::utf8_view);
    case StringLayout::binary_view:
      return reference::make_strings(texts, TypeId::binary_view);
    case StringLayout::dictionary:
      break;
  }
  // A dictionary of its own, in another order, with a null and with values that stand there twice.
  Texts values{std::nullopt};
  std::vector<std::optional<std::int32_t>> indices;
  for (auto text = texts.rbegin(); text != texts.rend(); ++text)
    if (*text && values.size() < texts.size() / 2 + 3) values.push_back(*text);
  for (auto const& text : texts) {
    if (!text) {
      indices.emplace_back();
      continue;
    }
    std::size_t at = 0;
    while (at < values.size() && values[at] != text) ++at;
    if (at == values.size()) values.push_back(text);
    indices.emplace_back(static_cast<std::int32_t>(at));
  }
  return reference::make_dictionary(indices, reference::make_strings(values));
}

/// Columns `s`, the texts, `n`, numbers of which few differ, and `t`, other texts, in batches of so many rows.
struct StringTable {
  Texts texts;
  StringLayout layout = StringLayout::utf8;
  std::size_t batch_rows = 40;
  std::uint64_t seed = 1;

  Table build() const {
    std::mt19937_64 random(seed);
    std::vector<Batch> batches;
    Schema schema;
    for (std::size_t first = 0; first < texts.size() || first == 0; first += batch_rows) {
      auto const end = std::min(first + batch_rows, texts.size());
      Texts const own(texts.begin() + static_cast<std::ptrdiff_t>(first),
                      texts.begin() + static_cast<std::ptrdiff_t>(end));
      std::vector<std::int32_t> numbers;
      for (std::size_t i = first; i < end; ++i) numbers.push_back(static_cast<std::int32_t>(random() % 7));
      auto const strings = string_column(own, layout);
      auto const other = string_column(draw_texts(string_shapes(), end - first, 5, seed + first), StringLayout::utf8);
      schema = {{"s", strings.type, true}, {"n", reference::typed(TypeId::int32), true}, {"t", other.type, true}};
      batches.push_back(reference::make_batch(
          {strings, reference::make_column<std::int32_t>(reference::typed(TypeId::int32), numbers), other}));
    }
    return Table(std::move(schema), std::move(batches));
  }
};

}  // namespace garuda::testing
