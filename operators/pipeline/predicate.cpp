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

/// Cost of comparisons of a few numbers: all rows of a block are computed sooner than some of them are read.
constexpr std::uint64_t kMostCheap = 64;

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
  std::vector<expr::Expression> merged;
  bool is_fixed = false;  // behind an expression that can fail none moves
  for (auto& conjunct : conjuncts) {
    is_fixed = is_fixed || expr::can_fail(conjunct);
    auto const same = std::ranges::find_if(merged, [&](auto const& other) {
      return !is_fixed && cost_of(other) + cost_of(conjunct) <= kMostCheap && columns_of(other) == columns_of(conjunct);
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

/// Rows of a block that the conjuncts so far leave: a byte each, or a list of their places in it.
class Predicate::Block {
 public:
  /// Begins with all of `count` rows.
  void start(std::size_t count) {
    count_ = left_ = count;
    are_listed_ = false;
  }

  std::size_t count() const noexcept { return count_; }
  std::size_t left() const noexcept { return left_; }

  /// Whether a conjunct is evaluated for all rows, which are read faster where they lie than copied side by side; of
  /// those that were left out no value may be asked for that it does not have.
  bool takes_all(Conjunct const& conjunct) const noexcept {
    if (left_ == count_) return true;
    if (conjunct.can_fail) return false;
    return conjunct.is_cheap ? left_ > count_ / 8 : left_ > count_ / 4 * 3;
  }

  /// The rows that are left.
  std::span<std::uint16_t const> list() {
    if (!are_listed_) list_bytes();
    return std::span(rows_).first(left_);
  }

  /// Keeps rows whose value is true, of those of all rows.
  void keep_of_all(expr::Vector const& values) {
    auto const* const passes = values.as<std::uint8_t>();
    if (values.is_constant) {
      if (*passes == 0) left_ = 0;
    } else if (are_listed_) {
      keep_listed([&](std::size_t i) { return passes[rows_[i]]; });
    } else if (left_ == count_) {
      std::memcpy(bytes_.data(), passes, count_);
      left_ = count_bytes();
    } else {
      for (std::size_t i = 0; i < count_; ++i) bytes_[i] &= passes[i];
      left_ = count_bytes();
    }
  }
  /// Keeps rows whose value is true, of those of the rows of list().
  void keep_of_list(expr::Vector const& values) {
    auto const* const passes = values.as<std::uint8_t>();
    keep_listed([passes, stride = values.stride()](std::size_t i) { return passes[i * stride]; });
  }

 private:
  /// The place behind the last row is written always, and kept where the row passes.
  template <class Passes>
  void keep_listed(Passes const& passes) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < left_; ++i) {
      auto const row = rows_[i];
      std::size_t const is_kept = passes(i);
      rows_[kept] = row;
      kept += is_kept;
    }
    left_ = kept;
  }

  /// The ones among the bytes.
  std::size_t count_bytes() const noexcept {
    static_assert(expr::kVectorRows / kRowsAtOnce <= 0xFF, "no byte of a sum of words passes into the next one");
    constexpr std::uint64_t kEvenBytes = 0x00FF'00FF'00FF'00FF;
    std::uint64_t sums = 0;
    std::size_t i = 0;
    for (; i + kRowsAtOnce <= count_; i += kRowsAtOnce)
      sums += load<std::uint64_t>(reinterpret_cast<std::byte const*>(bytes_.data()) + i, 0);
    auto const pairs = (sums & kEvenBytes) + (sums >> 8 & kEvenBytes);
    auto ones = static_cast<std::size_t>(pairs * 0x0001'0001'0001'0001 >> 48);
    for (; i < count_; ++i) ones += bytes_[i];
    return ones;
  }

  /// Lists the rows, eight at a time: whether a row passes decides no branch.
  void list_bytes() {
    are_listed_ = true;
    if (left_ == count_) {
      for (std::size_t i = 0; i < count_; ++i) rows_[i] = static_cast<std::uint16_t>(i);
      return;
    }
    std::size_t kept = 0;
    std::size_t i = 0;
    for (; i + kRowsAtOnce <= count_; i += kRowsAtOnce) {
      auto const& places =
          kPlaces[bits_of(load<std::uint64_t>(reinterpret_cast<std::byte const*>(bytes_.data()) + i, 0))];
      auto found = places.of_ones;
      for (auto& row : found) row = static_cast<std::uint16_t>(row + i);
      std::memcpy(rows_.data() + kept, found.data(), sizeof(found));
      kept += places.count;
    }
    for (; i < count_; ++i) {
      rows_[kept] = static_cast<std::uint16_t>(i);
      kept += bytes_[i];
    }
  }

  std::size_t count_ = 0;
  std::size_t left_ = 0;
  bool are_listed_ = false;
  std::array<std::uint8_t, expr::kVectorRows> bytes_;  ///< 1: the row is left; any while all are
  std::array<std::uint16_t, expr::kVectorRows> rows_;  ///< once they are listed; those behind `left_` are any
};

Result<std::unique_ptr<Predicate>> Predicate::create(expr::Expression const& expression) {
  GARUDA_TRY_ASSIGN(auto conjuncts, without_ranges(expr::conjuncts(expression)));
  std::ranges::stable_sort(conjuncts.begin(), std::ranges::find_if(conjuncts, expr::can_fail), {}, cost_of);
  std::unique_ptr<Predicate> predicate(new Predicate());
  for (auto& conjunct : conjuncts) {
    bool const can_fail = expr::can_fail(conjunct);
    bool const is_cheap = cost_of(conjunct) <= kMostCheap;
    GARUDA_TRY_ASSIGN(auto program, SlotProgram::create(std::move(conjunct), expr::Nulls::false_));
    predicate->conjuncts_.push_back({std::move(program), can_fail, is_cheap});
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
  for (std::uint64_t begin = 0; begin < chunk.num_rows; begin += block.count()) {
    block.start(static_cast<std::size_t>(std::min<std::uint64_t>(expr::kVectorRows, chunk.num_rows - begin)));
    for (std::size_t c = 0; c < conjuncts_.size() && block.left() > 0; ++c) {
      auto& run = runs[c];
      if (!run) {
        GARUDA_TRY_ASSIGN(auto created, SlotProgram::Run::create(*conjuncts_[c].program, chunk));
        run.emplace(std::move(created));
      }
      if (block.takes_all(conjuncts_[c])) {
        GARUDA_TRY_ASSIGN(auto const values, run->values(begin, block.count()));
        block.keep_of_all(values);
      } else {
        GARUDA_TRY_ASSIGN(auto const values, run->values(begin, block.list()));
        block.keep_of_list(values);
      }
    }
    if (block.left() == 0) continue;
    for (auto const row : block.list()) *to++ = static_cast<std::int64_t>(begin + row);
  }
  rows.resize(static_cast<std::size_t>(to - rows.data()));
  return rows;
}

}  // namespace garuda::pipeline
