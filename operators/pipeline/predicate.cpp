#include "operators/pipeline/predicate.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "core/load.hpp"

namespace garuda::pipeline {
namespace {

/// An estimate of what a row costs: the bytes of the values that are read, and as much as some values for each call, of
/// which those of texts take longer.
std::uint64_t cost_of(expr::Expression const& expression) {
  constexpr std::uint64_t kTextBytes = 32;
  constexpr std::uint64_t kCallBytes = 4;
  constexpr std::uint64_t kTextCallBytes = 256;
  if (expression.form == expr::Expression::Form::constant) return 0;
  if (expression.form == expr::Expression::Form::column) {
    auto const kind = expr::kind_of(expression.type);
    if (!kind || *kind == expr::Kind::bytes) return kTextBytes;
    return expr::with_kind(*kind, [](auto value) { return std::uint64_t{sizeof(value)}; });
  }
  bool const is_of_texts = expression.function >= expr::Function::like && expression.function <= expr::Function::concat;
  auto cost = is_of_texts ? kTextCallBytes : kCallBytes;
  for (auto const& argument : expression.arguments) cost += cost_of(argument);
  return cost;
}

std::vector<std::size_t> columns_of(expr::Expression const& expression) {
  std::vector<std::size_t> columns;
  expr::visit_columns(expression, [&](std::size_t column) { columns.push_back(column); });
  std::ranges::sort(columns);
  columns.erase(std::ranges::unique(columns).begin(), columns.end());
  return columns;
}

/// Makes one conjunct of comparisons of the same numbers, as those of a range: they are computed for all rows of a
/// block sooner than the rows that one leaves are found for the next.
Result<std::vector<expr::Expression>> without_ranges(std::vector<expr::Expression> conjuncts) {
  constexpr std::uint64_t kMostCost = 64;
  std::vector<expr::Expression> merged;
  bool is_fixed = false;  // behind an expression that can fail none moves
  for (auto& conjunct : conjuncts) {
    is_fixed = is_fixed || expr::can_fail(conjunct);
    auto const same = std::ranges::find_if(merged, [&](auto const& other) {
      return !is_fixed && cost_of(other) + cost_of(conjunct) <= kMostCost && columns_of(other) == columns_of(conjunct);
    });
    if (same == merged.end()) {
      merged.push_back(std::move(conjunct));
      continue;
    }
    GARUDA_TRY_ASSIGN(*same, expr::call(expr::Function::all, {std::move(*same), std::move(conjunct)}));
  }
  return merged;
}

constexpr std::size_t kRowsAtOnce = 8;

/// The places of the ones of a byte, the least one first, and their number.
struct Places {
  std::array<std::uint16_t, kRowsAtOnce> of_ones{};  ///< those behind them are any
  std::uint8_t count = 0;
};

constexpr std::array<Places, 256> places_of_bytes() {
  std::array<Places, 256> all{};
  for (std::size_t byte = 0; byte < all.size(); ++byte)
    for (std::size_t bit = 0; bit < kRowsAtOnce; ++bit)
      if ((byte >> bit & 1) != 0) all[byte].of_ones[all[byte].count++] = static_cast<std::uint16_t>(bit);
  return all;
}

constexpr auto kPlaces = places_of_bytes();

/// The lowest bits of eight bytes, which are 0 or 1, as the bits of one.
std::uint8_t bits_of(std::uint64_t bytes) noexcept {
  // Each byte's bit comes to a place of its own in the highest byte, and none of the products meet.
  return static_cast<std::uint8_t>(bytes * 0x0102'0408'1020'4080 >> 56);
}

}  // namespace

/// Rows of a block that the conjuncts so far leave, by their place in it.
struct Predicate::Block {
  std::uint64_t begin = 0;
  std::size_t count = 0;
  std::size_t left = 0;
  std::array<std::uint16_t, expr::kVectorRows> rows;  ///< those behind `left` are any

  bool is_whole() const noexcept { return left == count; }

  /// Keeps rows whose value is true. `values`: of all rows of the block, or of those that are left.
  void keep(expr::Vector const& values, bool are_of_all) {
    if (is_whole() && !values.is_constant) return keep_whole(values.as<std::byte>());
    auto const* const passes = values.as<std::uint8_t>();
    auto const stride = values.stride();
    bool const by_row = are_of_all && !is_whole();
    std::size_t kept = 0;
    // The place behind the last row is written always, and kept where the row passes.
    for (std::size_t i = 0; i < left; ++i) {
      auto const row = is_whole() ? static_cast<std::uint16_t>(i) : rows[i];
      rows[kept] = row;
      kept += passes[(by_row ? row : i) * stride];
    }
    left = kept;
  }

 private:
  /// Keeps rows of a whole block, eight at a time: whether a row passes decides no branch.
  void keep_whole(std::byte const* passes) {
    std::size_t kept = 0;
    std::size_t i = 0;
    for (; i + kRowsAtOnce <= count; i += kRowsAtOnce) {
      auto const& places = kPlaces[bits_of(load<std::uint64_t>(passes + i, 0))];
      auto found = places.of_ones;
      for (auto& row : found) row = static_cast<std::uint16_t>(row + i);
      std::memcpy(rows.data() + kept, found.data(), sizeof(found));
      kept += places.count;
    }
    for (; i < count; ++i) {
      rows[kept] = static_cast<std::uint16_t>(i);
      kept += std::to_integer<std::size_t>(passes[i]);
    }
    left = kept;
  }
};

Result<std::unique_ptr<Predicate>> Predicate::create(expr::Expression const& expression) {
  GARUDA_TRY_ASSIGN(auto conjuncts, without_ranges(expr::conjuncts(expression)));
  std::ranges::stable_sort(conjuncts.begin(), std::ranges::find_if(conjuncts, expr::can_fail), {}, cost_of);
  std::unique_ptr<Predicate> predicate(new Predicate());
  for (auto& conjunct : conjuncts) {
    bool const can_fail = expr::can_fail(conjunct);
    GARUDA_TRY_ASSIGN(auto program, SlotProgram::create(std::move(conjunct), expr::Nulls::false_));
    predicate->conjuncts_.push_back({std::move(program), can_fail});
  }
  return predicate;
}

std::vector<Slot> Predicate::reads() const {
  std::vector<Slot> slots;
  for (auto const& conjunct : conjuncts_)
    for (auto const slot : conjunct.program->reads())
      if (std::ranges::find(slots, slot) == slots.end()) slots.push_back(slot);
  return slots;
}

Result<RowNumbers> Predicate::passing(Chunk const& chunk) const {
  RowNumbers rows(chunk.num_rows);
  auto* to = rows.data();
  std::vector<std::optional<SlotProgram::Run>> runs(conjuncts_.size());
  Block block;
  for (; block.begin < chunk.num_rows; block.begin += block.count) {
    block.count = static_cast<std::size_t>(std::min<std::uint64_t>(expr::kVectorRows, chunk.num_rows - block.begin));
    block.left = block.count;
    for (std::size_t c = 0; c < conjuncts_.size() && block.left > 0; ++c) {
      auto& run = runs[c];
      if (!run) {
        GARUDA_TRY_ASSIGN(auto created, SlotProgram::Run::create(*conjuncts_[c].program, chunk));
        run.emplace(std::move(created));
      }
      // Values of most rows are read faster where they lie than copied side by side.
      bool const is_of_all = block.is_whole() || (block.left > block.count / 4 * 3 && !conjuncts_[c].can_fail);
      GARUDA_TRY_ASSIGN(auto const values, is_of_all
                                               ? run->values(block.begin, block.count)
                                               : run->values(block.begin, std::span(block.rows).first(block.left)));
      block.keep(values, is_of_all);
    }
    for (std::size_t i = 0; i < block.left; ++i) *to++ = static_cast<std::int64_t>(block.begin + block.rows[i]);
  }
  rows.resize(static_cast<std::size_t>(to - rows.data()));
  return rows;
}

}  // namespace garuda::pipeline
