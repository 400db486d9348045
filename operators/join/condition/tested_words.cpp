#include "operators/join/condition/tested_words.hpp"

#include <algorithm>
#include <variant>

#include "operators/contract/join_terms.hpp"

namespace garuda::join {

bool are_words_moved(std::span<expr::OrderWords const> columns, double pairs, std::uint64_t rows) {
  return !columns.empty() && contract::moves_words(pairs, static_cast<double>(rows)) &&
         std::ranges::all_of(columns, [](expr::OrderWords const& column) { return column.valid.empty(); });
}

std::vector<partition::PayloadColumn> words_as_payload(std::span<expr::OrderWords const> columns) {
  std::vector<partition::PayloadColumn> payload;
  for (auto const& column : columns)
    std::visit(
        [&]<class Word>(std::span<Word const> words) {
          payload.push_back({sizeof(Word), {{0, reinterpret_cast<std::byte const*>(words.data())}}});
        },
        column.words);
  return payload;
}

void take_moved_words(partition::PartitionedKeys const& keys, std::size_t first, std::span<expr::OrderWords> columns) {
  for (std::size_t c = 0; c < columns.size(); ++c)
    std::visit(
        [&]<class Word>(std::span<Word const>& words) {
          words = std::span(keys.payload.at(first + c).as<Word const>(), keys.num_rows());
        },
        columns[c].words);
}

}  // namespace garuda::join
