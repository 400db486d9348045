#include "operators/cpu/group_by/sums/sum_rows.hpp"

#include <algorithm>
#include <array>

namespace garuda::cpu {
namespace {

/// Fewest words of a list.
constexpr std::size_t kFewestSumWords = 3;

bool fits_beside_others(contract::StateRequest const& request) noexcept {
  return request.sums_fit_word && request.kind == contract::ValueKind::uint64 && !request.may_have_nulls &&
         (request.states & contract::kSumState) != 0;
}

}  // namespace

std::vector<std::vector<SummedWord>> side_by_side(std::span<contract::StateRequest const> requests, bool counts_rows) {
  std::vector<std::vector<SummedWord>> lists;
  auto const add = [&](SummedWord word) {
    if (lists.empty() || lists.back().size() == kSumRowWords) lists.emplace_back();
    lists.back().push_back(word);
  };
  if (counts_rows) add(std::nullopt);
  for (std::size_t c = 0; c < requests.size(); ++c)
    if (fits_beside_others(requests[c])) add(c);
  if (!lists.empty() && lists.back().size() < kFewestSumWords) lists.pop_back();
  return lists;
}

SumRows::SumRows(std::span<SummedWord const> words) : words_(words.begin(), words.end()) {
  GARUDA_EXPECTS(words.size() >= kFewestSumWords && words.size() <= kSumRowWords);
}

void SumRows::add(std::span<contract::AggregateInput const> values, std::uint64_t first,
                  std::span<std::uint32_t const> groups) {
  std::array<void const*, kSumRowWords> columns{};
  for (std::size_t w = 0; w < words_.size(); ++w)
    if (auto const column = words_[w])
      columns[w] = values[*column].values.data() + first * contract::value_words(contract::ValueKind::uint64);
  auto const& kernels = sum_kernels();
  auto* const add_rows = words_.size() == kFewestSumWords ? kernels.add_3 : kernels.add_4;
  add_rows(columns.data(), groups.data(), groups.size(), sums_.data());
}

void SumRows::merge(SumRows const& from, std::span<std::uint32_t const> from_groups,
                    std::span<std::uint32_t const> to_groups) {
  for (std::size_t i = 0; i < from_groups.size(); ++i)
    for (std::size_t w = 0; w < kSumRowWords; ++w)
      sums_[to_groups[i] * kSumRowWords + w] += from.sums_[from_groups[i] * kSumRowWords + w];
}

contract::Words SumRows::of(std::span<std::uint32_t const> groups, std::size_t word) const {
  contract::Words picked;
  picked.resize(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) picked[i] = at(groups[i], word);
  return picked;
}

}  // namespace garuda::cpu
