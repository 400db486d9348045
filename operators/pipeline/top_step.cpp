#include "operators/pipeline/top_step.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/numbers/ordered_value.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/shortage.hpp"
#include "core/variable_value.hpp"
#include "expr/columns.hpp"

namespace garuda::pipeline {
namespace {

constexpr std::uint64_t kGreatest = std::numeric_limits<std::uint64_t>::max();

/// A word for each value, which is not less than that of a value before it in the order of keys: values that differ may
/// have one word.
std::uint64_t word_of(std::uint64_t value) noexcept { return value; }
std::uint64_t word_of(std::int64_t value) noexcept { return ordered_signed(static_cast<std::uint64_t>(value)); }
std::uint64_t word_of(std::uint8_t value) noexcept { return value; }
std::uint64_t word_of(std::int32_t value) noexcept { return word_of(std::int64_t{value}); }
std::uint64_t word_of(std::uint32_t value) noexcept { return value; }
std::uint64_t word_of(Int128 value) noexcept {
  using Limits = std::numeric_limits<std::int64_t>;
  return word_of(static_cast<std::int64_t>(std::clamp<Int128>(value, Limits::min(), Limits::max())));
}
std::uint64_t word_of(double value) noexcept { return ordered_from_bits(canonical_bits(value)); }
std::uint64_t word_of(float value) noexcept { return word_of(static_cast<double>(value)); }
std::uint64_t word_of(std::string_view value) noexcept { return ordered_prefix(value); }

/// Words in the order that is asked for. Of nulls they are the least or the greatest, which the nearest values share.
void write_words(expr::Vector const& vector, std::size_t count, TopColumn column, std::uint64_t* to) {
  auto const flip = column.descending ? kGreatest : 0;
  expr::with_kind(vector.kind, [&]<class Value>(Value) {
    auto const* const values = vector.as<Value>();
    if (vector.valid == nullptr)
      for (std::size_t i = 0; i < count; ++i) to[i] = word_of(values[i]) ^ flip;
    else
      for (std::size_t i = 0; i < count; ++i)
        to[i] = vector.valid[i] != 0 ? word_of(values[i]) ^ flip : column.nulls_first ? 0 : kGreatest;
  });
}

}  // namespace

/// Takes words into account that may be among the least.
void TopStep::add(Words words) const {
  if (words.size() > rows_) {
    std::ranges::nth_element(words, words.begin() + static_cast<std::ptrdiff_t>(rows_));
    words.resize(rows_);
  }
  std::lock_guard const lock(mutex_);
  for (auto const word : words) {
    if (least_.size() == rows_) {
      if (word >= least_.front()) continue;
      std::ranges::pop_heap(least_);
      least_.pop_back();
    }
    least_.push_back(word);
    std::ranges::push_heap(least_);
  }
  if (least_.size() == rows_) last_.store(least_.front(), std::memory_order_relaxed);
}

Result<void> TopStep::push(Chunk chunk, std::size_t, Next const& next) const {
  GARUDA_TRY_ASSIGN(auto rows, or_out_of_memory("the first rows of an order", [&]() -> Result<RowNumbers> {
                      std::array const slots{key_};
                      auto const table = table_of(chunk, slots);
                      GARUDA_TRY_ASSIGN(auto reader, expr::ColumnReader::create(table.view(), 0));
                      RowNumbers kept;
                      Words words;
                      std::array<std::uint64_t, expr::kVectorRows> of_block;
                      auto const last = last_.load(std::memory_order_relaxed);
                      for (std::uint64_t begin = 0; begin < chunk.num_rows; begin += expr::kVectorRows) {
                        auto const count = static_cast<std::size_t>(
                            std::min<std::uint64_t>(expr::kVectorRows, chunk.num_rows - begin));
                        write_words(reader.read(begin, count), count, column_, of_block.data());
                        for (std::size_t i = 0; i < count; ++i) {
                          if (of_block[i] > last) continue;
                          kept.push_back(static_cast<std::int64_t>(begin + i));
                          words.push_back(of_block[i]);
                        }
                      }
                      add(words);
                      auto const least = last_.load(std::memory_order_relaxed);
                      std::size_t left = 0;
                      for (std::size_t i = 0; i < words.size(); ++i)
                        if (words[i] <= least) kept[left++] = kept[i];
                      kept.resize(left);
                      return kept;
                    }));
  if (rows.empty()) return {};
  GARUDA_TRY_ASSIGN(auto taken, take(chunk, rows, live_));
  return next(std::move(taken));
}

}  // namespace garuda::pipeline
